"""The worktrees that are still on disk: why each is there, and removing those nothing keeps.

The host does not know which runs are over. Whoever prunes names the worktrees, and names none
that a run may still need.
"""

from pathlib import Path

from pointsman.actors.host import KeptWorkspace
from pointsman.runtime.durable import file_name
from pointsman.runtime.hosts.turns import Turns
from pointsman.runtime.processes.supervised import CommandSpec, SupervisedCommand, read_record
from pointsman.runtime.worktrees.bootstrap import is_under_way
from pointsman.runtime.worktrees.checkouts import head_of
from pointsman.runtime.worktrees.git import GitError
from pointsman.runtime.worktrees.workspaces import Workspace, WorkspaceState, Worktrees

OpenWork = list[tuple[str, SupervisedCommand]]


def users_of(workspace: Workspace, open_work: OpenWork) -> list[str]:
    """List the attempts and checks that are at work in a worktree."""
    below = Path(workspace.path)
    users: list[str] = []
    for subject, command in open_work:
        spec = read_record(command.folder / "spec.json", CommandSpec)
        if spec is not None and Path(spec.cwd).is_relative_to(below):
            users.append(subject)
    return users


def setups_folder(root: Path, workspace_key: str) -> Path:
    """Return where the set-up of a workspace is recorded."""
    return root / "setups" / file_name(workspace_key)


class Keeping:
    """All worktrees of one host that somebody might want gone."""

    def __init__(self, root: Path, worktrees: Worktrees, turns: Turns):
        self._root = root
        self._worktrees = worktrees
        self._turns = turns

    def every(self, open_work: OpenWork) -> tuple[KeptWorkspace, ...]:
        """List the worktrees on disk."""
        return tuple(
            self._described(each, open_work)
            for each in self._worktrees.every()
            if _is_on_disk(each)
        )

    def _described(self, workspace: Workspace, open_work: OpenWork) -> KeptWorkspace:
        turn = self._turns.take_now(workspace.workspace_key)
        if turn is None:
            return _shown(workspace, "it is being prepared or let go of", is_removable=False)
        with turn:
            return self._judged(workspace, open_work)

    def _judged(self, workspace: Workspace, open_work: OpenWork) -> KeptWorkspace:
        if users := users_of(workspace, open_work):
            return _shown(workspace, f"in use by {', '.join(users)}", is_removable=False)
        if is_under_way(setups_folder(self._root, workspace.workspace_key)):
            return _shown(workspace, "in use by its set-up", is_removable=False)
        try:
            why = self._worktrees.reason_to_keep(workspace)
        except GitError as error:
            return _shown(workspace, f"git: {error}", is_removable=False)
        if why is not None:
            return _shown(workspace, why, is_removable=False)
        return _shown(workspace, "clean; not released yet", is_removable=True)

    def prune(self, keys: tuple[str, ...], open_work: OpenWork) -> tuple[KeptWorkspace, ...]:
        """Remove those of the named worktrees that nothing keeps; return what was removed."""
        removed = (self._pruned(key, open_work) for key in keys)
        return tuple(each for each in removed if each is not None)

    def _pruned(self, key: str, open_work: OpenWork) -> KeptWorkspace | None:
        workspace = self._worktrees.find(key)
        if workspace is None or not _is_on_disk(workspace):
            return None
        turn = self._turns.take_now(key)
        if turn is None:
            return None
        with turn:
            described = self._judged(workspace, open_work)
            if not described.removable:
                return None
            # Judged once more, under the lock of the repository.
            kept, why = self._worktrees.release(key)
            return None if kept else described.model_copy(update={"why": why})


def _is_on_disk(workspace: Workspace) -> bool:
    # What lies where a released worktree was is somebody else's.
    return workspace.state is not WorkspaceState.RELEASED and Path(workspace.path).exists()


def _shown(workspace: Workspace, why: str, is_removable: bool) -> KeptWorkspace:
    try:
        commit = head_of(workspace.standing())[0]
    except GitError:
        commit = None
    return KeptWorkspace(
        workspace_key=workspace.workspace_key,
        run_id=workspace.run_id,
        role=workspace.role,
        path=workspace.path,
        repository=workspace.repository,
        commit=commit,
        why=why,
        removable=is_removable,
    )
