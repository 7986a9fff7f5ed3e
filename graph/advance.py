"""Advance: the next automatic step that a run's state alone makes due.

Level-triggered: normal running, crash recovery and the resuming of a fork are the same call,
repeated until it gives nothing.
"""

from typing import assert_never

from pointsman.graph import ids
from pointsman.graph.attempt import Attempt, AttemptStatus
from pointsman.graph.definition import (
    AgentNode,
    CheckNode,
    DecisionNode,
    EndNode,
    EndResult,
    GateNode,
    JoinNode,
    ParallelNode,
)
from pointsman.graph.events import (
    AttemptStarted,
    CheckStarted,
    Event,
    GateRequested,
    NodeCompleted,
    NodeUnresolved,
    ReviewReference,
    RunCanceled,
    RunCompleted,
    RunFailed,
    RunSuspended,
    UnresolvedReason,
)
from pointsman.graph.freshness import comparison_due, lost, relied_on, stands
from pointsman.graph.owed import unfinished
from pointsman.graph.owed_work import attempt_may_run, check_may_run
from pointsman.graph.results import CheckResult, GateDecision, ReportResult
from pointsman.graph.resumption import resumed_by_policy
from pointsman.graph.review_set import ReviewSet
from pointsman.graph.reviewing import advance_group, advance_join
from pointsman.graph.routing import enter_first, leave, leave_unresolved, review_again
from pointsman.graph.run import CheckTry, CheckTryStatus, Run, Visit
from pointsman.graph.settlement import SettlementOutcome
from pointsman.graph.work import CheckExited
from pointsman.graph.workspace import WorkspaceStatus

_UNRESOLVED_BY_OUTCOME = {
    SettlementOutcome.FAILED: UnresolvedReason.WORK_FAILED,
    SettlementOutcome.INTERRUPTED: UnresolvedReason.INTERRUPTED,
    SettlementOutcome.CANCELED: UnresolvedReason.WORK_CANCELED,
    SettlementOutcome.TIMED_OUT: UnresolvedReason.TIMED_OUT,
}
# A skill is never replaced by another silently: the visit says what is wrong with it.
_UNRESOLVED_BY_REFUSAL = {
    "skill_missing": UnresolvedReason.SKILL_MISSING,
    "skill_changed": UnresolvedReason.SKILL_CHANGED,
}


def advance(run: Run) -> tuple[Event, ...]:
    """Return the next due events, or none when the run waits or has ended."""
    if run.ended:
        return ()
    if run.cancellation is not None:
        return () if unfinished(run) else (RunCanceled(),)
    visit = run.visit
    if visit is None:
        return enter_first(run)
    if visit.again is not None:
        return review_again(run, visit, visit.again)
    if visit.unresolved is not None:
        return leave_unresolved(run, visit)
    if visit.completed:
        return leave(run, visit)
    if comparison_due(run) is not None:
        return ()
    node = run.workflow.nodes[visit.node]
    if isinstance(node, AgentNode | CheckNode | DecisionNode):
        overtaken = lost(run, visit)
        if overtaken is not None:
            return (overtaken,)
    match node:
        case AgentNode():
            return _agent(run, visit, node)
        case CheckNode():
            return _check(run, visit, node)
        case DecisionNode():
            return (NodeCompleted(node=visit.node, visit_id=visit.visit_id),)
        case GateNode():
            return _gate(run, visit, node)
        case ParallelNode():
            return advance_group(run, visit, node)
        case JoinNode():
            return advance_join(run, visit)
        case EndNode():
            return (_end(run, visit, node),)
        case _:
            assert_never(node)


def _unresolved(visit: Visit, reason: UnresolvedReason, detail: str) -> tuple[Event, ...]:
    return (NodeUnresolved(node=visit.node, visit_id=visit.visit_id, reason=reason, detail=detail),)


def _without_workspace(run: Run, visit: Visit) -> tuple[Event, ...]:
    if run.workspace.status is WorkspaceStatus.REFUSED:
        detail = run.workspace.detail or "the host refused it"
        return _unresolved(visit, UnresolvedReason.WORKSPACE_REFUSED, detail)
    return ()


def _agent(run: Run, visit: Visit, node: AgentNode) -> tuple[Event, ...]:
    if visit.try_owed:
        if run.workspace.status is not WorkspaceStatus.PREPARED:
            return _without_workspace(run, visit)
        number = len(visit.attempts) + 1
        started = AttemptStarted(
            attempt_id=ids.attempt_id(visit.visit_id, number),
            node=visit.node,
            visit_id=visit.visit_id,
            try_number=number,
            timeout_s=node.timeout,
        )
        return (started,)
    attempt = visit.attempt
    assert attempt is not None, f"{visit.visit_id} owes no try and has none"
    if attempt.status is AttemptStatus.REFUSED and attempt_may_run(attempt):
        return ()  # it is being ended first: a retry beside it would be a second agent
    if attempt.status is AttemptStatus.REFUSED:
        reason, detail = _why_refused(attempt), attempt.outcome_reason or ""
        return _unresolved(visit, reason, detail.removeprefix(f"{reason}: "))
    if attempt.status is not AttemptStatus.SETTLED:
        return ()
    return resumed_by_policy(node.resume, attempt) or _settled_attempt(visit, attempt)


