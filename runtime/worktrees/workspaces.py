"""Worktrees: one git worktree a workspace key, made once, adopted after a crash, never lost.

A worktree lies outside the repository's tree, at a path derived from its key. The run's own
stands on a branch, a reviewer's is detached at the frozen commit. All acts of git
that change a repository's worktrees are made under one lock a repository (its common git
folder), since git itself reads half-written metadata of a concurrent ``worktree add``.
"""

import json
import shutil
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

from filelock import FileLock

from pointsman.actors.crash_points import CrashPoint, here
from pointsman.graph.intents import PrepareWorkspace
from pointsman.graph.model import Model
from pointsman.runtime.durable import file_name, write_durably
from pointsman.runtime.processes.supervised import RecordCorruptError, read_record
from pointsman.runtime.worktrees.checkouts import head_of, paths_left_out
from pointsman.runtime.worktrees.frozen_refs import forget_all_frozen
from pointsman.runtime.worktrees.git import (
    CHECKOUT_TIMEOUT_S,
    GitError,
    common_folder,
    failure_reason,
    git,
    git_or_none,
    has_commit,
)
from pointsman.runtime.worktrees.kept_workspaces import reason_to_keep
from pointsman.runtime.worktrees.linked_worktrees import Standing, standing

_LOCK_WAIT_S_MAX: Final = CHECKOUT_TIMEOUT_S


class WorkspaceState(StrEnum):
    """How far a worktree has come."""

    MAKING = "making"
    MADE = "made"
    READY = "ready"
    RELEASED = "released"


class Workspace(Model):
    """The record of one worktree; its existence proves that the folder is ours.

    Without a ``branch`` it is a reviewer's, detached at ``base_commit``.
    """

    workspace_key: str
    repository: str
    path: str
    branch: str | None
    base_commit: str
    state: WorkspaceState
    env: dict[str, str] = {}
    run_id: str = ""
    review_set_id: str | None = None

    @property
    def role(self) -> str:
        """``primary``, or the reviewer's branch of its group, which its key ends with."""
        return "primary" if self.branch is not None else self.workspace_key.rpartition(".")[2]

    def standing(self) -> Standing:
        """Find the worktree as it was made; raise ``GitError`` when it is not there any more."""
        return standing(Path(self.path), Path(self.repository))


class WorkspaceRefusedError(Exception):
    """The worktree cannot be made. ``reason`` is one of the host contract's codes."""

    def __init__(self, reason: str, message: str):
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type["WorkspaceRefusedError"], tuple[str, str]]:
        return type(self), (self.reason, str(self))


