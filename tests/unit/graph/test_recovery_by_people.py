"""Unresolved work has visible ways out: resume, retry, answer, cancel; bounds are never reset."""

import pytest

from pointsman.graph import commands as cmd
from pointsman.graph.allowed import allowed_actions
from pointsman.graph.made_up import turn
from pointsman.graph.project import project
from pointsman.graph.run import RunState
from pointsman.graph.work import (
    HostRunStatus,
    NativeRequest,
    RequestKind,
    Stop,
    WorkFailure,
    WorkPhase,
)
from tests.harness.core import Process, code_of, workflow

QUESTION = NativeRequest(
    request_id="q1", kind=RequestKind.APPROVAL, question="May I?", answerable="live"
)


def interrupted(resumable: bool = True) -> Process:
    process = Process().launch()
    process.observe(stop=Stop(by="user"), resumable=resumable)
    return process


def resume(process: Process) -> str:
    why = process.visit.unresolved
    assert why is not None
    return code_of(
        process.send(
            cmd.ResumeAttempt(
                attempt_id=process.attempt.attempt_id, revision=why.revision, requested_by="ann"
            )
        )
    )


def retry(process: Process) -> str:
    why = process.visit.unresolved
    return code_of(
        process.send(
            cmd.RetryVisit(
                visit_id=process.visit.visit_id,
                revision=why.revision if why is not None else 0,
                requested_by="ann",
            )
        )
    )


def actions(process: Process) -> list[str]:
    return [each.action.value for each in allowed_actions(process.state)]


def test_an_interrupted_attempt_offers_resume_only_when_the_host_proves_the_session() -> None:
    assert actions(interrupted()) == ["resume", "retry", "cancel"]
    assert actions(interrupted(resumable=False)) == ["retry", "cancel"]
    assert resume(interrupted(resumable=False)) == "not_allowed"


def test_a_persons_stop_is_never_followed_by_an_automatic_retry() -> None:
    process = interrupted()
    assert process.state.state is RunState.UNRESOLVED
    assert process.owed() == []


def test_resume_goes_on_in_the_same_attempt_without_a_visit() -> None:
    process = interrupted()
    visits, attempt = process.state.visits_used, process.attempt.attempt_id
    assert resume(process) == "accepted"
    process.take("resume_execution", continuity="native")
    process.report()
    process.observe()
    assert process.visit.node == "tests"
    assert process.state.visits_used == visits + 1, "only the next node's visit"
    assert attempt.endswith("implement.1.1")


def test_an_earlier_report_stands_after_a_resume() -> None:
    process = Process().launch()
    process.report()
    process.observe(stop=Stop(by="user"), resumable=True)
    assert process.state.state is RunState.UNRESOLVED
    resume(process)
    process.take("resume_execution", continuity="native")
    assert code_of(process.report(retry_key="other")) == "conflict"
    process.observe()
    assert process.visit.node == "tests"


@pytest.mark.parametrize("continuity", ["forked", "fresh", "impossible"])
def test_a_fresh_session_disguised_as_a_resume_is_refused(continuity: str) -> None:
    process = interrupted()
    resume(process)
    process.take("resume_execution", continuity=continuity)
    assert process.state.state is RunState.UNRESOLVED
    assert actions(process) == ["retry", "cancel"]


def test_resuming_does_not_renew_the_reminder() -> None:
    process = Process().launch()
    process.observe()
    process.take("send_reminder")
    process.observe(stop=Stop(by="user"), resumable=True)
    resume(process)
    process.take("resume_execution", continuity="native")
    process.observe()
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "report_missing"
    assert process.kinds().count("reminder_issued") == 1


def test_retry_is_a_new_attempt_in_the_same_visit_and_counts_as_one_visit() -> None:
    process = interrupted()
    visits, inputs = process.state.visits_used, process.visit.inputs
    assert retry(process) == "accepted"
    assert process.visit.visit_id.endswith("implement.1")
    assert process.attempt.attempt_id.endswith("implement.1.2")
    assert process.visit.inputs == inputs
    assert process.state.visits_used == visits + 1


def test_retry_is_not_offered_when_no_visit_is_left() -> None:
    process = Process(workflow(visits={"max": 1})).launch()
    process.observe(stop=Stop(by="user"))
    assert actions(process) == ["cancel"]
    assert retry(process) == "not_allowed"


def test_an_action_with_an_old_revision_changes_nothing() -> None:
    process = interrupted()
    stale = cmd.RetryVisit(visit_id=process.visit.visit_id, revision=1, requested_by="ann")
    assert code_of(process.send(stale)) == "stale_revision"


def test_a_refused_workspace_is_unresolved_and_a_retry_asks_under_a_new_key() -> None:
    process = Process()
    first = process.intent("prepare_workspace").intent_id
    process.refuse("prepare_workspace", "setup_failed")
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "workspace_refused"
    assert retry(process) == "accepted"
    assert process.intent("prepare_workspace").intent_id != first