def _why_refused(attempt: Attempt) -> UnresolvedReason:
    if attempt.refusal_unknown:
        return UnresolvedReason.LAUNCH_UNKNOWN
    return _UNRESOLVED_BY_REFUSAL.get(attempt.refusal or "", UnresolvedReason.LAUNCH_REFUSED)


def _settled_attempt(visit: Visit, attempt: Attempt) -> tuple[Event, ...]:
    assert attempt.outcome is not None, f"{attempt.attempt_id} settled without an outcome"
    if attempt.outcome is not SettlementOutcome.SUCCEEDED:
        reason = _UNRESOLVED_BY_OUTCOME[attempt.outcome]
        return _unresolved(visit, reason, attempt.outcome_reason or reason.value)
    if attempt.report is None:
        detail = attempt.outcome_reason or "the work ended without an accepted report"
        return _unresolved(visit, UnresolvedReason.REPORT_MISSING, detail)
    result = ReportResult(
        attempt_id=attempt.attempt_id,
        outcome=attempt.report.outcome,
        summary=attempt.report.summary,
        data=attempt.report.data,
        evidence=attempt.report.evidence,
    )
    return (NodeCompleted(node=visit.node, visit_id=visit.visit_id, result=result),)


def _check(run: Run, visit: Visit, node: CheckNode) -> tuple[Event, ...]:
    if visit.try_owed:
        if run.workspace.status is not WorkspaceStatus.PREPARED:
            return _without_workspace(run, visit)
        return (_next_start(visit),)
    check = visit.check
    assert check is not None, f"{visit.visit_id} owes no try and has none"
    if check.status is CheckTryStatus.REFUSED and check_may_run(check):
        return ()
    if check.status is CheckTryStatus.REFUSED:
        return _unresolved(visit, UnresolvedReason.CHECK_REFUSED, check.reason or "")
    return _ended_check(visit, node, check) if check.status is CheckTryStatus.ENDED else ()


def _next_start(visit: Visit) -> CheckStarted:
    number = len(visit.checks) + 1
    return CheckStarted(
        check_id=ids.attempt_id(visit.visit_id, number),
        node=visit.node,
        visit_id=visit.visit_id,
        try_number=number,
    )


def _ended_check(visit: Visit, node: CheckNode, check: CheckTry) -> tuple[Event, ...]:
    ended = check.ended
    assert ended is not None, f"{check.check_id} ended without a state"
    if isinstance(ended, CheckExited) and not ended.timed_out and not ended.interrupted:
        result = CheckResult(
            check_id=check.check_id,
            exit_code=ended.exit_code,
            duration_s=ended.duration_s,
            output_tail=ended.output_tail,
            log_reference=ended.log_reference,
            log_digest=ended.log_digest,
        )
        return (NodeCompleted(node=visit.node, visit_id=visit.visit_id, result=result),)
    retried = len(visit.checks) - visit.tries
    timed_out = isinstance(ended, CheckExited) and ended.timed_out
    stopped = isinstance(ended, CheckExited) and not ended.timed_out
    # A stop by a person is never followed by an automatic retry, whatever the policy says.
    why = "timeout" if timed_out else "interrupted"
    may_retry = node.retry is not None and retried < node.retry.max and why in node.retry.after
    if may_retry and not stopped:
        return (_next_start(visit),)
    if timed_out:
        detail = f"the command did not end within {node.timeout} seconds"
        return _unresolved(visit, UnresolvedReason.CHECK_TIMED_OUT, detail)
    detail = "the command was stopped" if stopped else "the command's process was lost"
    return _unresolved(visit, UnresolvedReason.CHECK_INTERRUPTED, detail)


def _gate(run: Run, visit: Visit, node: GateNode) -> tuple[Event, ...]:
    if visit.gate is not None:
        return ()
    offered = [GateDecision.APPROVE]
    if node.decisions.request_changes is not None:
        offered.append(GateDecision.REQUEST_CHANGES)
    review = relied_on(run)
    if review is not None and not stands(review):
        offered.remove(GateDecision.APPROVE)
    requested = GateRequested(
        gate_id=visit.visit_id,
        node=visit.node,
        title=node.title,
        offered=tuple(offered),
        head_commit=review.frozen_commit if review is not None else run.head_commit,
        review=_reference(review) if review is not None else None,
    )
    return (requested, RunSuspended(gate_id=visit.visit_id, node=visit.node))


def _reference(review: ReviewSet) -> ReviewReference:
    return ReviewReference(
        join=review.join,
        review_set_id=review.review_set_id,
        frozen_commit=review.frozen_commit,
    )


def _end(run: Run, visit: Visit, node: EndNode) -> Event:
    if node.result is EndResult.COMPLETED:
        return RunCompleted(node=visit.node, head_commit=run.head_commit)
    return RunFailed(node=visit.node, head_commit=run.head_commit)