class Worktrees:
    """All worktrees of one data folder."""

    def __init__(self, records: Path, trees: Path):
        self._records = records
        self._trees = trees

    def find(self, key: str) -> Workspace | None:
        """Return the record of a key; ``None`` when no worktree was ever begun for it."""
        return read_record(self._record(key), Workspace)

    def every(self) -> Iterator[Workspace]:
        """Go through all records that can be read, by key."""
        for path in sorted(self._records.glob("*.json")) if self._records.is_dir() else ():
            try:
                workspace = read_record(path, Workspace)
            except RecordCorruptError:
                continue  # told to whoever asks for its key; the others must not suffer
            if workspace is not None:
                yield workspace

    def left_out(self, workspace: Workspace) -> frozenset[str]:
        """Return the paths that a sparse checkout did not bring when the worktree was made."""
        try:
            return frozenset(json.loads(self._left_out(workspace).read_text()))
        except FileNotFoundError:
            return frozenset()

    def mark(self, workspace: Workspace, state: WorkspaceState) -> Workspace:
        """Record how far a worktree has come."""
        marked = workspace.model_copy(update={"state": state})
        self._records.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_durably(self._record(marked.workspace_key), marked.model_dump_json())
        return marked

    def make(self, order: PrepareWorkspace, marker: str | None = None) -> Workspace:
        """Make the worktree, or adopt the one an earlier call under this key has made.

        ``marker`` is inherited by git and the repository's hooks while it is being made.
        """
        repository = Path(order.repository)
        try:
            common = common_folder(repository)
            if not has_commit(repository, order.base_commit):
                message = f"{repository} has no commit {order.base_commit} any more"
                raise WorkspaceRefusedError("commit_missing", message)
            with self._lock(common):
                return self._make_locked(order, repository, marker)
        except GitError as error:
            reason = failure_reason(str(error), repository, self._trees)
            raise WorkspaceRefusedError(reason, str(error)) from error

    def _make_locked(
        self, order: PrepareWorkspace, repository: Path, marker: str | None
    ) -> Workspace:
        path = self._trees / file_name(order.workspace_key)
        known = self.find(order.workspace_key)
        workspace = Workspace(
            workspace_key=order.workspace_key,
            repository=str(repository),
            path=str(path),
            branch=order.branch,
            base_commit=order.base_commit,
            state=WorkspaceState.MAKING,
            env=order.setup.env,
            run_id=order.run_id,
            review_set_id=order.review_set_id,
        )
        if known is not None and known.state is not WorkspaceState.RELEASED:
            if self._is_whole(known):
                return self._made(workspace) if known.state is WorkspaceState.MAKING else known
            self._clear(known)
        elif path.exists() or path.is_symlink():
            raise WorkspaceRefusedError(
                "workspace_foreign", f"{path} exists and was not made for this run; move it away"
            )
        # From here the folder is ours even if we die before git has finished.
        self.mark(workspace, WorkspaceState.MAKING)
        self._trees.mkdir(parents=True, exist_ok=True, mode=0o700)
        add_worktree(workspace, is_ours=known is not None, marker=marker)
        return self._made(workspace)

    def _made(self, workspace: Workspace) -> Workspace:
        """Record that a worktree stands, and what a sparse checkout leaves out of it."""
        if left_out := paths_left_out(workspace.standing()):
            write_durably(self._left_out(workspace), json.dumps(left_out))
        return self.mark(workspace, WorkspaceState.MADE)

    @staticmethod
    def _is_whole(workspace: Workspace) -> bool:
        """Tell a finished worktree from one whose making was cut short."""
        try:
            tree = workspace.standing()
            head, branch = head_of(tree)
            if workspace.state is not WorkspaceState.MAKING:
                return head is not None
            # Nobody has worked here yet, so any difference is a checkout that was cut short.
            as_ordered = (head, branch) == (workspace.base_commit, workspace.branch)
            # Git keeps a worktree locked while it is being added.
            return as_ordered and not (tree.own / "locked").exists() and not tree.uncommitted()
        except GitError:
            return False

    @staticmethod
    def _clear(workspace: Workspace) -> None:
        """Remove what a worktree whose making was cut short left behind; only ever our own.

        ``git worktree prune`` would also drop other people's worktrees on unmounted disks.
        """
        path = Path(workspace.path)
        if workspace.state is not WorkspaceState.MAKING or (path / ".git").is_dir():
            # It was whole once, so somebody's work may be in it; a worktree never has a `.git`
            # folder of its own.
            raise WorkspaceRefusedError(
                "workspace_foreign",
                f"{path} is no longer a worktree of {workspace.repository}; look into it",
            )
        shutil.rmtree(path, ignore_errors=True)
        # Twice: git locks a worktree while it is being added, and left it locked when it died.
        git_or_none(
            Path(workspace.repository), "worktree", "remove", "--force", "--force", str(path)
        )
        _drop_half_made_entries(common_folder(Path(workspace.repository)), path.name)

    def release(self, key: str) -> tuple[bool, str]:
        """Remove a worktree if nothing can be lost; return whether it was kept, and why.

        With the last worktree of a run goes what kept its frozen commits alive.
        """
        workspace = self.find(key)
        if workspace is None:
            return False, "absent"
        is_begun = workspace.state is WorkspaceState.MAKING
        if not is_begun and not Path(workspace.path).exists():
            self._forget_frozen(workspace)
            return False, "absent"
        try:
            with self._lock(common_folder(Path(workspace.repository))):
                if is_begun and not self._is_whole(workspace):
                    # Also where no folder is: git may have come as far as its entry.
                    self._clear(workspace)
                    why, was = None, "half made"
                else:
                    why, was = self.reason_to_keep(workspace), "clean"
                    if why is None:
                        _remove_worktree(workspace)
        except (GitError, WorkspaceRefusedError) as error:
            return True, f"git: {error}"
        if why is not None:
            return True, why
        self.mark(workspace, WorkspaceState.RELEASED)
        self._forget_frozen(workspace)
        return False, was

    def reason_to_keep(self, workspace: Workspace) -> str | None:
        """Say what would be lost with a worktree; ``None`` when nothing would be."""
        return reason_to_keep(
            workspace.standing(),
            workspace.branch,
            workspace.base_commit,
            self.left_out(workspace),
        )

    def _forget_frozen(self, released: Workspace) -> None:
        siblings = (each for each in self.every() if each.run_id == released.run_id)
        if not any(_is_left(each) for each in siblings):
            forget_all_frozen(Path(released.repository), released.run_id)

    @staticmethod
    def _lock(common: Path) -> FileLock:
        # In the repository itself, so that every Pointsman on this machine finds the same lock.
        return FileLock(common / "pointsman.lock", timeout=_LOCK_WAIT_S_MAX)

    def _record(self, key: str) -> Path:
        return self._records / f"{file_name(key)}.json"

    def _left_out(self, workspace: Workspace) -> Path:
        return self._record(workspace.workspace_key).with_suffix(".left-out")


