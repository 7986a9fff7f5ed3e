"""Events of parallel reviews: freezing, forking, each branch's way to its end, and the join.

Append-only like ``events``, whose union holds them.
"""

from enum import StrEnum
from typing import Any, Literal

from pointsman.graph.changes import Change
from pointsman.graph.evidence import Checkout
from pointsman.graph.model import Model


class ChangeFrozen(Model):
    """The host has frozen the change under review at one commit.

    ``left_out`` are uncommitted paths that the review does not see; ``committed`` says that the
    host first committed what was uncommitted, as the definition asks. ``mark`` names the head's
    last move until then, where a log of its moves is kept.
    """

    kind: Literal["change_frozen"] = "change_frozen"
    node: str
    visit_id: str
    review_set_id: str
    change: Change
    frozen_commit: str
    base_commit: str
    diff_stat: str
    left_out: tuple[str, ...] = ()
    committed: bool = False
    mark: str | None = None


class ChangeRefused(Model):
    """Nothing was frozen, and why."""

    kind: Literal["change_refused"] = "change_refused"
    node: str
    visit_id: str
    reason: str
    message: str


class ForkedBranch(Model):
    """One required branch of a review set, with the identities it will use at the host."""

    branch: str
    branch_id: str
    workspace_key: str
    deadline_s: int
    inputs: dict[str, Any] = {}
    references: dict[str, str] = {}


class ReviewForked(Model):
    """A review set exists: its frozen commit and every branch that must complete.

    The branches' visits are reserved in ``visits_used``; their first attempts follow in the same
    transition.
    """

    kind: Literal["review_forked"] = "review_forked"
    node: str
    visit_id: str
    join: str
    review_set_id: str
    frozen_commit: str
    branches: tuple[ForkedBranch, ...]
    visits_used: int


class Moment(StrEnum):
    """When a reviewer's checkout was verified."""

    LAUNCH = "launch"
    SETTLEMENT = "settlement"


class CheckoutVerified(Model):
    """A reviewer's checkout was compared with the frozen commit; ``misfit`` says how it differs."""

    kind: Literal["checkout_verified"] = "checkout_verified"
    branch_id: str
    attempt_id: str
    moment: Moment
    checkout: Checkout
    misfit: str | None = None


class BranchDeadlinePassed(Model):
    """The branch's absolute deadline has come; what runs of it is being ended."""

    kind: Literal["branch_deadline_passed"] = "branch_deadline_passed"
    branch_id: str


class BranchInterrupted(Model):
    """The branch's work was interrupted; it stays open for Resume and Retry until its deadline."""

    kind: Literal["branch_interrupted"] = "branch_interrupted"
    branch_id: str
    detail: str


class BranchOutcome(StrEnum):
    """How a branch ended (§10.20 of the design). Only ``completed`` counts for the join."""

    COMPLETED = "completed"
    FAILED = "failed"
    UNRESOLVED = "unresolved"
    CANCELED = "canceled"


class BranchReason(StrEnum):
    """Why a branch did not complete."""

    WORK_FAILED = "work_failed"
    REPORTED_FAILED = "reported_failed"
    CHECKOUT_MISMATCH = "checkout_mismatch"
    WORK_CANCELED = "work_canceled"
    REPORT_MISSING = "report_missing"
    REPORTED_BLOCKED = "reported_blocked"
    TIMED_OUT = "timed_out"
    DEADLINE = "deadline"
    LAUNCH_REFUSED = "launch_refused"
    LAUNCH_UNKNOWN = "launch_unknown"
    WORKSPACE_REFUSED = "workspace_refused"
    CHECKOUT_UNREADABLE = "checkout_unreadable"


class BranchEnded(Model):
    """The branch is terminal, for good; ``attempt_id`` is the attempt that ended it."""

    kind: Literal["branch_ended"] = "branch_ended"
    branch_id: str
    attempt_id: str | None
    outcome: BranchOutcome
    reason: BranchReason | None = None
    detail: str | None = None


class HeadCompared(Model):
    """The head of the change was compared with the frozen commit.

    ``head`` is ``None`` when it could not be known, and ``why`` says so. ``returned``: it is the
    frozen commit again, and has been another one in between.
    """

    kind: Literal["head_compared"] = "head_compared"
    node: str
    visit_id: str
    review_set_id: str
    frozen_commit: str
    head: str | None
    why: str | None = None
    returned: bool = False


class JoinOutcome(StrEnum):
    """The aggregate of a review set: the first that applies, in this order (§10.19)."""

    STALE = "stale"
    FAILED = "failed"
    UNRESOLVED = "unresolved"
    CANCELED = "canceled"
    ALL_COMPLETED = "all_completed"


class JoinedBranch(Model):
    """One branch as the join counted it."""

    branch: str
    outcome: BranchOutcome
    attempt_id: str | None
    reason: BranchReason | None = None


class JoinCommitted(Model):
    """The one result of a review set, committed once every branch was terminal."""

    kind: Literal["join_committed"] = "join_committed"
    node: str
    visit_id: str
    review_set_id: str
    frozen_commit: str
    outcome: JoinOutcome
    branches: tuple[JoinedBranch, ...]
    detail: str


class ReviewAgainRequested(Model):
    """A person wants a new generation of reviews: a new visit of the group."""

    kind: Literal["review_again_requested"] = "review_again_requested"
    node: str
    visit_id: str
    group: str
    requested_by: str
