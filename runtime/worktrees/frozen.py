"""Freezing a change: one commit that every reviewer gets, kept alive by a ref of its own."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from pointsman.actors.crash_points import CrashPoint, here
from pointsman.graph.changes import RemoteRef, WorkspaceHead, in_words
from pointsman.graph.evidence import PATHS_MAX
from pointsman.graph.intents import FreezeChange
from pointsman.graph.model import Model
from pointsman.graph.problem import first_of
from pointsman.graph.reviews import Uncommitted
from pointsman.runtime.worktrees.change_heads import (
    Pause,
    RefMissingError,
    RemoteUnknownError,
    fetch,
    last_move,
    off_branch,
    remote_of,
)
from pointsman.runtime.worktrees.checkouts import head_of
from pointsman.runtime.worktrees.frozen_refs import (
    forget_frozen,
    frozen_ref,
    keep_frozen,
    kept_frozen,
)
from pointsman.runtime.worktrees.git import (
    GitError,
    GitMissingError,
    failure_reason,
    git,
    git_or_none,
    has_commit,
)
from pointsman.runtime.worktrees.kept_workspaces import changes_in, unfinished
from pointsman.runtime.worktrees.linked_worktrees import NotOursError, Standing
from pointsman.runtime.worktrees.own_commits import (
    CommitRefusedError,
    NestedRepositoryError,
    commit_all,
    was_committed_for,
)
from pointsman.runtime.worktrees.workspaces import Workspace

STAT_FILES_MAX: Final = 50
STAT_BYTES_MAX: Final = 8 * 1024
_NAMED_MAX: Final = 20


class FreezeRefusedError(Exception):
    """Nothing can be frozen. ``reason`` is one of the host contract's codes."""

    def __init__(self, reason: str, message: str):
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type["FreezeRefusedError"], tuple[str, str]]:
        return type(self), (self.reason, str(self))


class Frozen(Model):
    """What was frozen. ``left_out`` are uncommitted paths, the last line may count the rest.

    ``remote`` is where a ref was found; ``.`` is the repository itself. ``mark`` names the last
    move of the change's head until then, where a log of its moves is kept.
    """

    frozen_commit: str
    base_commit: str
    diff_stat: str
    left_out: tuple[str, ...] = ()
    committed: bool = False
    remote: str | None = None
    mark: str | None = None


def freeze(
    order: FreezeChange,
    workspace: Workspace | None,
    sparse: Collection[str],
    pause: Pause,
    marker: str,
) -> Frozen:
    """Freeze the change of an order; raise ``FreezeRefusedError`` when that cannot be.

    Done again after a crash before its answer was recorded, it freezes what stands then. What
    it had committed itself is recognised and told again. ``sparse`` are paths that were never
    brought into ``workspace``; ``marker`` is inherited by git and its hooks.
    """
    repository = Path(order.repository)
    ref, known = frozen_ref(order.run_id, order.review_set_id), None
    try:
        known = kept_frozen(repository, ref)
        if not has_commit(repository, order.base_commit):
            git(repository, "rev-parse", "--git-dir")  # complains if that is the true reason
            message = f"{repository} has no commit {order.base_commit} any more"
            raise FreezeRefusedError("commit_missing", message)
        match order.change:
            case WorkspaceHead():
                frozen = _freeze_workspace(order, order.change, workspace, sparse, marker)
            case RemoteRef():
                frozen = _fetch(order, order.change, ref, pause, marker)
        begins = _beginning(order, repository, frozen.frozen_commit)
        here(CrashPoint.BEFORE_FREEZE)
        keep_frozen(repository, ref, frozen.frozen_commit)
        here(CrashPoint.AFTER_FREEZE)
        stat = _diff_stat(repository, begins, frozen.frozen_commit)
        return frozen.model_copy(update={"base_commit": begins, "diff_stat": stat})
    except FreezeRefusedError:
        if known is None:
            forget_frozen(repository, ref)
        raise
    except GitError as error:
        reason = failure_reason(str(error), repository)
        raise FreezeRefusedError(reason, str(error)) from error


