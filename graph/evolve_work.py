"""Evolve, for outside work: attempts of agents, starts of checks, and worktrees."""

from collections.abc import Iterable
from typing import Any, assert_never

from pointsman.graph import events as ev
from pointsman.graph.attempt import (
    AcceptedReport,
    Attempt,
    AttemptStatus,
    OpenRequest,
    ReminderStatus,
    ReportReceipt,
    Tried,
)
from pointsman.graph.run import CheckTry, CheckTryStatus, Run, Visit
from pointsman.graph.settlement import SettlementOutcome, was_lost
from pointsman.graph.workspace import WorkspaceStatus

AttemptEvent = (
    ev.AttemptStarted
    | ev.CredentialBound
    | ev.AttemptLaunched
    | ev.ReportAccepted
    | ev.NativeRequestOpened
    | ev.NativeRequestAnswered
    | ev.NativeRequestClosed
    | ev.ReminderIssued
    | ev.ReminderDelivered
    | ev.AttemptTimedOut
    | ev.AttemptSettled
    | ev.AttemptRefused
    | ev.ResumeRequested
    | ev.ResumeRefused
    | ev.TurnUnknown
    | ev.AttemptResumed
)
CheckEvent = ev.CheckStarted | ev.CheckLaunched | ev.CheckRefused | ev.CheckEnded


WorkspaceEvent = ev.WorkspacePrepared | ev.WorkspaceRefused | ev.WorkspaceReleased


def visit_of(run: Run) -> Visit:
    """Return the visit of a run that is at a node."""
    assert run.visit is not None, f"{run.run_id} is at no node"
    return run.visit


def with_visit(run: Run, **changes: Any) -> Run:
    """Return the run with its current visit changed."""
    return run.model_copy(update={"visit": visit_of(run).model_copy(update=changes)})


def attempt_changes(tried: Tried, event: AttemptEvent, at_ms: int) -> dict[str, Any]:
    """Return what an event of an attempt changes in its visit or branch."""
    if isinstance(event, ev.AttemptStarted):
        started = Attempt(
            attempt_id=event.attempt_id,
            try_number=event.try_number,
            status=AttemptStatus.SCHEDULED,
            remaining_ms=event.timeout_s * 1000,
        )
        return {"attempts": (*tried.attempts, started), "try_owed": False}
    attempt = tried.attempt
    assert attempt is not None, f"{event.attempt_id} was never started"
    assert attempt.attempt_id == event.attempt_id, f"{event.attempt_id} is not in force"
    changed = attempt.model_copy(update=_attempt_fields(attempt, event, at_ms))
    changes: dict[str, Any] = {"attempts": (*tried.attempts[:-1], changed)}
    if isinstance(event, ev.ResumeRequested):
        changes["unresolved"] = None
    return changes


def _attempt_fields(attempt: Attempt, event: AttemptEvent, at_ms: int) -> dict[str, Any]:
    match event:
        case ev.AttemptStarted() | ev.CredentialBound():
            return {}
        case ev.AttemptLaunched():
            return {"status": AttemptStatus.LAUNCHED, "running_since_ms": at_ms}
        case ev.ReportAccepted():
            return {"report": _report(event, at_ms)}
        case ev.NativeRequestOpened() | ev.NativeRequestAnswered() | ev.NativeRequestClosed():
            return _request_fields(attempt, event, at_ms)
        case ev.ReminderIssued():
            return {"reminder": ReminderStatus.OWED}
        case ev.ReminderDelivered():
            return {"reminder": ReminderStatus.DELIVERED}
        case ev.AttemptTimedOut(limit=limit):
            return over_fields(limit)
        case ev.AttemptSettled():
            return {
                **_stopped(attempt, at_ms),
                "status": AttemptStatus.SETTLED,
                "outcome": event.outcome,
                "outcome_reason": event.reason,
                "requests": (),
                "resumable": event.work is not None and event.work.resumable,
                "lost": event.work is not None and was_lost(event.work),
            }
        case ev.AttemptRefused():
            return {
                "status": AttemptStatus.REFUSED,
                "refusal": event.reason,
                "refusal_unknown": event.unknown,
                "outcome_reason": f"{event.reason}: {event.message}",
            }
        case ev.ResumeRequested():
            return {
                "status": AttemptStatus.LAUNCHED,
                "resume_owed": True,
                "resumes": event.number,
                "resumes_by_policy": attempt.resumes_by_policy + (event.requested_by is None),
                "interrupted": False,
                "turn_unknown": None,
                "outcome": None,
                "outcome_reason": None,
            }
        case ev.ResumeRefused():
            return {
                "status": AttemptStatus.SETTLED,
                "resume_owed": False,
                "resumable": False,
                "outcome": SettlementOutcome.INTERRUPTED,
                "outcome_reason": event.message,
            }
        case ev.TurnUnknown(turn=turn, message=message):
            used = {"reminder": ReminderStatus.DELIVERED} if turn == "reminder" else {}
            return {"turn_unknown": message, "resume_owed": False, **used}
        case ev.AttemptResumed():
            return {"resume_owed": False, "running_since_ms": at_ms}
        case _:
            assert_never(event)


