"""What clients see of parallel reviews: the frozen change, each reviewer, and what it came to.

What a reviewer reports is a claim; what the host saw of its worktree stands beside it, apart.
"""

from enum import StrEnum
from typing import Literal

from pointsman.graph.attempt import AttemptStatus
from pointsman.graph.changes import in_words
from pointsman.graph.definition import ParallelNode
from pointsman.graph.freshness import relied_on
from pointsman.graph.model import Model
from pointsman.graph.review_set import ReviewBranch, ReviewSet, Verified
from pointsman.graph.reviews import Branch
from pointsman.graph.run import Run
from pointsman.graph.workspace import WorkspaceStatus
from pointsman.runtime.views.work_views import (
    AttemptView,
    UnresolvedView,
    attempt_view,
    timestamp,
    unresolved_view,
)


class BranchState(StrEnum):
    """Where a reviewer stands. The last four are for good; only ``completed`` counts."""

    PREPARING = "preparing"
    VERIFYING = "verifying"
    LAUNCHING = "launching"
    WORKING = "working"
    WAITING_INPUT = "waiting_input"
    INTERRUPTED = "interrupted"
    COMPLETED = "completed"
    FAILED = "failed"
    UNRESOLVED = "unresolved"
    CANCELED = "canceled"


class VerifiedView(Model):
    """What the host saw of a reviewer's worktree; ``detail`` says how it differs, or why not."""

    verdict: Literal["as_frozen", "differs", "unreadable"]
    detail: str | None = None


class EndingView(Model):
    """How a reviewer ended, for good, and why if it did not complete."""

    outcome: str
    reason: str | None
    detail: str | None


class BranchView(Model):
    """One required reviewer.

    ``attempt`` is the one in force, with its thread and its report: a claim. ``at_launch`` and
    ``at_settlement`` are what was verified of its worktree. ``deadline_at`` is absolute; until
    the first launch it counts from the fork.
    """

    branch: str
    branch_id: str
    state: BranchState
    title: str | None
    focus: str | None
    provider: str
    skill: str | None
    attempts: int
    attempt: AttemptView | None
    workspace_key: str
    workspace_status: str
    workspace_path: str | None
    deadline_at: str
    at_launch: VerifiedView | None
    at_settlement: VerifiedView | None
    unresolved: UnresolvedView | None
    ending: EndingView | None


class ReviewView(Model):
    """One generation of a group's reviews, the latest one of its join.

    ``generation`` is the number of the group's visit. ``outcome`` is the join's, once it is
    committed; ``stale_head`` the other head that was seen, which makes the review stale for good.
    """

    review_set_id: str
    group: str
    join: str
    generation: int
    under_way: bool
    change: str
    frozen_commit: str
    base_commit: str
    diff_stat: str
    left_out: list[str]
    committed: bool
    branches: list[BranchView]
    outcome: str | None
    stale_head: str | None


class GateReviewView(Model):
    """The review that an approval relies on; ``head_seen`` is the head that made it stale."""

    review_set_id: str
    join: str
    frozen_commit: str
    stale: bool
    head_seen: str | None


def review_views(run: Run) -> dict[str, ReviewView]:
    """Return the latest review of each join."""
    return {join: _review(run, review) for join, review in run.reviews.items()}


def gate_review(run: Run) -> GateReviewView | None:
    """Return the review that the gate being visited relies on."""
    review = relied_on(run)
    if review is None:
        return None
    return GateReviewView(
        review_set_id=review.review_set_id,
        join=review.join,
        frozen_commit=review.frozen_commit,
        stale=review.stale is not None,
        head_seen=review.stale,
    )


def _review(run: Run, review: ReviewSet) -> ReviewView:
    group = run.workflow.nodes[review.group]
    assert isinstance(group, ParallelNode), f"{review.group} is no group"
    underway = run.review_underway
    return ReviewView(
        review_set_id=review.review_set_id,
        group=review.group,
        join=review.join,
        generation=int(review.review_set_id.rpartition(".")[2]),
        under_way=underway is not None and underway.review_set_id == review.review_set_id,
        change=in_words(review.change),
        frozen_commit=review.frozen_commit,
        base_commit=review.base_commit,
        diff_stat=review.diff_stat,
        left_out=list(review.left_out),
        committed=review.committed,
        branches=[
            _branch(each, group.branches[each.branch], canceled=run.cancellation is not None)
            for each in review.branches
        ],
        outcome=review.outcome.value if review.outcome is not None else None,
        stale_head=review.stale,
    )


def _branch(branch: ReviewBranch, declared: Branch, *, canceled: bool) -> BranchView:
    ending = branch.ending
    return BranchView(
        branch=branch.branch,
        branch_id=branch.branch_id,
        state=state_of(branch, canceled=canceled),
        title=declared.title,
        focus=declared.focus,
        provider=declared.agent.provider,
        skill=declared.agent.skill,
        attempts=len(branch.attempts),
        attempt=attempt_view(branch.attempt) if branch.attempt is not None else None,
        workspace_key=branch.workspace_key,
        workspace_status=branch.workspace.status.value,
        workspace_path=branch.workspace.path,
        deadline_at=timestamp(branch.due_at_ms),
        at_launch=_verified(branch.at_launch),
        at_settlement=_verified(branch.at_settlement),
        unresolved=unresolved_view(branch.unresolved) if branch.unresolved is not None else None,
        ending=None
        if ending is None
        else EndingView(
            outcome=ending.outcome.value,
            reason=ending.reason.value if ending.reason is not None else None,
            detail=ending.detail,
        ),
    )


def state_of(branch: ReviewBranch, *, canceled: bool = False) -> BranchState:
    """Say where a reviewer stands; those of a canceled run come to nothing any more."""
    attempt = branch.attempt
    if branch.ending is not None:
        return BranchState(branch.ending.outcome.value)
    if canceled:
        return BranchState.CANCELED
    if branch.unresolved is not None:
        return BranchState.INTERRUPTED
    if branch.workspace.status is not WorkspaceStatus.PREPARED or attempt is None:
        return BranchState.PREPARING
    if branch.at_launch is None or attempt.status is AttemptStatus.SETTLED:
        return BranchState.VERIFYING
    if attempt.status is not AttemptStatus.LAUNCHED:
        return BranchState.LAUNCHING
    asks = any(not each.answered for each in attempt.requests)
    return BranchState.WAITING_INPUT if asks else BranchState.WORKING


def _verified(seen: Verified | None) -> VerifiedView | None:
    if seen is None:
        return None
    if seen.unreadable is not None:
        return VerifiedView(verdict="unreadable", detail=seen.unreadable)
    if seen.misfit is not None:
        return VerifiedView(verdict="differs", detail=seen.misfit)
    return VerifiedView(verdict="as_frozen")
