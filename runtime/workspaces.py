"""Worktrees: one git worktree a workspace key, made once, adopted after a crash, never lost.

A worktree lies outside the repository's tree, at a path derived from its key. All acts of git
that change a repository's worktrees are made under one lock a repository (its common git
folder), since git itself reads half-written metadata of a concurrent ``worktree add``.
"""

import shutil
from enum import StrEnum
from pathlib import Path
from typing import Final

from filelock import FileLock

from pointsman.graph.intents import PrepareWorkspace
from pointsman.graph.model import Model
from pointsman.runtime.git import (
    CHECKOUT_TIMEOUT_S,
    GitError,
    common_folder,
    git,
    git_or_none,
    head_branch,
    head_commit,
    uncommitted,
)
from pointsman.runtime.hosts.durable import file_name, write_durably
from pointsman.runtime.hosts.supervised import read_record

_LOCK_WAIT_S_MAX: Final = CHECKOUT_TIMEOUT_S
_UNFINISHED: Final = (
    "rebase-merge",
    "rebase-apply",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
)


class WorkspaceState(StrEnum):
    """How far a worktree has come."""

    MAKING = "making"
    MADE = "made"
    READY = "ready"
    RELEASED = "released"


class Workspace(Model):
    """The record of one worktree; its existence proves that the folder is ours."""

    workspace_key: str
    repository: str
    path: str
    branch: str
    base_commit: str
    state: WorkspaceState
    env: dict[str, str] = {}


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
            self._demand_commit(repository, order.base_commit)
            with self._lock(common):
                return self._make_locked(order, repository, marker)
        except GitError as error:
            raise WorkspaceRefusedError(_reason(str(error)), str(error)) from error

    def _make_locked(
        self, order: PrepareWorkspace, repository: Path, marker: str | None
    ) -> Workspace:
        path = self._trees / file_name(order.workspace_key)
        standing = self.find(order.workspace_key)
        workspace = Workspace(
            workspace_key=order.workspace_key,
            repository=str(repository),
            path=str(path),
            branch=order.branch,
            base_commit=order.base_commit,
            state=WorkspaceState.MAKING,
            env=order.setup.env,
        )
        if standing is not None and standing.state is not WorkspaceState.RELEASED:
            if self._is_whole(standing):
                if standing.state is WorkspaceState.MAKING:
                    return self.mark(workspace, WorkspaceState.MADE)
                return standing
            self._clear(standing)
        elif path.exists() or path.is_symlink():
            raise WorkspaceRefusedError(
                "workspace_foreign", f"{path} exists and was not made for this run; move it away"
            )
        # From here the folder is ours even if we die before git has finished.
        self.mark(workspace, WorkspaceState.MAKING)
        self._trees.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._add(workspace, ours=standing is not None, marker=marker)
        return self.mark(workspace, WorkspaceState.MADE)

    @staticmethod
    def _add(workspace: Workspace, ours: bool, marker: str | None) -> None:
        repository, branch = Path(workspace.repository), workspace.branch
        tip = git_or_none(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
        if tip is not None and not ours:
            raise WorkspaceRefusedError(
                "workspace_foreign", f"the branch {branch} exists and was not made for this run"
            )
        what = ["--no-track", "-b", branch, workspace.path, workspace.base_commit]
        if tip is not None:
            # Left by our own half-made worktree; commits on it, if any, stay on it.
            what = [workspace.path, branch]
        arguments = ("worktree", "add", "--quiet", *what)
        git(repository, *arguments, timeout_s=CHECKOUT_TIMEOUT_S, marker=marker)

    @staticmethod
    def _is_whole(workspace: Workspace) -> bool:
        """Tell a finished worktree from one whose making was cut short."""
        path = Path(workspace.path)
        if not (path / ".git").is_file():
            return False
        try:
            if common_folder(path) != common_folder(Path(workspace.repository)):
                return False
        except GitError:
            return False
        if workspace.state is not WorkspaceState.MAKING:
            return head_commit(path) is not None
        # Nobody has worked here yet, so any difference is a checkout that was cut short.
        on_branch = head_branch(path) == workspace.branch
        return on_branch and head_commit(path) == workspace.base_commit and not uncommitted(path)

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

    def release(self, key: str) -> tuple[bool, str]:
        """Remove a worktree if nothing can be lost; return whether it was kept, and why."""
        workspace = self.find(key)
        if workspace is None or not Path(workspace.path).exists():
            return False, "absent"
        try:
            with self._lock(common_folder(Path(workspace.repository))):
                if workspace.state is WorkspaceState.MAKING and not self._is_whole(workspace):
                    self._clear(workspace)
                    return False, "half made"
                why = self._why_kept(workspace)
                if why is None:
                    git(Path(workspace.repository), "worktree", "remove", workspace.path)
        except (GitError, WorkspaceRefusedError) as error:
            return True, f"git: {error}"
        if why is not None:
            return True, why
        self.mark(workspace, WorkspaceState.RELEASED)
        return False, "clean"

    @staticmethod
    def _why_kept(workspace: Workspace) -> str | None:
        path = Path(workspace.path)
        if changed := uncommitted(path):
            return f"{len(changed)} uncommitted path(s), such as {changed[0]}"
        own = Path(git(path, "rev-parse", "--path-format=absolute", "--git-dir").rstrip("\n"))
        if begun := [name for name in _UNFINISHED if (own / name).exists()]:
            return f"git is in the middle of something: {begun[0]}"
        reached = git(path, "for-each-ref", "--count=1", "--contains", "HEAD", "refs/heads")
        if not reached.strip():
            return "its commits are on no branch"
        return None

    def _demand_commit(self, repository: Path, commit: str) -> None:
        found = git_or_none(repository, "cat-file", "-e", f"{commit}^{{commit}}")
        if found is None:
            raise WorkspaceRefusedError(
                "commit_missing", f"{repository} has no commit {commit} any more"
            )

    @staticmethod
    def _lock(common: Path) -> FileLock:
        # In the repository itself, so that every Pointsman on this machine finds the same lock.
        return FileLock(common / "pointsman.lock", timeout=_LOCK_WAIT_S_MAX)

    def _record(self, key: str) -> Path:
        return self._records / f"{file_name(key)}.json"


def _reason(complaint: str) -> str:
    return "disk_full" if "No space left on device" in complaint else "git_failed"
