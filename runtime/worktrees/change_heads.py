"""Where a change under review stands now: in the run's own worktree, or at a remote.

Always asked anew. A remote is asked a few times with a time limit each, and can ask nobody
anything: no password, no key's passphrase, no unknown host.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from pointsman.graph.changes import RemoteRef, WorkspaceHead
from pointsman.graph.evidence import HeadReading
from pointsman.runtime.worktrees.bootstrap import InterruptedByCloseError
from pointsman.runtime.worktrees.checkouts import head_of
from pointsman.runtime.worktrees.git import (
    GitError,
    GitMissingError,
    GitTimeoutError,
    git,
    git_or_none,
)
from pointsman.runtime.worktrees.linked_worktrees import NotOursError
from pointsman.runtime.worktrees.workspaces import Workspace

LOOK_TIMEOUT_S: Final = 20.0
FETCH_TIMEOUT_S: Final = 300.0
_PAUSES_S: Final = (0.2, 1.0)
_ABSENT: Final = "couldn't find remote ref"
_SSH_VARIABLES: Final = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT")

# Waits; `True` tells that the host is closing.
Pause = Callable[[float], bool]
AnswerT = TypeVar("AnswerT")


class RefMissingError(GitError):
    """The remote was reached, and has no such ref."""


class RemoteUnknownError(GitError):
    """The repository has no remote of that name."""


def remote_of(repository: Path, change: RemoteRef) -> str:
    """Return the remote a change lies at: ``.`` is the repository itself."""
    known = git(repository, "remote").split()
    if change.remote is None:
        return "origin" if "origin" in known else "."
    if change.remote != "." and change.remote not in known:
        have = ", ".join(known) or "none"
        raise RemoteUnknownError(f"{repository} has no remote {change.remote}; it has: {have}")
    return change.remote


def fetch(repository: Path, change: RemoteRef, into: str, pause: Pause, marker: str) -> None:
    """Have a ref of the repository be what the change's ref is at its remote now.

    Nothing else moves: no tag, no remote-tracking branch, no ``FETCH_HEAD``.
    """
    remote = remote_of(repository, change)
    still = ("--no-tags", "--no-write-fetch-head", "--refmap=", "--no-prune")
    alone = ("--no-recurse-submodules", "--no-auto-maintenance", "--quiet")

    def once() -> None:
        try:
            git(
                repository,
                *("fetch", *still, *alone, remote, f"+{change.ref}:{into}"),
                timeout_s=FETCH_TIMEOUT_S,
                marker=marker,
                environment=_asking_nobody(repository),
            )
        except GitError as error:
            if _ABSENT in str(error):
                raise RefMissingError(_missing(change, remote)) from error
            raise

    _patiently(once, pause)


def remote_head(repository: Path, change: RemoteRef, pause: Pause) -> HeadReading:
    """Read the commit that a ref is at its remote now."""
    try:
        remote = remote_of(repository, change)
        return HeadReading(
            head_commit=_patiently(lambda: _listed(repository, change, remote), pause)
        )
    except GitError as error:
        return HeadReading(head_commit=None, unavailable=str(error))


def _listed(repository: Path, change: RemoteRef, remote: str) -> str:
    # Git takes a pattern and answers also for refs that merely end with it.
    peeled = f"{change.ref}^{{}}"
    told = git(
        repository,
        *("ls-remote", "--quiet", remote, change.ref, peeled),
        timeout_s=LOOK_TIMEOUT_S,
        environment=_asking_nobody(repository),
    )
    lines = (line.partition("\t") for line in told.splitlines())
    found = {ref: commit for commit, _, ref in lines}
    # Of an annotated tag the commit it names, not the tag's own object.
    commit = found.get(peeled) or found.get(change.ref)
    if commit is None:
        raise RefMissingError(_missing(change, remote))
    return commit


def _missing(change: RemoteRef, remote: str) -> str:
    where = "the repository itself" if remote == "." else remote
    return f"{where} has no {change.ref}"


def _patiently(call: Callable[[], AnswerT], pause: Pause) -> AnswerT:
    """Try a few times; what was answered, or took its whole time, is not asked again."""
    for seconds in _PAUSES_S:
        try:
            return call()
        except (RefMissingError, GitMissingError, GitTimeoutError):
            raise
        except GitError:
            if pause(seconds):
                # The answer that the remote cannot be reached would stand for good.
                raise InterruptedByCloseError from None
    return call()


def _asking_nobody(repository: Path) -> dict[str, str]:
    given = {name: os.environ[name] for name in _SSH_VARIABLES if name in os.environ}
    if given or git_or_none(repository, "config", "--get", "core.sshCommand") is not None:
        return given
    return {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}


def workspace_head(change: WorkspaceHead, workspace: Workspace | None) -> HeadReading:
    """Read the head of the run's own worktree.

    Whoever takes the change takes the run's branch. Once the worktree has left it, neither the
    branch nor what is checked out instead is known to be the change, so no head is given.
    """
    if workspace is None:
        return HeadReading(head_commit=None, unavailable="the run's own worktree was never made")
    try:
        head, branch = head_of(workspace.standing())
    except NotOursError as error:
        return HeadReading(head_commit=None, unavailable=f"the worktree is gone: {error}")
    except GitError as error:
        return HeadReading(head_commit=None, unavailable=str(error))
    if branch != change.branch:
        return HeadReading(head_commit=None, unavailable=off_branch(workspace, change, branch))
    if head is None:
        return HeadReading(head_commit=None, unavailable=f"{change.branch} has no commit")
    return HeadReading(head_commit=head)


def last_move(repository: Path, change: WorkspaceHead | RemoteRef) -> str | None:
    """Name the last move of a change's head as a log tells it; ``None`` if none is kept."""
    moves = _moves(repository, change)
    return moves[0].name if moves else None


def has_returned(
    repository: Path, change: WorkspaceHead | RemoteRef, mark: str | None, commit: str
) -> bool:
    """Tell whether a head was another commit since the move that ``mark`` names.

    A log that no longer reaches back to it tells nothing.
    """
    since: list[str] = []
    for move in _moves(repository, change) if mark is not None else ():
        if move.name == mark:
            return any(each != commit for each in since)
        since.append(move.to)
    return False


class _Move(NamedTuple):
    to: str
    name: str


def _moves(repository: Path, change: WorkspaceHead | RemoteRef) -> list[_Move]:
    """Read the log of a head's moves, the latest first; only refs of the repository have one."""
    match change:
        case WorkspaceHead(branch=branch):
            ref = f"refs/heads/{branch}"
        case RemoteRef(ref=ref, remote="."):
            pass
        case RemoteRef():
            return []
    shape = ("--date=raw", "--format=%H%x09%gD%x09%gn%x09%ge%x09%gs")
    told = git_or_none(repository, "reflog", "show", *shape, ref, "--") or ""
    lines = [line for line in told.splitlines() if line]
    names = (hashlib.sha256(line.encode("utf-8", "surrogateescape")).hexdigest() for line in lines)
    return [_Move(line.partition("\t")[0], name) for line, name in zip(lines, names, strict=True)]


def off_branch(workspace: Workspace, change: WorkspaceHead, branch: str | None) -> str:
    """Say that a worktree does not stand on the change's branch."""
    instead = f"is on {branch}" if branch is not None else "has a detached head"
    return f"{workspace.path} {instead}, not on {change.branch}"
