"""What the host's work looks like now: native requests, settlement, ended checks.

Level-triggered: the same aggregate said twice changes nothing the second time.
"""

from pointsman.graph.attempt import Attempt, AttemptStatus, ReminderStatus, limit_in_words
from pointsman.graph.commands import ObserveCheck, ObserveWork
from pointsman.graph.events import (
    AttemptSettled,
    CheckEnded,
    Event,
    NativeRequestClosed,
    NativeRequestOpened,
    ReminderIssued,
)
from pointsman.graph.owed import expected_turns, turns_begun
from pointsman.graph.rejections import Rejected, RejectionCode
from pointsman.graph.replies import Accepted, Reply, Verdict
from pointsman.graph.run import CheckTryStatus, Run
from pointsman.graph.settlement import Settled, SettlementOutcome, settlement
from pointsman.graph.tried import attempt_in_force
from pointsman.graph.work import CheckExited, CheckLost, CheckNotStarted, WorkAggregate


def observe_work(run: Run, command: ObserveWork) -> Verdict:
    """Take an aggregate in: open and close native requests, remind, or settle.

    After a cancel it changes nothing: the run's way out is the end of its processes.
    """
    attempt = attempt_in_force(run, command.work.attempt_id)
    if attempt is None or attempt.status is not AttemptStatus.LAUNCHED:
        return _not_current(command.work.attempt_id)
    if command.turns_begun not in (None, turns_begun(attempt)):
        return _not_current(f"what was seen of {command.work.attempt_id} before its latest turn")
    events: tuple[Event, ...] = ()
    if run.cancellation is None and (not attempt.resume_owed or _over(attempt)):
        events = (*_requests(attempt, command.work), *_settle(attempt, command.work))
    return Accepted(events=events, reply=Reply(run_id=run.run_id))


def _not_current(what: str) -> Rejected:
    return Rejected(code=RejectionCode.NOT_CURRENT, message=f"{what} is not the work in force")


def _requests(attempt: Attempt, work: WorkAggregate) -> tuple[Event, ...]:
    known = {each.request.request_id: each for each in attempt.requests}
    pending = {request.request_id: request for request in work.pending_requests}
    opened = tuple(
        NativeRequestOpened(attempt_id=attempt.attempt_id, request=request)
        for key, request in pending.items()
        if key not in known
    )
    # One that a person has answered is closed by the receipt of its delivery.
    closed = tuple(
        NativeRequestClosed(attempt_id=attempt.attempt_id, request_id=key)
        for key, each in known.items()
        if key not in pending and not each.answered
    )
    return (*opened, *closed)


def _over(attempt: Attempt) -> bool:
    """Tell whether a limit has ended the work, whatever else was still to be brought to it.

    A reminder, an answer or a resume that was owed when the limit came is never issued any more,
    so nothing may wait for it.
    """
    return (attempt.timed_out or attempt.turn_unknown is not None) and attempt.interrupted


def _settle(attempt: Attempt, work: WorkAggregate) -> tuple[Event, ...]:
    over = _over(attempt)
    if attempt.turn_unknown is not None and not over:
        return ()
    follow_up = attempt.reminder is ReminderStatus.OWED or any(e.answered for e in attempt.requests)
    if follow_up and not over:
        return ()
    judged = settlement(work, () if over else expected_turns(attempt))
    if not isinstance(judged, Settled):
        return ()
    outcome = SettlementOutcome.TIMED_OUT if attempt.timed_out else judged.outcome
    if attempt.turn_unknown is not None and not attempt.timed_out:
        outcome = SettlementOutcome.INTERRUPTED
    unreported = attempt.report is None and attempt.reminder is ReminderStatus.UNUSED
    if outcome is SettlementOutcome.SUCCEEDED and unreported:
        return (ReminderIssued(attempt_id=attempt.attempt_id),)
    reason = attempt.turn_unknown or judged.reason
    if attempt.timed_out:
        reason = limit_in_words(attempt)
    return (
        AttemptSettled(attempt_id=attempt.attempt_id, outcome=outcome, reason=reason, work=work),
    )


def observe_check(run: Run, command: ObserveCheck) -> Verdict:
    """Take a check's state in; only one that was launched can end."""
    check = run.visit.check if run.visit is not None else None
    current = check is not None and check.check_id == command.check_id
    if not current or check is None or check.status is not CheckTryStatus.LAUNCHED:
        return _not_current(command.check_id)
    reply = Reply(run_id=run.run_id)
    if run.cancellation is not None:
        return Accepted(events=(), reply=reply)
    match command.state:
        case CheckExited() | CheckLost() as state:
            return Accepted(events=(CheckEnded(check_id=check.check_id, state=state),), reply=reply)
        case CheckNotStarted():
            # The host had taken the order, yet now proves that nothing was ever run.
            return Accepted(
                events=(CheckEnded(check_id=check.check_id, state=CheckLost()),), reply=reply
            )
        case _:
            return Accepted(events=(), reply=reply)
