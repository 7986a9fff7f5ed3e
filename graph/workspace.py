"""The state of a git worktree, as far as a run has to know it."""

from enum import StrEnum

from pointsman.graph.model import Model


class WorkspaceStatus(StrEnum):
    """Where a worktree stands."""

    ABSENT = "absent"
    PREPARED = "prepared"
    REFUSED = "refused"
    RELEASED = "released"


class Workspace(Model):
    """A worktree: the run's own, or a reviewer's. ``tries`` counts the orders to prepare it."""

    status: WorkspaceStatus = WorkspaceStatus.ABSENT
    tries: int = 1
    path: str | None = None
    branch: str | None = None
    kept: bool = False
    detail: str | None = None
