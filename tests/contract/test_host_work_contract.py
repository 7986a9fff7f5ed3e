"""Goal: agents begin once, end as told and go on as told, on both hosts that have any.

Method: the same sentences for the local host with its processes and for the simulated one, on
which everything that the simulation says rests.
"""

import pytest

from pointsman.graph.settlement import SettlementOutcome, Unsettled, settlement
from pointsman.graph.work import (
    Found,
    HostRunCause,
    HostRunStatus,
    NotFound,
    ReceiptStatus,
    Stop,
    Unknown,
    WorkPhase,
)
from tests.contract.host_acts import (
    answer,
    at_work,
    found,
    interrupt,
    launch,
    outcome,
    quiet,
    resume,
    seen,
    send,
)
from tests.contract.host_sides import Play, WorkSide, again, own, prepare
from tests.harness.hosts import ATTEMPT, NOWHERE, RUN

OTHER = f"{ATTEMPT[:-1]}2"
INTERRUPTED, ENDED = HostRunStatus.INTERRUPTED, HostRunStatus.COMPLETED


def test_a_key_launches_once_and_is_answered_the_same_ever_after(side: WorkSide) -> None:
    key = f"wf:{ATTEMPT}:launch"
    assert found(side, key) == NotFound()
    first = at_work(side)
    assert first.host_ref == {"thread_id": f"wf-{ATTEMPT}", "host_run_id": f"{ATTEMPT}-t1"}
    assert launch(side, Play.WORKS) == again(first)
    side.restart()
    assert launch(side, Play.WORKS) == again(first)
    assert found(side, key) == Found(receipt=first)
    side.let_go()
    work = quiet(side)
    assert outcome(work) is SettlementOutcome.SUCCEEDED
    assert [(run.cause, run.cause_key) for run in work.runs] == [(HostRunCause.LAUNCH, key)]
    assert work.head_commit == side.base
    assert side.begun == 1


def test_an_attempt_is_launched_by_one_key(side: WorkSide) -> None:
    at_work(side)
    assert launch(side, Play.WORKS, intent_id="another").reason == "key_reused"
    assert (len(seen(side).runs), side.begun) == (1, 1)


def test_a_key_that_stands_for_something_else_is_refused_and_keeps_its_answer(
    side: WorkSide,
) -> None:
    first = at_work(side, Play.ENDS)
    stolen = side.launch_order(Play.ENDS, OTHER).model_copy(
        update={"intent_id": first.idempotency_key}
    )
    assert side.answer(side.host.launch(stolen, NOWHERE)).reason == "key_reused"
    assert interrupt(side, "launch").reason == "key_reused"
    assert found(side, first.idempotency_key) == Found(receipt=first)
    assert seen(side, OTHER).phase is WorkPhase.GONE
    assert seen(side).stop is None


def test_what_cannot_be_read_is_unknown_and_never_not_found(side: WorkSide) -> None:
    key = at_work(side, Play.ENDS).idempotency_key
    quiet(side)
    side.lose_record(key)
    assert isinstance(found(side, key), Unknown)


def test_a_launch_without_its_worktree_stays_refused_under_its_key(side: WorkSide) -> None:
    elsewhere = f"wf:{RUN}:elsewhere"
    refused = launch(side, Play.ENDS, workspace_key=elsewhere)
    assert (refused.status, refused.reason) == (ReceiptStatus.REJECTED, "workspace_missing")
    prepared = own(side).model_copy(
        update={"workspace_key": elsewhere, "intent_id": "elsewhere", "branch": "elsewhere"}
    )
    assert prepare(side, prepared).status is ReceiptStatus.ACCEPTED
    assert launch(side, Play.ENDS, workspace_key=elsewhere) == refused
    assert found(side, refused.idempotency_key) == Found(receipt=refused)
    assert (seen(side).phase, side.begun) == (WorkPhase.GONE, 0)