def _remove_worktree(workspace: Workspace) -> None:
    # Git looks once more whether it is clean; a watcher must not be the one to tell.
    plain = ("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false")
    arguments = (*plain, "worktree", "remove", workspace.path)
    here(CrashPoint.BEFORE_REMOVAL)
    git(Path(workspace.repository), *arguments, timeout_s=CHECKOUT_TIMEOUT_S)
    here(CrashPoint.AFTER_REMOVAL)


def _drop_half_made_entries(common: Path, name: str) -> None:
    """Remove what git wrote of a worktree before it wrote where that is; git never would."""
    for entry in (common / "worktrees").glob(f"{name}*"):
        is_named_so = entry.name == name or entry.name.removeprefix(name).isdecimal()
        if is_named_so and not (entry / "gitdir").exists():
            shutil.rmtree(entry, ignore_errors=True)


def _is_left(workspace: Workspace) -> bool:
    if workspace.state is WorkspaceState.MAKING:
        return True
    return workspace.state is not WorkspaceState.RELEASED and Path(workspace.path).exists()


def add_worktree(workspace: Workspace, is_ours: bool, marker: str | None) -> None:
    """Have git make a worktree where none stands; ``is_ours`` tells that we had begun it."""
    repository, branch = Path(workspace.repository), workspace.branch
    if branch is None:
        what = ["--detach", workspace.path, workspace.base_commit]
    else:
        tip = git_or_none(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
        if tip is not None and not is_ours:
            raise WorkspaceRefusedError(
                "workspace_foreign", f"the branch {branch} exists and was not made for this run"
            )
        what = ["--no-track", "-b", branch, workspace.path, workspace.base_commit]
        if tip is not None:
            # Left by our own half-made worktree; commits on it, if any, stay on it.
            what = [workspace.path, branch]
    arguments = ("worktree", "add", "--quiet", *what)
    here(CrashPoint.BEFORE_WORKTREE)
    git(repository, *arguments, timeout_s=CHECKOUT_TIMEOUT_S, marker=marker)
    here(CrashPoint.AFTER_WORKTREE)
