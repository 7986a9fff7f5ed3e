"""Goal: an interrupted reviewer stays open for Resume and Retry, and holds up only its join."""

from typing import Any

import pytest

from pointsman.graph import commands as cmd
from pointsman.graph.intents import LaunchExecution, VerifyCheckout
from pointsman.graph.made_up import turn
from pointsman.graph.owed import owed_intents
from pointsman.graph.project import project
from pointsman.graph.work import HostRunStatus, NativeRequest, RequestKind, WorkFailure, WorkPhase
from tests.harness.core import code_of
from tests.harness.reviews import BRANCHES, FROZEN, OTHER, ReviewProcess, reviewed, reviewer

GROUP: dict[str, Any] = {"kind": "parallel", "freeze": "workspace", "join": "review"}
LOST = WorkFailure(code="process_lost", message="its process is gone")


def with_code(visits_max: int = 100, **code: Any) -> ReviewProcess:
    branches = {**{each: reviewer() for each in BRANCHES}, "code": reviewer(**code)}
    top = {"visits": {"max": visits_max, "at_limit": "look"}}
    made = reviewed(top=top, reviewers={**GROUP, "branches": branches})
    return ReviewProcess(made).fork().launch_branch("code")


def stopped(**changes: Any) -> ReviewProcess:
    process = with_code(**changes)
    process.stop("code")
    return process


def lose(process: ReviewProcess, *, resumable: bool = True) -> None:
    gone = {"phase": WorkPhase.GONE, "failure": LOST, "resumable": resumable}
    process.observe_branch("code", **gone)


def state_of(process: ReviewProcess) -> str:
    return process.state.state.value


def attention(process: ReviewProcess) -> list[tuple[str, str | None, str]]:
    items = project(process.state).attention
    return [(each.kind.value, each.branch, each.title) for each in items]


def test_an_interrupted_reviewer_stays_open_with_an_attention_item_of_its_own() -> None:
    process = stopped()
    assert process.ending("code") is None
    assert attention(process) == [
        ("unresolved", "code", "reviewers code is unresolved: interrupted")
    ]
    assert process.actions() == [
        ("resume", "reviewers.1.code.1"),
        ("retry", "reviewers.1.code"),
        ("cancel", ""),
    ]
    assert process.owed_by("code") == []


def test_the_run_is_running_while_others_work_and_unresolved_when_only_interrupted_are_left() -> (
    None
):
    process = stopped()
    assert state_of(process) == "running"
    process.complete("security")
    assert state_of(process) == "running"
    process.complete("ux")
    assert process.visit.node == "reviewers"
    assert state_of(process) == "unresolved"
    shown = project(process.state)
    assert shown.summary.open_work == ()
    assert [each.deadline_id.rpartition(".")[2] for each in shown.deadlines] == ["code:deadline"]
    process.retry_branch("code")
    assert state_of(process) == "running"


def test_two_interrupted_reviewers_are_two_items_and_are_helped_one_by_one() -> None:
    process = stopped().launch_branch("ux")
    process.stop("ux", resumable=False)
    assert [each[1] for each in attention(process)] == ["code", "ux"]
    assert process.actions() == [
        ("resume", "reviewers.1.code.1"),
        ("retry", "reviewers.1.code"),
        ("retry", "reviewers.1.ux"),
        ("cancel", ""),
    ]
    process.retry_branch("ux")
    assert [each[1] for each in attention(process)] == ["code"]
    assert process.branch("code").unresolved is not None


def test_a_resume_goes_on_in_the_same_attempt_without_a_visit_and_may_then_complete() -> None:
    process = with_code()
    process.report_of("code")
    process.stop("code")
    visits = process.state.visits_used
    assert code_of(process.resume_branch("code")) == "accepted"
    process.take_for("code", "resume_execution", continuity="native")
    assert process.state.visits_used == visits
    process.observe_branch("code", runs=(turn(1),))
    assert process.ending("code") is None, "what was quiet before the resume is not its end"
    process.settle("code")
    assert process.ending("code") == "completed", "its earlier report stands"
    assert len(process.branch("code").attempts) == 1


def test_a_resume_of_another_session_is_refused_and_offered_no_more() -> None:
    process = stopped()
    process.resume_branch("code")
    process.take_for("code", "resume_execution", continuity="fresh")
    assert process.ending("code") is None
    assert process.actions() == [("retry", "reviewers.1.code"), ("cancel", "")]


def test_a_retry_is_a_new_attempt_of_the_same_branch_on_the_same_commit_and_costs_a_visit() -> None:
    process = stopped()
    before = process.branch("code")
    visits = process.state.visits_used
    assert code_of(process.retry_branch("code")) == "accepted"
    after = process.branch("code")
    assert process.state.visits_used == visits + 1
    assert after.branch_id == before.branch_id
    assert after.workspace_key == before.workspace_key
    assert [each.attempt_id.rpartition(".")[2] for each in after.attempts] == ["1", "2"]
    (look,) = process.owed_by("code")
    assert isinstance(look, VerifyCheckout)
    assert (look.moment, look.commit) == ("launch", FROZEN), "the checkout is looked at anew"
    process.verify("code")
    (launch,) = process.owed_by("code")
    assert isinstance(launch, LaunchExecution)
    assert launch.thread_id.endswith("reviewers.1.code.2")
    process.take_for("code", "launch_execution", host_run_id="2")
    process.report_of("code")
    process.settle("code")
    assert process.ending("code") == "completed"


