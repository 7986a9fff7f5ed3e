"""The next automatic step of a parallel review: fork, each branch's end, and the join.

Nothing short of every branch makes a join (spec, *Wait-for-all join*); what ends a branch, and
as what, is §10.19–24 of the design.
"""

from typing import Final

from pointsman.graph import ids
from pointsman.graph.attempt import Attempt, AttemptStatus
from pointsman.graph.binding import Resolved, resolve
from pointsman.graph.definition import ParallelNode
from pointsman.graph.events import (
    AttemptStarted,
    Event,
    NodeCompleted,
    NodeUnresolved,
    UnresolvedReason,
)
from pointsman.graph.freshness import moved, unknown
from pointsman.graph.owed_reviews import change_of
from pointsman.graph.owed_work import attempt_may_run
from pointsman.graph.results import JoinResult, ReportOutcome, ReportResult
from pointsman.graph.resumption import resumed_by_policy
from pointsman.graph.review_events import (
    BranchEnded,
    BranchInterrupted,
    BranchOutcome,
    BranchReason,
    ForkedBranch,
    JoinCommitted,
    JoinedBranch,
    JoinOutcome,
    ReviewForked,
)
from pointsman.graph.review_set import ReviewBranch, ReviewSet
from pointsman.graph.reviews import Branch
from pointsman.graph.routing import turn_aside
from pointsman.graph.run import Run, Visit
from pointsman.graph.settlement import SettlementOutcome
from pointsman.graph.workspace import WorkspaceStatus

_UNRESOLVED: Final = {
    JoinOutcome.STALE: UnresolvedReason.REVIEW_STALE,
    JoinOutcome.FAILED: UnresolvedReason.REVIEW_FAILED,
    JoinOutcome.UNRESOLVED: UnresolvedReason.REVIEW_UNRESOLVED,
    JoinOutcome.CANCELED: UnresolvedReason.REVIEW_CANCELED,
}


def advance_group(run: Run, visit: Visit, node: ParallelNode) -> tuple[Event, ...]:
    """Freeze, fork, and let each branch come to its end; then the group is left for its join."""
    review = run.reviews.get(node.join)
    if review is None or review.review_set_id != visit.visit_id:
        return _before_the_fork(run, visit, node)
    if not review.branches:
        return _fork(run, visit, node, review)
    for branch in review.open_branches:
        step = _branch_step(branch, node.branches[branch.branch], visit)
        if step:
            return step
    if review.open_branches:
        return ()
    return (NodeCompleted(node=visit.node, visit_id=visit.visit_id),)


def _before_the_fork(run: Run, visit: Visit, node: ParallelNode) -> tuple[Event, ...]:
    if visit.freeze_refused is not None:
        refused = visit.freeze_refused
        return (_unfrozen(visit, f"{refused.reason}: {refused.message}"),)
    if run.visits_left < len(node.branches):
        return turn_aside(run, visit, len(node.branches))
    if change_of(run, node) is None:
        return (_unfrozen(visit, "the input names no branch, pull request or ref"),)
    return ()


def _unfrozen(visit: Visit, detail: str) -> NodeUnresolved:
    return NodeUnresolved(
        node=visit.node,
        visit_id=visit.visit_id,
        reason=UnresolvedReason.FREEZE_REFUSED,
        detail=detail,
    )


def _fork(run: Run, visit: Visit, node: ParallelNode, review: ReviewSet) -> tuple[Event, ...]:
    """Commit the whole branch set, with its visits and first attempts, before any child starts."""
    forked = tuple(_forked(run, visit, key, branch) for key, branch in node.branches.items())
    fork = ReviewForked(
        node=visit.node,
        visit_id=visit.visit_id,
        join=node.join,
        review_set_id=review.review_set_id,
        frozen_commit=review.frozen_commit,
        branches=forked,
        visits_used=run.visits_used + len(forked),
    )
    starts = (_start(visit, each.branch_id, 1, node.branches[each.branch]) for each in forked)
    return (fork, *starts)


def _forked(run: Run, visit: Visit, key: str, branch: Branch) -> ForkedBranch:
    bound = resolve(branch.inputs, run.inputs, run.results)
    assert isinstance(bound, Resolved), f"{visit.visit_id}.{key}: the entry had its inputs"
    branch_id = ids.branch_id(visit.visit_id, key)
    return ForkedBranch(
        branch=key,
        branch_id=branch_id,
        workspace_key=ids.review_workspace_key(branch_id),
        deadline_s=branch.deadline,
        inputs=bound.values,
        references=bound.references,
    )