def test_an_interruption_before_the_launch_keeps_it_from_ever_beginning(side: WorkSide) -> None:
    assert interrupt(side).host_ref == {"left": 0}
    assert launch(side, Play.ENDS).reason == "interrupted"
    work = seen(side)
    assert (work.phase, work.stop) == (WorkPhase.QUIET, Stop(by="engine"))
    assert [(run.status, run.cause) for run in work.runs] == [(INTERRUPTED, HostRunCause.LAUNCH)]
    assert outcome(work) is SettlementOutcome.INTERRUPTED
    assert side.begun == 0


@pytest.mark.parametrize("play", [Play.WORKS, Play.LEAVES], ids=lambda play: play.name)
def test_an_interruption_is_answered_when_nothing_is_left(side: WorkSide, play: Play) -> None:
    at_work(side, play)
    if play is Play.LEAVES:
        side.until(lambda work: work.background)
    before = seen(side)
    assert before.phase is WorkPhase.ACTIVE
    assert isinstance(settlement(before), Unsettled)
    first = interrupt(side)
    assert first.host_ref == {"left": 0}
    assert interrupt(side) == again(first)
    work = seen(side)
    assert (work.phase, work.stop, work.background) == (WorkPhase.QUIET, Stop(by="engine"), ())
    assert (work.runs[0].status, work.resumable) == (INTERRUPTED, True)
    assert work.failure is None
    assert work.host_sequence > before.host_sequence
    assert send(side).reason == "interrupted"


def test_interrupting_work_that_is_over_only_keeps_it_from_being_reminded(side: WorkSide) -> None:
    at_work(side, Play.ENDS)
    before = quiet(side)
    assert interrupt(side).host_ref == {"left": 0}
    after = seen(side)
    assert (after.runs, after.stop, after.resumable) == (before.runs, None, False)
    assert outcome(after) is SettlementOutcome.SUCCEEDED
    assert send(side).reason == "interrupted"
    assert resume(side).reason == "not_interrupted"


@pytest.mark.parametrize("play", [Play.LOST, Play.STOPPED], ids=lambda play: play.name)
def test_interrupting_work_that_was_cut_off_does_not_change_who_did_it(
    side: WorkSide, play: Play
) -> None:
    at_work(side, play)
    before = quiet(side)
    interrupt(side)
    after = seen(side)
    assert (after.stop, after.failure) == (before.stop, before.failure)


def test_what_the_agent_left_running_is_waited_for(side: WorkSide) -> None:
    at_work(side, Play.LEAVES)
    work = side.until(lambda work: work.background)
    assert (work.phase, work.runs[0].status) == (WorkPhase.ACTIVE, ENDED)
    assert isinstance(settlement(work), Unsettled)
    side.let_go()
    assert outcome(quiet(side)) is SettlementOutcome.SUCCEEDED


@pytest.mark.parametrize(
    "play, status, stop, failure",
    [
        (Play.ENDS, ENDED, None, None),
        (Play.FAILS, HostRunStatus.FAILED, None, "agent_failed"),
        (Play.LOST, INTERRUPTED, None, "process_lost"),
        (Play.STOPPED, INTERRUPTED, Stop(by="user"), None),
    ],
    ids=lambda value: value.name if isinstance(value, Play) else "",
)
def test_an_end_is_told_with_who_or_what_made_it(
    side: WorkSide, play: Play, status: HostRunStatus, stop: Stop | None, failure: str | None
) -> None:
    at_work(side, play)
    work = quiet(side)
    assert [run.status for run in work.runs] == [status]
    assert work.stop == stop
    assert (work.failure.code if work.failure is not None else None) == failure
    assert work.resumable is (status is INTERRUPTED)
    assert work.session_id is not None
    reminded = send(side)
    assert reminded.reason == ("interrupted" if status is INTERRUPTED else None)


