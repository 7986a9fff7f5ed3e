"""Which change is reviewed: the head of the run's own worktree, or a ref at a remote.

Named by the definition (``freeze: workspace``) or by the start (an input that names a branch or
a pull request); the same name is looked up again whenever freshness is compared.
"""

import re
from typing import Annotated, Final, Literal

from pydantic import Field

from pointsman.graph.model import Model


class WorkspaceHead(Model):
    """The committed head of the run's own worktree, which stands on ``branch``."""

    source: Literal["workspace"] = "workspace"
    workspace_key: str
    branch: str


class RemoteRef(Model):
    """A full ref at a remote; without ``remote``: ``origin`` if there is one, else the
    repository itself.
    """

    source: Literal["ref"] = "ref"
    ref: str
    remote: str | None = None


Change = Annotated[WorkspaceHead | RemoteRef, Field(discriminator="source")]

_NUMBERED: Final = re.compile(r"(#|pull/|!)([1-9][0-9]{0,9})")
# What git's own check-ref-format refuses, as far as it can be said of single characters.
_NO_REF: Final = re.compile(
    r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|\.$|/$|^/|^\.|^-"
)


def remote_ref(text: str, remote: str | None) -> RemoteRef | None:
    """Read how a person names a change; ``None`` if it cannot be a ref.

    ``#12`` and ``pull/12`` are a pull request's head, ``!12`` a merge request's, ``refs/…`` is
    taken as it is, and anything else is a branch.
    """
    text = text.strip()
    numbered = _NUMBERED.fullmatch(text)
    if numbered is not None:
        kind = "merge-requests" if numbered[1] == "!" else "pull"
        return RemoteRef(ref=f"refs/{kind}/{numbered[2]}/head", remote=remote)
    if not text or len(text) > 500 or _NO_REF.search(text):
        return None
    ref = text if text.startswith("refs/") else f"refs/heads/{text}"
    return RemoteRef(ref=ref, remote=remote)


def in_words(change: WorkspaceHead | RemoteRef) -> str:
    """Name a change as people would."""
    match change:
        case WorkspaceHead(branch=branch):
            return f"the head of branch {branch}"
        case RemoteRef(ref=ref, remote=remote):
            at = {None: "", ".": " of the repository itself"}.get(remote, f" at {remote}")
            return f"{ref.removeprefix('refs/heads/')}{at}"
