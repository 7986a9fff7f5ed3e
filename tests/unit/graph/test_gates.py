"""A gate is decided once, by an explicit decision against the revision a person saw."""

from pointsman.graph import commands as cmd
from pointsman.graph.allowed import allowed_actions
from pointsman.graph.project import project
from pointsman.graph.results import GateDecision
from pointsman.graph.run import RunState
from pointsman.graph.work import NativeRequest, RequestKind, WorkPhase
from tests.harness.core import RUN_ID, Process, code_of, workflow


def at_gate() -> Process:
    return Process().work().run_check(0)


def test_the_run_waits_at_the_gate_and_says_what_may_be_decided() -> None:
    process = at_gate()
    assert process.state.state is RunState.AWAITING_REVIEW
    gate = process.visit.gate
    assert gate is not None
    offered = [(each.action.value, each.revision) for each in allowed_actions(process.state)]
    assert offered == [
        ("approve", gate.revision),
        ("request_changes", gate.revision),
        ("cancel", None),
    ]
    assert process.owed() == [], "a waiting run holds no work"


def test_opening_a_gate_is_two_events_request_and_suspension() -> None:
    assert at_gate().kinds()[-2:] == ["gate_requested", "run_suspended"]


def test_approval_takes_the_declared_edge() -> None:
    process = at_gate()
    process.decide_gate()
    assert process.state.state is RunState.COMPLETED
    assert process.routes()[-1] == ("approve/decisions/approve", "decision", "done")


def test_a_gate_without_an_approve_route_completes_the_run_on_approval() -> None:
    nodes = {"look": {"kind": "gate", "title": "Look"}}
    process = Process(workflow(entry="look", nodes=nodes))
    assert [each.action for each in allowed_actions(process.state)] == ["approve", "cancel"]
    process.decide_gate()
    assert process.state.state is RunState.COMPLETED


def test_a_decision_that_is_not_offered_is_refused() -> None:
    nodes = {"look": {"kind": "gate", "title": "Look"}}
    process = Process(workflow(entry="look", nodes=nodes))
    assert code_of(process.decide_gate(GateDecision.REQUEST_CHANGES)) == "decision_not_offered"


def test_requested_changes_take_a_bounded_rework_route_with_the_note() -> None:
    process = at_gate()
    process.decide_gate(GateDecision.REQUEST_CHANGES)
    assert process.visit.node == "implement"
    process.work(retry_key="k2").run_check(0)
    process.decide_gate(GateDecision.REQUEST_CHANGES)
    assert process.visit.node == "look"
    assert process.routes()[-1][1] == "repeat_limit"


def test_a_stale_revision_changes_nothing() -> None:
    process = at_gate()
    version = process.state.version
    gate = process.visit.gate
    assert gate is not None
    assert code_of(process.decide_gate(revision=gate.revision - 1)) == "stale_revision"
    assert process.state.version == version
    assert process.state.state is RunState.AWAITING_REVIEW


def test_a_second_decision_is_refused_and_told_that_the_gate_was_decided() -> None:
    process = at_gate()
    first = process.visit.gate
    assert first is not None
    process.decide_gate(GateDecision.REQUEST_CHANGES)
    second = cmd.DecideGate(
        gate_id=first.gate_id,
        revision=first.revision,
        decision=GateDecision.APPROVE,
        decided_by="bob",
    )
    assert code_of(process.send(second)) == "gate_decided"
    unknown = second.model_copy(update={"gate_id": f"{RUN_ID}.approve.7"})
    assert code_of(process.send(unknown)) == "gate_unknown"


def test_a_delayed_click_on_the_first_gate_cannot_decide_the_second_of_the_same_title() -> None:
    process = at_gate()
    first = process.visit.gate
    assert first is not None
    process.decide_gate(GateDecision.REQUEST_CHANGES)
    process.work(retry_key="k2").run_check(0)
    late = cmd.DecideGate(
        gate_id=first.gate_id,
        revision=first.revision,
        decision=GateDecision.APPROVE,
        decided_by="ann",
    )
    assert code_of(process.send(late)) == "gate_decided"
    assert process.state.state is RunState.AWAITING_REVIEW


def test_a_decision_on_an_ended_run_is_refused() -> None:
    process = at_gate()
    gate = process.visit.gate
    assert gate is not None
    process.decide_gate()
    again = cmd.DecideGate(
        gate_id=gate.gate_id,
        revision=gate.revision,
        decision=GateDecision.APPROVE,
        decided_by="ann",
    )
    assert code_of(process.send(again)) == "run_ended"


def test_a_waiting_gate_is_one_attention_item_that_decides_nothing_by_itself() -> None:
    process = at_gate()
    items = project(process.state).attention
    assert [(each.kind.value, each.title) for each in items] == [
        ("awaiting_review", "Approve the change")
    ]
    process.decide_gate()
    assert project(process.state).attention == ()


def test_an_attention_item_keeps_its_time_whatever_else_happens_to_the_run() -> None:
    process = Process().launch()
    asked = NativeRequest(
        request_id="q1", kind=RequestKind.INPUT, question="Which?", answerable="live"
    )
    process.observe(pending_requests=(asked,), phase=WorkPhase.WAITING_INPUT)
    (before,) = project(process.state).attention
    process.now_ms += 5_000
    process.report()
    (after,) = project(process.state).attention
    assert before.since_ms == after.since_ms < process.state.updated_at_ms