def test_a_launch_that_the_host_cannot_account_for_is_unresolved_and_never_rekeyed() -> None:
    process = Process()
    process.take("prepare_workspace", path="/w", branch="b", head_commit="c")
    key = process.intent("launch_execution").intent_id
    process.send(cmd.RecordUnknown(intent_id=key, why="records are unreadable"))
    assert actions(process) == ["cancel"], "a retry beside it might be a second agent"
    process.take("interrupt_execution", left=0)
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "launch_unknown"
    assert process.owed() == []


def test_a_check_that_the_host_cannot_account_for_is_ended_before_a_person_may_start_another() -> (
    None
):
    process = Process().work()
    key = process.intent("start_check").intent_id
    process.send(cmd.RecordUnknown(intent_id=key, why="records are unreadable"))
    assert process.owed() == ["cancel_check"]
    process.take("cancel_check", left=0)
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "check_refused"


def test_a_reminder_nobody_can_tell_of_is_ended_before_it_is_unresolved() -> None:
    process = Process().launch()
    process.observe()
    key = process.intent("send_reminder").intent_id
    process.send(cmd.RecordUnknown(intent_id=key, why="records are unreadable"))
    process.observe()
    assert actions(process) == ["cancel"], "its turn may have begun"
    assert process.owed() == ["interrupt_execution"]
    process.take("interrupt_execution", left=0)
    process.observe(stop=Stop(by="engine"))
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "interrupted"
    assert "records are unreadable" in process.visit.unresolved.detail


def test_a_resume_nobody_can_tell_of_is_ended_before_another_is_offered() -> None:
    process = Process().launch()
    process.observe(stop=Stop(by="user"), resumable=True)
    resume(process)
    key = process.intent("resume_execution").intent_id
    process.send(cmd.RecordUnknown(intent_id=key, why="records are unreadable"))
    assert process.owed() == ["interrupt_execution"]
    process.take("interrupt_execution", left=0)
    process.observe(stop=Stop(by="engine"), resumable=True)
    assert actions(process) == ["resume", "retry", "cancel"]


def test_a_native_request_is_visible_and_answering_it_adds_no_visit() -> None:
    process = Process().launch()
    process.observe(pending_requests=(QUESTION,), phase=WorkPhase.WAITING_INPUT)
    assert [each.kind.value for each in project(process.state).attention] == ["native_request"]
    assert actions(process) == ["answer", "cancel"]
    answer = cmd.AnswerNativeRequest(
        attempt_id=process.attempt.attempt_id, request_id="q1", allow=True, answered_by="ann"
    )
    visits = process.state.visits_used
    assert code_of(process.send(answer)) == "accepted"
    assert process.owed() == ["answer_request"]
    assert code_of(process.send(answer)) == "request_answered"
    process.take("answer_request")
    assert process.state.visits_used == visits
    assert project(process.state).attention == ()
    assert code_of(process.send(answer)) == "request_unknown"


def test_a_request_that_can_no_longer_be_answered_refuses_answers() -> None:
    process = Process().launch()
    lost = QUESTION.model_copy(update={"answerable": "no"})
    process.observe(pending_requests=(lost,), phase=WorkPhase.WAITING_INPUT)
    answer = cmd.AnswerNativeRequest(
        attempt_id=process.attempt.attempt_id, request_id="q1", allow=True, answered_by="ann"
    )
    assert code_of(process.send(answer)) == "not_allowed"
    assert actions(process) == ["cancel"]


def test_an_unresolved_route_is_taken_at_once_and_reports_no_result() -> None:
    nodes = workflow().model_dump(mode="json", exclude_none=True)["nodes"]
    nodes["implement"]["unresolved"] = "look"
    process = Process(workflow(nodes=nodes)).launch()
    process.observe(stop=Stop(by="user"))
    assert process.visit.node == "look"
    assert "implement" not in process.state.results


def lost_with_policy(maximum: int) -> Process:
    nodes = workflow().model_dump(mode="json", exclude_none=True)["nodes"]
    nodes["implement"]["resume"] = {"max": maximum}
    return Process(workflow(nodes=nodes)).launch()


LOST = {
    "runs": (turn(1, status=HostRunStatus.INTERRUPTED),),
    "failure": WorkFailure(code="process_lost", message="the process is gone"),
}


def test_a_lost_session_goes_on_by_itself_only_as_often_as_the_author_allows() -> None:
    process = lost_with_policy(1)
    visits = process.state.visits_used
    process.observe(**LOST, resumable=True)
    assert process.owed() == ["resume_execution"]
    process.take("resume_execution", continuity="native")
    first, resumed = process.aggregate().runs
    lost_again = resumed.model_copy(update={"status": HostRunStatus.INTERRUPTED})
    process.observe(runs=(first, lost_again), failure=LOST["failure"], resumable=True)
    assert process.state.state is RunState.UNRESOLVED
    assert actions(process) == ["resume", "retry", "cancel"]
    assert process.state.visits_used == visits


def test_a_lost_session_that_cannot_be_proven_or_was_stopped_does_not_go_on_by_itself() -> None:
    process = lost_with_policy(3)
    process.observe(**LOST, resumable=False)
    assert process.state.state is RunState.UNRESOLVED
    process = lost_with_policy(3)
    process.observe(stop=Stop(by="user"), resumable=True)
    assert process.state.state is RunState.UNRESOLVED
