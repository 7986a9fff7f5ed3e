"""What is told of worktrees that are still on disk, and how to have them removed."""

from pointsman.graph.model import Model
from pointsman.runtime.wire.requests import Id


class WorkspaceView(Model):
    """One worktree. ``role`` is ``primary``, or the reviewer's branch; ``why`` it is kept.

    ``run_state`` is ``None`` for a run that is not in this journal.
    """

    workspace_key: str
    run_id: str
    run_state: str | None
    role: str
    path: str
    repository: str
    commit: str | None
    why: str
    removable: bool


class WorkspacesPage(Model):
    """The worktrees there are."""

    workspaces: list[WorkspaceView]


class PruneRequest(Model):
    """Remove what is removable, of all runs or of those named.

    It needs no command id: what is removed stays so however often it is asked for.
    """

    run_ids: list[Id] = []


class PruneReply(Model):
    """What was removed, and what was kept with the reason."""

    removed: list[WorkspaceView]
    kept: list[WorkspaceView]
