"""Goal: a reviewer's absolute deadline ends it, wherever it stands, and nothing waits for more."""

from collections.abc import Callable

import pytest

from pointsman.graph import commands as cmd
from pointsman.graph.project import deadlines
from pointsman.graph.run import RunState
from pointsman.graph.work import NativeRequest, RequestKind, WorkPhase
from tests.harness.core import Process, code_of
from tests.harness.reviews import ReviewProcess, reviewed, reviewer

QUESTION = NativeRequest(
    request_id="q1", kind=RequestKind.INPUT, question="Which?", answerable="live"
)
GROUP = {"kind": "parallel", "freeze": "workspace", "join": "review"}


def ended_at_once(process: ReviewProcess) -> None:
    """Nothing of the branch can run, so the deadline alone ends it."""


def ended_by_the_host(process: ReviewProcess) -> None:
    """What may run is ended first, and the host is looked at once more."""
    assert [each.kind for each in process.owed_by("code")] == ["interrupt_execution"]
    assert process.ending("code") is None
    process.take_for("code", "interrupt_execution", left=0)
    if process.ending("code") is None:
        process.observe_branch("code", runs=(), phase=WorkPhase.QUIET)


def preparing(process: ReviewProcess) -> None:
    assert [each.kind for each in process.owed_by("code")] == ["prepare_workspace"]


def verifying(process: ReviewProcess) -> None:
    process.prepare("code")


def scheduled(process: ReviewProcess) -> None:
    process.prepare("code")
    process.verify("code")


def launched(process: ReviewProcess) -> None:
    process.launch_branch("code")


def reported(process: ReviewProcess) -> None:
    process.launch_branch("code")
    process.report_of("code")


def asking(process: ReviewProcess) -> None:
    process.launch_branch("code")
    process.observe_branch("code", phase=WorkPhase.WAITING_INPUT, pending_requests=(QUESTION,))


def answered(process: ReviewProcess) -> None:
    asking(process)
    attempt = process.attempt_of("code").attempt_id
    answer = cmd.AnswerNativeRequest(
        attempt_id=attempt, request_id="q1", allow=True, answered_by="ann"
    )
    assert code_of(process.send(answer)) == "accepted"


def about_to_be_reminded(process: ReviewProcess) -> None:
    process.launch_branch("code")
    process.observe_branch("code")


def reminded(process: ReviewProcess) -> None:
    about_to_be_reminded(process)
    process.take_for("code", "send_reminder")


def interrupted(process: ReviewProcess) -> None:
    process.launch_branch("code")
    process.stop("code")


def about_to_resume(process: ReviewProcess) -> None:
    interrupted(process)
    process.resume_branch("code")


def resumed(process: ReviewProcess) -> None:
    about_to_resume(process)
    process.take_for("code", "resume_execution", continuity="native")


def retried(process: ReviewProcess) -> None:
    interrupted(process)
    process.retry_branch("code")


def settled_but_not_verified(process: ReviewProcess) -> None:
    reported(process)
    process.observe_branch("code")


STANDS: dict[str, tuple[Callable[[ReviewProcess], None], Callable[[ReviewProcess], None]]] = {
    "preparing": (preparing, ended_at_once),
    "verifying": (verifying, ended_at_once),
    "scheduled": (scheduled, ended_by_the_host),
    "launched": (launched, ended_by_the_host),
    "reported": (reported, ended_by_the_host),
    "asking": (asking, ended_by_the_host),
    "answered": (answered, ended_by_the_host),
    "about to be reminded": (about_to_be_reminded, ended_by_the_host),
    "reminded": (reminded, ended_by_the_host),
    "interrupted": (interrupted, ended_at_once),
    "about to resume": (about_to_resume, ended_by_the_host),
    "resumed": (resumed, ended_by_the_host),
    "retried": (retried, ended_at_once),
    "settled, not verified": (settled_but_not_verified, ended_at_once),
}


