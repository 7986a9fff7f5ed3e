"""The refs that keep frozen commits alive, whatever becomes of the branch or the remote.

They live as long as any worktree of their run does: its own one, so that people can look at what
was reviewed until the run is over, or a reviewer's that was kept because something is in it.
"""

from pathlib import Path
from typing import Final

from pointsman.runtime.durable import file_name
from pointsman.runtime.worktrees.git import GitError, git, git_or_none

_FROZEN: Final = "refs/pointsman/frozen"


def frozen_ref(run_id: str, review_set_id: str) -> str:
    """Name the ref of a review set: another for each, and always one that git accepts."""
    return f"{_FROZEN}/{_part(run_id)}/{_part(review_set_id)}"


def _part(key: str) -> str:
    # An encoded name holds no other `_2e`; a dot at an end, or two in a row, git refuses.
    return file_name(key).replace(".", "_2e")


def keep_frozen(repository: Path, ref: str, commit: str) -> None:
    """Keep a commit alive."""
    git(repository, "update-ref", ref, commit)


def kept_frozen(repository: Path, ref: str) -> str | None:
    """Return the commit that a ref keeps alive; ``None`` when it keeps none."""
    told = git_or_none(repository, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    return told.strip() if told else None


def forget_frozen(repository: Path, ref: str) -> None:
    """Let go of a commit; what any branch or remote has of it stays."""
    git_or_none(repository, "update-ref", "-d", ref)


def forget_all_frozen(repository: Path, run_id: str) -> None:
    """Let go of every commit that was frozen for a run."""
    try:
        told = git(repository, "for-each-ref", "--format=%(refname)", f"{_FROZEN}/{_part(run_id)}/")
        for ref in told.split():
            forget_frozen(repository, ref)
    except GitError:
        # A ref too many costs nothing but a line in `git for-each-ref`; a failed release would
        # cost more.
        return