def over_fields(limit: ev.TimeLimit = ev.TimeLimit.EXECUTION) -> dict[str, Any]:
    """Return what a limit that has come changes in an attempt."""
    return {"timed_out": True, "limit": limit, "remaining_ms": 0, "running_since_ms": None}


def _report(event: ev.ReportAccepted, at_ms: int) -> AcceptedReport:
    return AcceptedReport(
        receipt_id=event.receipt_id,
        retry_key=event.retry_key,
        payload_digest=event.payload_digest,
        accepted_at_ms=at_ms,
        outcome=event.outcome,
        summary=event.summary,
        data=event.data,
        evidence=event.evidence,
    )


def _stopped(attempt: Attempt, at_ms: int) -> dict[str, Any]:
    """Stop the execution timeout and keep what is left of it.

    A wall clock that was set back must not add time, hence the floor at zero elapsed.
    """
    if attempt.running_since_ms is None:
        return {}
    elapsed = max(0, at_ms - attempt.running_since_ms)
    return {"remaining_ms": max(0, attempt.remaining_ms - elapsed), "running_since_ms": None}


def _request_fields(
    attempt: Attempt,
    event: ev.NativeRequestOpened | ev.NativeRequestAnswered | ev.NativeRequestClosed,
    at_ms: int,
) -> dict[str, Any]:
    if isinstance(event, ev.NativeRequestOpened):
        opened = OpenRequest(request=event.request, since_ms=at_ms)
        return {"requests": (*attempt.requests, opened), **_stopped(attempt, at_ms)}
    if isinstance(event, ev.NativeRequestAnswered):
        answer = {"answered": True, "allow": event.allow, "text": event.text}
        return {
            "requests": tuple(
                each.model_copy(update=answer)
                if each.request.request_id == event.request_id
                else each
                for each in attempt.requests
            )
        }
    left = tuple(e for e in attempt.requests if e.request.request_id != event.request_id)
    if left or attempt.status is not AttemptStatus.LAUNCHED or attempt.timed_out:
        return {"requests": left}
    return {"requests": left, "running_since_ms": at_ms}


def check_changes(visit: Visit, event: CheckEvent) -> dict[str, Any]:
    """Return what an event of a check changes in its visit."""
    if isinstance(event, ev.CheckStarted):
        started = CheckTry(
            check_id=event.check_id,
            try_number=event.try_number,
            status=CheckTryStatus.SCHEDULED,
        )
        return {"checks": (*visit.checks, started), "try_owed": False}
    check = visit.check
    assert check is not None, f"{visit.visit_id} has no check"
    assert check.check_id == event.check_id, f"{event.check_id} is not in force"
    match event:
        case ev.CheckLaunched():
            changes: dict[str, Any] = {"status": CheckTryStatus.LAUNCHED}
        case ev.CheckRefused():
            reason = f"{event.reason}: {event.message}"
            refused = CheckTryStatus.REFUSED
            changes = {"status": refused, "reason": reason, "unknown": event.unknown}
        case ev.CheckEnded():
            changes = {"status": CheckTryStatus.ENDED, "ended": event.state}
        case _:
            assert_never(event)
    return {"checks": (*visit.checks[:-1], check.model_copy(update=changes))}


def interruption_changes(tried: Tried, subject_id: str) -> dict[str, Any]:
    """Mark that the host has ended the processes of an attempt or a check."""
    attempt = tried.attempt
    if attempt is not None and attempt.attempt_id == subject_id:
        ended = attempt.model_copy(update={"interrupted": True})
        return {"attempts": (*tried.attempts[:-1], ended)}
    assert isinstance(tried, Visit), f"{subject_id} is not in force"
    visit, check = tried, tried.check
    assert check is not None, f"{subject_id} is not in force"
    assert check.check_id == subject_id, f"{subject_id} is not in force"
    return {"checks": (*visit.checks[:-1], check.model_copy(update={"interrupted": True}))}


def workspace_fields(event: WorkspaceEvent) -> dict[str, Any]:
    """Return what an event of a worktree changes in its state."""
    match event:
        case ev.WorkspacePrepared():
            return {
                "status": WorkspaceStatus.PREPARED,
                "path": event.path,
                "branch": event.branch,
            }
        case ev.WorkspaceRefused():
            return {
                "status": WorkspaceStatus.REFUSED,
                "detail": f"{event.reason}: {event.message}",
            }
        case ev.WorkspaceReleased():
            return {"status": WorkspaceStatus.RELEASED, "kept": event.kept, "detail": event.why}
        case _:
            assert_never(event)


def receipts(attempts: Iterable[Attempt]) -> dict[str, ReportReceipt]:
    """Return what is kept of earlier attempts: enough to answer an exact retry of a report."""
    return {
        attempt.attempt_id: ReportReceipt(
            receipt_id=attempt.report.receipt_id,
            retry_key=attempt.report.retry_key,
            payload_digest=attempt.report.payload_digest,
            accepted_at_ms=attempt.report.accepted_at_ms,
        )
        for attempt in attempts
        if attempt.report is not None
    }
