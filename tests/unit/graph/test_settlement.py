"""Settlement comes from the work aggregate alone: no claim, exit code or turn end is enough."""

import pytest

from pointsman.graph.made_up import turn
from pointsman.graph.run import RunState
from pointsman.graph.work import (
    BackgroundTask,
    Child,
    Finalization,
    HostRunStatus,
    NativeRequest,
    RequestKind,
    Stop,
    WorkFailure,
    WorkPhase,
)
from tests.harness.core import Process

APPROVAL = NativeRequest(
    request_id="q1", kind=RequestKind.APPROVAL, question="May I?", answerable="live"
)


@pytest.mark.parametrize(
    "unfinished",
    [
        {"runs": (turn(1, status=HostRunStatus.ACTIVE),)},
        {"runs": (turn(1).model_copy(update={"finalized": Finalization.PENDING}),)},
        {"children": (Child(child_id="c", settled=False),)},
        {"background": (BackgroundTask(task_id="b", description="server"),)},
        {"owed_wakes": 1},
        {"pending_checkpoints": 1},
        {"phase": WorkPhase.ACTIVE},
        {"pending_requests": (APPROVAL,)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_reported_attempt_with_unfinished_work_is_not_settled(
    unfinished: dict[str, object],
) -> None:
    process = Process().launch()
    process.report()
    process.observe(**unfinished)
    assert process.visit.node == "implement"
    assert process.state.state is RunState.RUNNING
    process.observe()
    assert process.visit.node == "tests"


@pytest.mark.parametrize(
    "ending, reason",
    [
        ({"runs": (turn(1, status=HostRunStatus.FAILED),)}, "work_failed"),
        ({"runs": (turn(1, status=HostRunStatus.INTERRUPTED),)}, "interrupted"),
        ({"runs": (turn(1, status=HostRunStatus.CANCELED),)}, "work_canceled"),
        ({"runs": (), "phase": WorkPhase.GONE}, "interrupted"),
        ({"phase": WorkPhase.GONE, "runs": (turn(1, status=HostRunStatus.ACTIVE),)}, "interrupted"),
        ({"stop": Stop(by="user")}, "interrupted"),
        ({"failure": WorkFailure(code="crash", message="it crashed")}, "work_failed"),
        (
            {"runs": (turn(1).model_copy(update={"finalized": Finalization.FAILED}),)},
            "work_failed",
        ),
    ],
    ids=[
        "failed",
        "interrupted",
        "canceled",
        "gone",
        "gone mid-turn",
        "stopped",
        "failure",
        "finalization",
    ],
)
def test_a_completed_claim_followed_by_a_bad_end_is_never_success(
    ending: dict[str, object], reason: str
) -> None:
    process = Process().launch()
    process.report(outcome="completed")
    process.observe(**ending)
    assert process.state.state is RunState.UNRESOLVED
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == reason
    assert "implement" not in process.state.results


def test_the_same_aggregate_told_twice_changes_nothing_the_second_time() -> None:
    process = Process().launch()
    process.observe(pending_requests=(APPROVAL,), phase=WorkPhase.WAITING_INPUT)
    version = process.state.version
    process.observe(pending_requests=(APPROVAL,), phase=WorkPhase.WAITING_INPUT)
    assert process.state.version == version


def test_work_of_another_attempt_settles_nothing() -> None:
    process = Process().launch()
    process.report()
    process.observe(attempt_id="r0-01hzzzzzzzzzzzzzzzzzzzzzzz.implement.9.1")
    assert process.visit.node == "implement"


def test_the_aggregate_that_justified_the_settlement_is_kept_in_the_trace() -> None:
    process = Process().work()
    settled = next(e.event for e in process.recorded if e.event.kind == "attempt_settled")
    assert settled.kind == "attempt_settled"
    assert settled.work is not None
    assert settled.work.phase is WorkPhase.QUIET


def test_an_agent_goes_next_whatever_outcome_it_claims() -> None:
    process = Process().work(outcome="failed")
    assert process.visit.node == "tests"
    assert process.state.results["implement"].model_dump()["outcome"] == "failed"


def test_a_settled_attempt_without_a_report_is_reminded_once_and_then_unresolved() -> None:
    process = Process().launch()
    process.observe()
    assert process.owed() == ["send_reminder"]
    process.observe()
    assert process.owed() == ["send_reminder"]
    process.take("send_reminder")
    first_turn_only = (turn(1),)
    process.observe(runs=first_turn_only)
    assert process.state.state is RunState.RUNNING, "the first settlement told again"
    process.observe()
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "report_missing"
    assert process.kinds().count("reminder_issued") == 1


def test_a_report_after_the_reminder_counts() -> None:
    process = Process().launch()
    process.observe()
    process.take("send_reminder")
    process.report()
    process.observe()
    assert process.visit.node == "tests"


def test_a_failed_attempt_without_a_report_is_not_reminded() -> None:
    process = Process().launch()
    process.observe(runs=(turn(1, status=HostRunStatus.FAILED),))
    assert "reminder_issued" not in process.kinds()
    assert process.state.state is RunState.UNRESOLVED


def test_a_reminder_that_the_host_refuses_leaves_the_report_missing() -> None:
    process = Process().launch()
    process.observe()
    process.refuse("send_reminder", "session_gone")
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "report_missing"
    assert "session_gone" in process.visit.unresolved.detail


@pytest.mark.parametrize("reported", [True, False])
@pytest.mark.parametrize(
    "told",
    [
        {},
        {"phase": WorkPhase.GONE},
        {"runs": (turn(1, status=HostRunStatus.FAILED),)},
        {"runs": (turn(1, status=HostRunStatus.INTERRUPTED),)},
        {"stop": Stop(by="user"), "resumable": True},
        {"stop": Stop(by="host")},
        {"failure": WorkFailure(code="agent_crashed", message="it ended")},
    ],
    ids=lambda told: " ".join(told) or "quiet",
)
def test_nothing_that_a_host_says_of_the_first_step_completes_the_run(
    told: dict[str, object], reported: bool
) -> None:
    process = Process().launch()
    if reported:
        process.report()
    for _ in range(3):
        if process.visit.node == "implement" and process.visit.attempt is not None:
            process.observe(**told)
    assert process.state.state is not RunState.COMPLETED
    assert "run_completed" not in process.kinds()
    assert process.visit.node in ("implement", "tests")
