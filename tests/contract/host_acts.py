"""What the tests of the hosts' contract order of a host, each in one line."""

from typing import Any

from pointsman.graph import intents
from pointsman.graph.settlement import Settled, SettlementOutcome, settlement
from pointsman.graph.work import (
    Found,
    NotFound,
    Receipt,
    ReceiptStatus,
    Unknown,
    WorkAggregate,
    WorkPhase,
)
from tests.contract.host_sides import Play, WorkSide
from tests.harness.hosts import ATTEMPT, CHECK, NOWHERE, RUN, WORKSPACE


def launch(side: WorkSide, play: Play, **changes: Any) -> Receipt:
    order = side.launch_order(play).model_copy(update=changes)
    return side.answer(side.host.launch(order, NOWHERE))


def at_work(side: WorkSide, play: Play = Play.WORKS) -> Receipt:
    """Launch an agent and wait until it is at work."""
    receipt = launch(side, play)
    assert receipt.status is ReceiptStatus.ACCEPTED
    side.until(lambda work: side.begun == 1)
    return receipt


def quiet(side: WorkSide) -> WorkAggregate:
    return side.until(lambda work: work.phase is WorkPhase.QUIET)


def seen(side: WorkSide, attempt_id: str = ATTEMPT) -> WorkAggregate:
    return side.answer(side.host.inspect(attempt_id))


def found(side: WorkSide, key: str) -> Found | NotFound | Unknown:
    return side.answer(side.host.lookup(key))


def ordered(kind: Any, key: str, **fields: Any) -> Any:
    return kind(intent_id=f"wf:{ATTEMPT}:{key}", run_id=RUN, attempt_id=ATTEMPT, **fields)


def send(side: WorkSide, key: str = "remind") -> Receipt:
    return side.answer(side.host.send(ordered(intents.SendReminder, key, text="Report."), NOWHERE))


def resume(side: WorkSide, key: str = "resume") -> Receipt:
    return side.answer(side.host.resume(ordered(intents.ResumeExecution, key), NOWHERE))


def interrupt(side: WorkSide, key: str = "interrupt") -> Receipt:
    order = ordered(intents.InterruptExecution, key, reason="canceled")
    return side.answer(side.host.interrupt(order))


def answer(side: WorkSide, request_id: str, key: str, *, allow: bool = True) -> Receipt:
    order = ordered(intents.AnswerRequest, key, request_id=request_id, allow=allow, text=None)
    return side.answer(side.host.answer(order))


def start_check(side: WorkSide, *, ends: bool, **changes: Any) -> Receipt:
    order = side.check_order(ends=ends).model_copy(update=changes)
    return side.answer(side.host.start_check(order))


def cancel_check(side: WorkSide) -> Receipt:
    order = intents.CancelCheck(intent_id=f"wf:{CHECK}:cancel", run_id=RUN, check_id=CHECK)
    return side.answer(side.host.cancel_check(order))


def release(side: WorkSide, key: str = "release") -> Receipt:
    order = intents.ReleaseWorkspace(
        intent_id=f"{WORKSPACE}:{key}", run_id=RUN, workspace_key=WORKSPACE
    )
    return side.answer(side.host.release_workspace(order))


def outcome(work: WorkAggregate) -> SettlementOutcome | None:
    judged = settlement(work)
    return judged.outcome if isinstance(judged, Settled) else None
