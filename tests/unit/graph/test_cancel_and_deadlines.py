"""Cancel wins every race; the execution timeout runs only while the agent can work."""

import json

from pointsman.graph import commands as cmd
from pointsman.graph.allowed import allowed_actions
from pointsman.graph.project import deadlines, project
from pointsman.graph.run import RunState
from pointsman.graph.work import NativeRequest, RequestKind, WorkPhase
from tests.harness.core import Process, agent, code_of, workflow

HOUR_MS = 3600 * 1000
QUESTION = NativeRequest(
    request_id="q1", kind=RequestKind.INPUT, question="Which?", answerable="live"
)


def test_cancel_is_persisted_first_then_ends_the_work_and_then_the_run_is_canceled() -> None:
    process = Process().launch()
    process.cancel()
    assert process.state.state is RunState.CANCELED
    assert process.owed() == ["interrupt_execution"]
    assert process.kinds()[-1] == "cancel_requested"
    process.take("interrupt_execution", left=0)
    assert process.kinds()[-1] == "run_canceled"


def test_a_committed_cancel_withdraws_the_launch_that_is_still_owed() -> None:
    process = Process()
    process.take("prepare_workspace", path="/w", branch="b", head_commit="c")
    launch = process.intent("launch_execution").intent_id
    process.cancel()
    assert "launch_execution" not in process.owed()
    late = cmd.BindCredential(attempt_id=process.attempt.attempt_id, token_digest="x")
    assert code_of(process.send(late)) == "not_current"
    process.take("interrupt_execution", left=0)
    assert process.state.ended
    assert launch.endswith(":launch")


def test_late_facts_after_a_cancel_change_no_route() -> None:
    process = Process().launch()
    process.report()
    process.cancel()
    routes = process.routes()
    process.observe()
    process.take("interrupt_execution", left=0)
    assert process.routes() == routes
    assert process.state.state is RunState.CANCELED


def test_cancel_of_a_running_check_ends_its_processes() -> None:
    process = Process().work()
    process.take("start_check")
    process.cancel()
    assert process.owed() == ["cancel_check"]
    process.take("cancel_check", left=0)
    assert process.state.ended


def test_cancel_at_a_gate_is_immediate_and_lets_go_of_the_workspace() -> None:
    process = Process().work().run_check(0)
    process.cancel()
    assert process.state.ended
    assert process.owed() == ["release_workspace"]


def test_a_second_cancel_and_a_cancel_of_an_ended_run_are_refused() -> None:
    process = Process().launch()
    process.cancel()
    assert code_of(process.cancel()) == "cancelled"
    process.take("interrupt_execution", left=0)
    assert code_of(process.cancel()) == "run_ended"


def test_a_worktree_that_was_being_made_during_a_cancel_is_recorded_and_let_go_of() -> None:
    process = Process()
    key = process.intent("prepare_workspace").intent_id
    process.cancel()
    receipt = {"idempotency_key": key, "status": "accepted", "host_ref": {"path": "/w"}}
    command = cmd.RecordReceipt.model_validate_json(
        json.dumps({"intent_id": key, "receipt": receipt})
    )
    process.send(command)
    assert process.state.ended
    assert process.owed() == ["release_workspace"]
    process.take("release_workspace", kept=True, why="uncommitted changes")
    assert process.state.workspace.kept
    assert process.owed() == []


def test_a_run_canceled_during_its_set_up_ends_when_the_worktree_is_let_go_of() -> None:
    process = Process()
    process.cancel()
    still_ending = (process.state.ended, process.owed())
    assert still_ending == (False, ["release_workspace"]), "its set-up may be at work"
    assert project(process.state).summary.open_work == (), "there is nothing to look at"
    process.take("release_workspace", kept=False, why="absent")
    assert process.state.ended
    assert process.owed() == []


def test_processes_that_could_not_be_ended_are_an_attention_item() -> None:
    process = Process().launch()
    process.cancel()
    process.take("interrupt_execution", left=2)
    assert [each.kind.value for each in project(process.state).attention] == ["processes_left"]