def _freeze_workspace(
    order: FreezeChange,
    change: WorkspaceHead,
    workspace: Workspace | None,
    sparse: Collection[str],
    marker: str,
) -> Frozen:
    if workspace is None:
        raise FreezeRefusedError("workspace_missing", f"{change.workspace_key} was never made")
    try:
        tree = workspace.standing()
    except NotOursError as error:
        raise FreezeRefusedError("workspace_missing", str(error)) from error
    if (what := unfinished(tree)) is not None:
        raise FreezeRefusedError("workspace_unfinished", f"git is in the middle of {what}")
    head, branch = head_of(tree)
    if branch != change.branch:
        raise FreezeRefusedError("branch_changed", off_branch(workspace, change, branch))
    if head is None:
        raise FreezeRefusedError("change_empty", f"{change.branch} has no commit")
    paths = changes_in(tree, sparse)
    if paths and order.uncommitted is Uncommitted.COMMIT:
        _commit(tree, order, sparse, marker)
        head, paths = head_of(tree)[0], []
    if paths and order.uncommitted is Uncommitted.REFUSE:
        told = first_of(paths, _NAMED_MAX)
        message = f"{workspace.path} has changes that are not committed: {told}"
        raise FreezeRefusedError("change_uncommitted", message)
    assert head is not None, f"{tree.folder} lost its head while it was frozen"
    committed = was_committed_for(tree, order.review_set_id)
    return Frozen(
        frozen_commit=head,
        base_commit=order.base_commit,
        diff_stat="",
        left_out=_listed(paths),
        committed=committed,
        mark=last_move(tree.folder, change),
    )


def _commit(tree: Standing, order: FreezeChange, sparse: Collection[str], marker: str) -> None:
    try:
        commit_all(tree, order.review_set_id, marker)
    except NestedRepositoryError as error:
        raise FreezeRefusedError("change_uncommitted", str(error)) from error
    except CommitRefusedError as error:
        reason = failure_reason(str(error), tree.own)
        raise FreezeRefusedError(reason, str(error)) from error
    if left := changes_in(tree, sparse):
        # Such as files that git was told to overlook, or that a hook has changed meanwhile.
        message = f"after the commit there are changes all the same: {first_of(left, _NAMED_MAX)}"
        raise FreezeRefusedError("change_uncommitted", message)


def _fetch(order: FreezeChange, change: RemoteRef, ref: str, pause: Pause, marker: str) -> Frozen:
    repository = Path(order.repository)
    try:
        change = change.model_copy(update={"remote": remote_of(repository, change)})
    except RemoteUnknownError as error:
        raise FreezeRefusedError("change_unreachable", str(error)) from error
    try:
        fetch(repository, change, ref, pause, marker)
    except RefMissingError as error:
        raise FreezeRefusedError("change_missing", str(error)) from error
    except GitMissingError:
        raise
    except GitError as error:
        is_ours = change.remote == "."
        reason = failure_reason(str(error), repository)
        if reason == "git_failed" and not is_ours:
            reason = "change_unreachable"
        raise FreezeRefusedError(reason, str(error)) from error
    commit = kept_frozen(repository, ref)
    if commit is None:
        raise FreezeRefusedError("change_missing", f"{change.ref} does not name a commit")
    return Frozen(
        frozen_commit=commit,
        base_commit=order.base_commit,
        diff_stat="",
        remote=change.remote,
        mark=last_move(repository, change),
    )


def _beginning(order: FreezeChange, repository: Path, frozen: str) -> str:
    """Return where the change left the base commit."""
    told = git_or_none(repository, "merge-base", order.base_commit, frozen)
    if not told:
        message = f"{frozen} and {order.base_commit} have no history in common"
        if git(repository, "rev-parse", "--is-shallow-repository").strip() == "true":
            message += " here; the repository is shallow, so more of it may have to be fetched"
        raise FreezeRefusedError("change_unrelated", message)
    begins = told.strip()
    if begins == frozen:
        base, what = order.base_commit, in_words(order.change)
        message = f"there is nothing to review: {what} has no commit that {base} has not"
        raise FreezeRefusedError("change_empty", message)
    return begins


def _diff_stat(repository: Path, begins: str, frozen: str) -> str:
    """Return a short summary of a range, for people; never a reason to refuse it."""
    shape = ("--stat=100", f"--stat-count={STAT_FILES_MAX}", "-M", "-l500")
    plain = ("-c", "core.quotePath=false")
    try:
        told = git(repository, *plain, "diff-tree", "-r", *shape, begins, frozen)
    except GitMissingError:
        raise
    except GitError as error:
        told = f"(no summary: {error})"
    lines = told.encode("utf-8", "surrogateescape").decode("utf-8", "replace").rstrip().split("\n")
    total = lines[-1:]
    room = STAT_BYTES_MAX - sum(len(line.encode()) + 1 for line in total)
    kept: list[str] = []
    for line in lines[:-1]:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([*kept, *total])[:STAT_BYTES_MAX]


def _listed(paths: list[str]) -> tuple[str, ...]:
    # One a line, whatever their names hold.
    shown = ["\\n".join(path.splitlines()) for path in paths[:PATHS_MAX]]
    if len(paths) > PATHS_MAX:
        shown.append(f"… and {len(paths) - PATHS_MAX} more")
    return tuple(shown)
