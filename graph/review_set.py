"""The state of one generation of parallel reviews: the frozen commit and its branches."""

from pointsman.graph.attempt import Tried
from pointsman.graph.changes import Change
from pointsman.graph.model import Model
from pointsman.graph.review_events import BranchOutcome, BranchReason, JoinOutcome
from pointsman.graph.workspace import Workspace


class Verified(Model):
    """What a look at the reviewer's checkout came to; neither is set if it fits."""

    misfit: str | None = None
    unreadable: str | None = None


class BranchEnding(Model):
    """How a branch ended, for good."""

    outcome: BranchOutcome
    reason: BranchReason | None = None
    detail: str | None = None


class ReviewBranch(Tried):
    """One required reviewer of a review set.

    ``due_at_ms`` is its absolute deadline: set by the fork, and once more by the first launch,
    from which it counts. ``at_launch`` and ``at_settlement`` are about the attempt in force.
    """

    branch: str
    branch_id: str
    workspace_key: str
    workspace: Workspace = Workspace()
    references: dict[str, str] = {}
    deadline_ms: int
    due_at_ms: int
    launched: bool = False
    deadline_passed: bool = False
    at_launch: Verified | None = None
    at_settlement: Verified | None = None
    ending: BranchEnding | None = None

    @property
    def tried_id(self) -> str:
        """What a retry names."""
        return self.branch_id


class ReviewSet(Model):
    """One generation of a group's reviews.

    No ``branches`` until the fork is committed. ``stale`` is the other head that was once seen:
    a review that was overtaken stays so, even if the head moves back (§10.26 of the design).
    """

    review_set_id: str
    group: str
    join: str
    change: Change
    frozen_commit: str
    base_commit: str
    diff_stat: str = ""
    left_out: tuple[str, ...] = ()
    committed: bool = False
    mark: str | None = None
    branches: tuple[ReviewBranch, ...] = ()
    outcome: JoinOutcome | None = None
    stale: str | None = None

    @property
    def open_branches(self) -> tuple[ReviewBranch, ...]:
        """The branches that have not ended."""
        return tuple(branch for branch in self.branches if branch.ending is None)
