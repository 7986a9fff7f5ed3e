"""Settlement: whether the host's work for an attempt is quiet, and how it ended.

A pure function of the work aggregate and our own open follow-ups (``wf-host/1`` §1),
evaluated at every wake. Neither a turn's end, nor an exit code of 0, nor an accepted report
is settlement by itself.
"""

from enum import StrEnum
from typing import Final

from pointsman.graph.model import Model
from pointsman.graph.work import (
    Finalization,
    HostRunStatus,
    WorkAggregate,
    WorkPhase,
)

PROCESS_LOST: Final = "process_lost"


class SettlementOutcome(StrEnum):
    """How an attempt's work ended. Only ``succeeded`` lets its report count."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    CANCELED = "canceled"
    TIMED_OUT = "timed_out"


class Settled(Model):
    """The work is quiet."""

    outcome: SettlementOutcome
    reason: str | None = None


class Unsettled(Model):
    """Something is still owed; ``waiting_for`` names it."""

    waiting_for: tuple[str, ...]


def settlement(work: WorkAggregate, expected_keys: tuple[str, ...] = ()) -> Settled | Unsettled:
    """Judge one aggregate.

    ``expected_keys`` are the effects whose turns must be among the runs (a delivered reminder,
    a resume): else an aggregate read before the host began such a turn would count as its end.
    Of work that is gone nothing can be owed any more, even if a turn was never told to have ended.
    """
    owed = _owed(work, expected_keys) if work.phase is not WorkPhase.GONE else []
    if owed:
        return Unsettled(waiting_for=tuple(owed))
    return _ending(work)


def was_lost(work: WorkAggregate) -> bool:
    """Whether the work's process was lost without anybody having stopped it."""
    return work.stop is None and work.failure is not None and work.failure.code == PROCESS_LOST


def _owed(work: WorkAggregate, expected_keys: tuple[str, ...]) -> list[str]:
    owed = [f"turn {run.ordinal}" for run in work.runs if run.status is HostRunStatus.ACTIVE]
    owed += [
        f"book-keeping of turn {run.ordinal}"
        for run in work.runs
        if run.finalized is Finalization.PENDING
    ]
    owed += [f"sub-agent {child.child_id}" for child in work.children if not child.settled]
    owed += [f"background task {task.task_id}" for task in work.background]
    owed += [f"native request {request.request_id}" for request in work.pending_requests]
    if work.owed_wakes:
        owed.append(f"{work.owed_wakes} owed wakes")
    if work.pending_checkpoints:
        owed.append(f"{work.pending_checkpoints} checkpoints")
    if work.phase in (WorkPhase.PREPARING, WorkPhase.ACTIVE, WorkPhase.WAITING_INPUT):
        owed.append(f"phase {work.phase}")
    begun = {run.cause_key for run in work.runs}
    owed += [f"the turn of {key}" for key in expected_keys if key not in begun]
    return owed


def _ending(work: WorkAggregate) -> Settled:
    if work.stop is not None:
        return Settled(
            outcome=SettlementOutcome.INTERRUPTED, reason=f"stopped by the {work.stop.by}"
        )
    last = max(work.runs, key=lambda run: run.ordinal, default=None)
    if last is None or work.phase is WorkPhase.GONE:
        return Settled(
            outcome=SettlementOutcome.INTERRUPTED,
            reason=work.failure.message if work.failure else "the host has no work left for it",
        )
    if last.status is HostRunStatus.INTERRUPTED:
        return Settled(outcome=SettlementOutcome.INTERRUPTED, reason=_why(work, "interrupted"))
    if last.status is HostRunStatus.CANCELED:
        return Settled(outcome=SettlementOutcome.CANCELED, reason=_why(work, "canceled"))
    if last.status is HostRunStatus.FAILED or last.finalized is Finalization.FAILED:
        return Settled(outcome=SettlementOutcome.FAILED, reason=_why(work, "failed"))
    if work.failure is not None:
        return Settled(outcome=SettlementOutcome.FAILED, reason=work.failure.message)
    return Settled(outcome=SettlementOutcome.SUCCEEDED)


def _why(work: WorkAggregate, fallback: str) -> str:
    return work.failure.message if work.failure is not None else f"the last turn {fallback}"