@pytest.mark.parametrize("stands", STANDS)
def test_the_deadline_ends_a_branch_wherever_it_stands(stands: str) -> None:
    arrange, finish = STANDS[stands]
    process = ReviewProcess().fork().complete("security", "ux")
    arrange(process)
    assert code_of(process.pass_deadline("code")) == "accepted"
    finish(process)
    assert process.ending("code") == "unresolved deadline"
    assert process.visit.node == "review"
    process.see_head()
    assert process.review.outcome == "unresolved"
    assert process.state.state is RunState.UNRESOLVED
    assert code_of(process.report_of("code")) in ("settled", "conflict", "accepted")
    assert process.review.outcome == "unresolved"


@pytest.mark.parametrize("stands", STANDS)
def test_nothing_is_launched_for_a_branch_whose_deadline_has_passed(stands: str) -> None:
    arrange, finish = STANDS[stands]
    process = ReviewProcess().fork()
    arrange(process)
    late = [each.intent_id for each in process.owed_by("code")]
    process.pass_deadline("code")
    begun = {"launch_execution", "send_reminder", "resume_execution", "answer_request"}
    assert not begun & {each.kind for each in process.owed_by("code")}
    before = process.state
    for key in late:
        process.send(cmd.RecordUnknown(intent_id=key, why="late"))
    assert process.state.version == before.version, "what is answered late changes nothing"
    finish(process)
    assert "release_workspace" in [each.kind for each in process.owed_by("code")]


def test_the_deadline_counts_from_the_first_launch_and_is_set_once() -> None:
    process = ReviewProcess().fork()
    forked_at = process.now_ms
    assert process.branch("code").due_at_ms == forked_at + 7_200_000
    process.now_ms += 60_000
    process.launch_branch("code")
    due = process.branch("code").due_at_ms
    assert due == process.now_ms + 7_200_000
    process.now_ms += 60_000
    process.stop("code")
    process.retry_branch("code")
    process.verify("code")
    process.take_for("code", "launch_execution", host_run_id="2")
    assert process.branch("code").due_at_ms == due, "a retry buys no time"


def test_the_deadline_runs_while_a_person_is_asked_and_the_timeout_does_not() -> None:
    process = ReviewProcess().fork()
    asking(process)
    kinds = {each.kind.value for each in deadlines(process.state) if ".code" in each.deadline_id}
    assert kinds == {"branch_deadline"}


def test_a_deadline_may_be_shorter_or_longer_than_the_timeout() -> None:
    group = {**GROUP, "branches": {"code": reviewer(deadline="10m"), "ux": reviewer()}}
    process = ReviewProcess(reviewed(("code", "ux"), reviewers=group)).fork()
    process.launch_branch("code")
    assert code_of(process.pass_deadline("code", after_s=599)) == "not_due"
    assert code_of(process.pass_deadline("code", after_s=1)) == "accepted"


def test_a_deadline_comes_once_and_an_ended_branch_has_none() -> None:
    process = ReviewProcess().fork()
    launched(process)
    process.pass_deadline("code")
    version = process.state.version
    assert code_of(process.pass_deadline("code")) == "not_due"
    assert code_of(process.time_out("code")) == "not_due", "the deadline has ended the work"
    assert process.state.version == version
    process.complete("ux")
    assert code_of(process.pass_deadline("ux")) == "not_due"


def test_a_timeout_before_the_deadline_is_told_as_a_timeout() -> None:
    process = ReviewProcess().fork()
    launched(process)
    process.time_out("code")
    process.take_for("code", "interrupt_execution", left=0)
    process.observe_branch("code")
    assert process.ending("code") == "unresolved timed_out"


def test_an_agent_that_times_out_before_its_reminder_is_delivered_is_timed_out() -> None:
    process = Process().launch()
    process.observe()
    assert process.owed() == ["send_reminder"]
    process.now_ms += 7_200_000
    process.send(cmd.FireDeadline(deadline_id=f"{process.attempt.attempt_id}:timeout"))
    process.take("interrupt_execution", left=0)
    process.observe()
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "timed_out"