def test_a_reminder_is_a_further_turn_of_its_own_key(side: WorkSide) -> None:
    at_work(side, Play.ENDS)
    before = quiet(side)
    first = send(side)
    assert first.host_ref == {"host_run_id": f"{ATTEMPT}-t2"}
    assert send(side) == again(first)
    work = side.until(lambda work: side.begun == 2 and work.phase is WorkPhase.QUIET)
    assert work.runs[0] == before.runs[0]
    told = work.runs[1]
    assert (told.cause, told.cause_key) == (HostRunCause.WORKFLOW_MESSAGE, first.idempotency_key)
    assert work.session_id == before.session_id
    assert work.host_sequence > before.host_sequence
    assert outcome(work) is SettlementOutcome.SUCCEEDED


def test_no_further_turn_begins_beside_another_or_without_a_first(side: WorkSide) -> None:
    assert send(side, "early").reason == "attempt_unknown"
    impossible = resume(side, "early too")
    assert impossible.reason == "attempt_unknown"
    assert impossible.host_ref == {"continuity": "impossible"}
    at_work(side)
    assert send(side).reason == "attempt_active"
    assert resume(side).reason == "attempt_active"
    assert (len(seen(side).runs), side.begun) == (1, 1)


def test_a_resume_goes_on_with_what_was_interrupted_and_only_that(side: WorkSide) -> None:
    at_work(side)
    interrupt(side)
    first = resume(side)
    assert first.host_ref == {"continuity": "native", "host_run_id": f"{ATTEMPT}-t2"}
    assert resume(side) == again(first)
    work = seen(side)
    assert (work.phase, work.stop, work.resumable) == (WorkPhase.ACTIVE, None, False)
    side.let_go()
    work = quiet(side)
    assert [run.status for run in work.runs] == [INTERRUPTED, ENDED]
    assert (work.runs[1].cause, work.stop) == (HostRunCause.RESUME, None)
    assert outcome(work) is SettlementOutcome.SUCCEEDED
    assert resume(side, "more").reason == "not_interrupted"
    assert send(side).status is ReceiptStatus.ACCEPTED, "the interruption is past"


def test_a_question_is_answered_once_and_while_somebody_waits_for_it(side: WorkSide) -> None:
    at_work(side, Play.ASKS)
    work = side.until(lambda work: work.pending_requests)
    assert work.phase is WorkPhase.WAITING_INPUT
    assert isinstance(settlement(work), Unsettled)
    request_id = work.pending_requests[0].request_id
    first = answer(side, request_id, "a1")
    assert first.status is ReceiptStatus.ACCEPTED
    assert answer(side, request_id, "a1") == again(first)
    work = quiet(side)
    assert (work.pending_requests, len(work.runs)) == ((), 1)
    assert outcome(work) is SettlementOutcome.SUCCEEDED
    assert answer(side, request_id, "a2").reason == "request_gone"
    assert answer(side, f"{request_id}7", "a3").reason == "request_unknown"


def test_a_question_that_is_answered_with_no_may_fail_the_agent(side: WorkSide) -> None:
    at_work(side, Play.ASKS)
    work = side.until(lambda work: work.pending_requests)
    answer(side, work.pending_requests[0].request_id, "no", allow=False)
    assert quiet(side).runs[0].status is HostRunStatus.FAILED


def test_a_question_ends_with_the_work_that_asked_it(side: WorkSide) -> None:
    at_work(side, Play.ASKS)
    request_id = side.until(lambda work: work.pending_requests).pending_requests[0].request_id
    interrupt(side)
    assert seen(side).pending_requests == ()
    assert answer(side, request_id, "late").reason == "request_gone"


def test_the_sequence_never_goes_back_and_moves_with_each_change(side: WorkSide) -> None:
    told = [seen(side).host_sequence]
    at_work(side)
    told.append(seen(side).host_sequence)
    interrupt(side)
    told.append(seen(side).host_sequence)
    side.restart()
    resume(side)
    told.append(seen(side).host_sequence)
    side.let_go()
    told.append(quiet(side).host_sequence)
    assert told == sorted(set(told))
    assert seen(side).host_sequence == told[-1]