def test_a_retry_in_a_checkout_that_the_first_try_changed_is_a_mismatch() -> None:
    process = stopped()
    process.retry_branch("code")
    process.verify("code", changed=("a.py",))
    assert process.ending("code") == "failed checkout_mismatch"


def test_the_report_of_the_attempt_that_was_retried_is_refused_and_its_receipt_is_kept() -> None:
    process = with_code()
    first = process.attempt_of("code").attempt_id
    process.report_of("code")
    process.stop("code")
    process.retry_branch("code")
    again = process.recorded_report(first)
    assert code_of(process.send(again)) == "accepted"
    assert process.attempt_of("code").report is None, "an exact retry is answered, not counted"
    process = stopped()
    process.retry_branch("code")
    assert code_of(process.send(process.recorded_report(first))) == "stale_attempt"


def test_an_action_on_a_revision_that_has_passed_changes_nothing() -> None:
    process = stopped()
    old = process.branch("code").unresolved
    assert old is not None
    process.resume_branch("code")
    process.take_for("code", "resume_execution", continuity="native")
    process.stop("code")
    version = process.state.version
    branch = process.branch("code")
    for command in (
        cmd.RetryVisit(visit_id=branch.branch_id, revision=old.revision, requested_by="ann"),
        cmd.ResumeAttempt(
            attempt_id=process.attempt_of("code").attempt_id,
            revision=old.revision,
            requested_by="ann",
        ),
    ):
        assert code_of(process.send(command)) == "stale_revision"
    assert process.state.version == version


def test_neither_the_group_nor_an_open_or_ended_branch_can_be_retried() -> None:
    process = stopped().complete("ux")
    for target in (
        process.visit.visit_id,
        *(process.branch(n).branch_id for n in ("security", "ux")),
    ):
        command = cmd.RetryVisit(visit_id=target, revision=0, requested_by="ann")
        assert code_of(process.send(command)) == "not_allowed"


def test_no_retry_without_a_visit_left_but_a_resume() -> None:
    process = stopped(visits_max=5)
    assert process.state.visits_left == 0
    assert process.actions() == [("resume", "reviewers.1.code.1"), ("cancel", "")]
    assert code_of(process.retry_branch("code")) == "not_allowed"


def test_a_lost_session_goes_on_by_policy_as_often_as_declared_and_then_waits() -> None:
    process = with_code(resume={"max": 1})
    lose(process)
    assert [each.kind for each in process.owed_by("code")] == ["resume_execution"]
    process.take_for("code", "resume_execution", continuity="native")
    lose(process)
    assert process.owed_by("code") == []
    assert [each[1] for each in attention(process)] == ["code"]


def test_a_session_that_was_stopped_or_cannot_be_proven_does_not_go_on_by_policy() -> None:
    assert stopped(resume={"max": 2}).owed_by("code") == []
    process = with_code(resume={"max": 2})
    lose(process, resumable=False)
    assert process.owed_by("code") == []
    assert [each[1] for each in attention(process)] == ["code"]


@pytest.mark.parametrize("status", [HostRunStatus.FAILED, HostRunStatus.CANCELED])
def test_what_failed_or_was_canceled_is_terminal_at_once(status: HostRunStatus) -> None:
    process = with_code()
    process.observe_branch("code", runs=(turn(1, status=status),), resumable=True)
    assert process.ending("code") is not None
    assert process.actions() == [("cancel", "")]


def test_a_question_of_a_reviewer_is_an_item_of_its_branch_and_is_answered_once() -> None:
    asked = NativeRequest(
        request_id="q1", kind=RequestKind.APPROVAL, question="May I?", answerable="live"
    )
    process = with_code()
    waits = {"phase": WorkPhase.WAITING_INPUT, "pending_requests": (asked,)}
    process.observe_branch("code", **waits)
    assert attention(process) == [("native_request", "code", "reviewers code asks for approval")]
    attempt = process.attempt_of("code").attempt_id
    answer = cmd.AnswerNativeRequest(
        attempt_id=attempt, request_id="q1", allow=False, answered_by="ann"
    )
    assert code_of(process.send(answer)) == "accepted"
    assert code_of(process.send(answer)) == "request_answered"
    assert [each.kind for each in process.owed_by("code")] == ["answer_request"]
    process.take_for("code", "answer_request")
    process.observe_branch("code", **waits)
    assert len(process.attempt_of("code").requests) == 1, "it may ask once more"


def test_an_interrupted_reviewer_does_not_hold_up_its_siblings_work() -> None:
    process = stopped()
    kinds = {each.kind for each in owed_intents(process.state)}
    assert kinds == {"prepare_workspace"}
    process.complete("security", "ux")
    assert (process.ending("security"), process.ending("ux")) == ("completed", "completed")
    process.retry_branch("code")
    process.verify("code", head_commit=OTHER)
    assert process.visit.node == "review"


def test_the_end_of_one_reviewers_work_moves_no_other() -> None:
    process = ReviewProcess().fork()
    for name in BRANCHES:
        process.launch_branch(name)
    process.report_of("code")
    before = {name: process.branch(name) for name in ("security", "ux")}
    process.settle("code")
    assert process.ending("code") == "completed"
    assert {name: process.branch(name) for name in before} == before
    assert process.visit.node == "reviewers"