def _start(visit: Visit, branch_id: str, number: int, branch: Branch) -> AttemptStarted:
    return AttemptStarted(
        attempt_id=ids.attempt_id(branch_id, number),
        node=visit.node,
        visit_id=visit.visit_id,
        try_number=number,
        timeout_s=branch.timeout,
    )


def _branch_step(branch: ReviewBranch, declared: Branch, visit: Visit) -> tuple[Event, ...]:
    attempt = branch.attempt
    if branch.deadline_passed and not _at_work(branch, attempt):
        detail = f"it was not over {declared.deadline} seconds after its launch"
        return (_ended(branch, BranchOutcome.UNRESOLVED, BranchReason.DEADLINE, detail),)
    if branch.workspace.status is WorkspaceStatus.REFUSED:
        why = branch.workspace.detail
        return (_ended(branch, BranchOutcome.UNRESOLVED, BranchReason.WORKSPACE_REFUSED, why),)
    if branch.try_owed:
        return (_start(visit, branch.branch_id, len(branch.attempts) + 1, declared),)
    assert attempt is not None, f"{branch.branch_id} owes no try and has none"
    if (misfit := _misfit(branch)) is not None:
        return (misfit,)
    if attempt.status is AttemptStatus.REFUSED:
        if attempt_may_run(attempt):
            return ()  # it is ended first, so that nobody works on unseen
        unknown_ = attempt.refusal_unknown
        reason = BranchReason.LAUNCH_UNKNOWN if unknown_ else BranchReason.LAUNCH_REFUSED
        return (_ended(branch, BranchOutcome.UNRESOLVED, reason, attempt.outcome_reason),)
    if attempt.status is not AttemptStatus.SETTLED:
        return ()
    return _settled(branch, declared, attempt)


def _at_work(branch: ReviewBranch, attempt: Attempt | None) -> bool:
    """Tell whether the host may still have processes of a branch whose deadline has come."""
    if attempt is None or branch.at_launch is None or branch.try_owed:
        return False
    return attempt.status is AttemptStatus.LAUNCHED or attempt_may_run(attempt)


def _misfit(branch: ReviewBranch) -> BranchEnded | None:
    """End a branch whose checkout is not what was frozen, whatever its report says."""
    for seen in (branch.at_launch, branch.at_settlement):
        if seen is not None and seen.misfit is not None:
            reason = BranchReason.CHECKOUT_MISMATCH
            return _ended(branch, BranchOutcome.FAILED, reason, seen.misfit)
        if seen is not None and seen.unreadable is not None:
            reason = BranchReason.CHECKOUT_UNREADABLE
            return _ended(branch, BranchOutcome.UNRESOLVED, reason, seen.unreadable)
    return None


def _settled(branch: ReviewBranch, declared: Branch, attempt: Attempt) -> tuple[Event, ...]:
    why = attempt.outcome_reason
    match attempt.outcome:
        case SettlementOutcome.SUCCEEDED:
            return _reported(branch, attempt)
        case SettlementOutcome.INTERRUPTED:
            return _interrupted(branch, declared, attempt)
        case SettlementOutcome.FAILED:
            return (_ended(branch, BranchOutcome.FAILED, BranchReason.WORK_FAILED, why),)
        case SettlementOutcome.CANCELED:
            return (_ended(branch, BranchOutcome.CANCELED, BranchReason.WORK_CANCELED, why),)
        case SettlementOutcome.TIMED_OUT:
            return (_ended(branch, BranchOutcome.UNRESOLVED, BranchReason.TIMED_OUT, why),)
        case None:
            raise AssertionError(f"{attempt.attempt_id} settled without an outcome")


def _reported(branch: ReviewBranch, attempt: Attempt) -> tuple[Event, ...]:
    """Judge work that settled well by its report and, last, by its checkout."""
    report = attempt.report
    if report is None:
        why = attempt.outcome_reason or "the work ended without an accepted report"
        return (_ended(branch, BranchOutcome.UNRESOLVED, BranchReason.REPORT_MISSING, why),)
    match report.outcome:
        case ReportOutcome.FAILED:
            reason = BranchReason.REPORTED_FAILED
            return (_ended(branch, BranchOutcome.FAILED, reason, report.summary),)
        case ReportOutcome.BLOCKED:
            reason = BranchReason.REPORTED_BLOCKED
            return (_ended(branch, BranchOutcome.UNRESOLVED, reason, report.summary),)
        case ReportOutcome.COMPLETED:
            return (
                () if branch.at_settlement is None else (_ended(branch, BranchOutcome.COMPLETED),)
            )