def test_the_execution_timeout_ends_the_work_and_is_unresolved() -> None:
    process = Process().launch()
    (deadline,) = deadlines(process.state)
    process.now_ms = deadline.due_at_ms
    process.send(cmd.FireDeadline(deadline_id=deadline.deadline_id))
    assert process.owed() == ["interrupt_execution"]
    assert deadlines(process.state) == ()
    process.take("interrupt_execution", left=0)
    shown = project(process.state).summary.open_work
    assert shown == (process.attempt.attempt_id,), "it must be looked at until it is seen quiet"
    process.observe()
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "timed_out"


def test_a_deadline_that_is_early_or_told_twice_does_nothing() -> None:
    process = Process().launch()
    (deadline,) = deadlines(process.state)
    fire = cmd.FireDeadline(deadline_id=deadline.deadline_id)
    assert code_of(process.send(fire)) == "not_due"
    process.now_ms = deadline.due_at_ms
    assert code_of(process.send(fire)) == "accepted"
    assert code_of(process.send(fire)) == "not_due"


def asking(**limits: str) -> Process:
    node = {**agent("done"), **limits}
    process = Process(workflow(entry="work", nodes={"work": node, "done": {"kind": "end"}}))
    process.launch()
    process.observe(pending_requests=(QUESTION,), phase=WorkPhase.WAITING_INPUT)
    return process


def test_a_question_waits_for_a_person_as_long_as_it_takes_unless_the_author_says_otherwise() -> (
    None
):
    assert deadlines(asking().state) == ()
    process = asking(answer_within="4h")
    (deadline,) = deadlines(process.state)
    assert deadline.due_at_ms == process.now_ms + 4 * HOUR_MS
    assert deadline.kind == "human_response"


def test_a_question_nobody_answers_in_time_ends_the_work_and_is_unresolved() -> None:
    process = asking(answer_within="4h")
    (deadline,) = deadlines(process.state)
    process.now_ms = deadline.due_at_ms
    fire = cmd.FireDeadline(deadline_id=deadline.deadline_id)
    assert code_of(process.send(fire)) == "accepted"
    assert code_of(process.send(fire)) == "not_due"
    offered = [each.action for each in allowed_actions(process.state)]
    assert offered == ["cancel"], "it is too late for an answer"
    assert project(process.state).attention == ()
    process.take("interrupt_execution", left=0)
    process.observe(runs=process.aggregate().runs)
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "timed_out"
    assert "nobody answered" in process.visit.unresolved.detail


def test_an_answer_in_time_takes_the_bound_away() -> None:
    process = asking(answer_within="4h")
    (question,) = process.attempt.requests
    process.send(
        cmd.AnswerNativeRequest(
            attempt_id=process.attempt.attempt_id,
            request_id=question.request.request_id,
            allow=True,
            answered_by="ann",
        )
    )
    assert deadlines(process.state) == ()


def test_native_input_stops_the_timeout_and_its_end_starts_what_was_left() -> None:
    process = Process().launch()
    process.now_ms += HOUR_MS
    process.observe(pending_requests=(QUESTION,), phase=WorkPhase.WAITING_INPUT)
    assert deadlines(process.state) == ()
    process.now_ms += 100 * HOUR_MS
    process.observe(runs=process.aggregate().runs, phase=WorkPhase.ACTIVE)
    (deadline,) = deadlines(process.state)
    assert deadline.due_at_ms == process.now_ms + HOUR_MS


def test_a_clock_set_back_adds_no_time_to_the_timeout() -> None:
    process = Process().launch()
    process.now_ms -= 10 * HOUR_MS
    process.observe(pending_requests=(QUESTION,), phase=WorkPhase.WAITING_INPUT)
    process.observe(phase=WorkPhase.ACTIVE)
    (deadline,) = deadlines(process.state)
    assert deadline.due_at_ms - process.now_ms <= 2 * HOUR_MS