def _interrupted(branch: ReviewBranch, declared: Branch, attempt: Attempt) -> tuple[Event, ...]:
    """Let a lost session go on by the author's policy; else a person may, until the deadline."""
    again = resumed_by_policy(declared.resume, attempt)
    if again or branch.unresolved is not None:
        return again
    detail = attempt.outcome_reason or "its work was interrupted"
    return (BranchInterrupted(branch_id=branch.branch_id, detail=detail),)


def _ended(
    branch: ReviewBranch,
    outcome: BranchOutcome,
    reason: BranchReason | None = None,
    detail: str | None = None,
) -> BranchEnded:
    return BranchEnded(
        branch_id=branch.branch_id,
        attempt_id=branch.attempt.attempt_id if branch.attempt is not None else None,
        outcome=outcome,
        reason=reason,
        detail=detail,
    )


def advance_join(run: Run, visit: Visit) -> tuple[Event, ...]:
    """Commit the one result of the review set; the head has been looked at by then (§10.23)."""
    review = run.reviews[visit.node]
    assert not review.open_branches, f"{review.review_set_id} has open branches at its join"
    outcome, detail = _aggregate(review, visit)
    committed = JoinCommitted(
        node=visit.node,
        visit_id=visit.visit_id,
        review_set_id=review.review_set_id,
        frozen_commit=review.frozen_commit,
        outcome=outcome,
        branches=tuple(_joined(branch) for branch in review.branches),
        detail=detail,
    )
    if outcome is not JoinOutcome.ALL_COMPLETED:
        reason = _UNRESOLVED[outcome]
        unresolved = NodeUnresolved(
            node=visit.node, visit_id=visit.visit_id, reason=reason, detail=detail
        )
        return (committed, unresolved)
    result = JoinResult(
        review_set_id=review.review_set_id,
        frozen_commit=review.frozen_commit,
        reports={branch.branch: _report(branch) for branch in review.branches},
    )
    return (committed, NodeCompleted(node=visit.node, visit_id=visit.visit_id, result=result))


def _aggregate(review: ReviewSet, visit: Visit) -> tuple[JoinOutcome, str]:
    """Name what the branches came to together: the first that applies (§10.19)."""
    if review.stale is not None:
        return JoinOutcome.STALE, moved(review)
    assert visit.comparison is not None, f"{visit.visit_id} joins without having looked"
    for outcome, wanted in (
        (BranchOutcome.FAILED, JoinOutcome.FAILED),
        (BranchOutcome.UNRESOLVED, JoinOutcome.UNRESOLVED),
        (BranchOutcome.CANCELED, JoinOutcome.CANCELED),
    ):
        if wanted is JoinOutcome.UNRESOLVED and visit.comparison.head is None:
            return wanted, unknown(review, visit.comparison.why)
        found = [b for b in review.branches if b.ending and b.ending.outcome is outcome]
        if found:
            return wanted, "; ".join(_told(branch) for branch in found)
    return JoinOutcome.ALL_COMPLETED, f"all {len(review.branches)} reviewers completed"


def _told(branch: ReviewBranch) -> str:
    assert branch.ending is not None, f"{branch.branch_id} has not ended"
    reason = f" ({branch.ending.reason})" if branch.ending.reason is not None else ""
    detail = f": {branch.ending.detail}" if branch.ending.detail else ""
    return f"{branch.branch} {branch.ending.outcome}{reason}{detail}"


def _joined(branch: ReviewBranch) -> JoinedBranch:
    assert branch.ending is not None, f"{branch.branch_id} has not ended"
    return JoinedBranch(
        branch=branch.branch,
        outcome=branch.ending.outcome,
        attempt_id=branch.attempt.attempt_id if branch.attempt is not None else None,
        reason=branch.ending.reason,
    )


def _report(branch: ReviewBranch) -> ReportResult:
    attempt = branch.attempt
    assert attempt is not None, f"{branch.branch_id} completed without an attempt"
    assert attempt.report is not None, f"{branch.branch_id} completed without a report"
    return ReportResult(
        attempt_id=attempt.attempt_id,
        outcome=attempt.report.outcome,
        summary=attempt.report.summary,
        data=attempt.report.data,
        evidence=attempt.report.evidence,
    )
