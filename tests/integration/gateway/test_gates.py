"""Goal: a gate is decided once, against the revision that was seen, whoever clicks how often."""

import threading

import pytest

from pointsman.actors.messages import Answer, Message
from pointsman.actors.workers import WorkerLostError
from pointsman.runtime.problems import PointsmanError
from tests.harness.gateway import GatewayServer
from tests.integration.gateway.steps import at_the_gate, both_journals, decide, refusal_of


@both_journals
def test_a_gate_is_decided_once_and_a_double_click_gets_the_same_answer(
    server: GatewayServer, definition: str
) -> None:
    run_id, gate = at_the_gate(server, definition)
    first = decide(server, run_id, gate)
    again = decide(server, run_id, gate)
    assert (first.duplicate, again.duplicate) == (False, True)
    server.restart()
    assert decide(server, run_id, gate).duplicate
    decisions = [e for e in server.client.trace(run_id) if e.kind == "gate_decided"]
    assert [e.data["decision"] for e in decisions] == ["approve"]
    assert server.view(run_id).state == "completed"


def test_a_decision_against_another_revision_changes_nothing(
    server: GatewayServer, definition: str
) -> None:
    run_id, gate = at_the_gate(server, definition)
    version = server.view(run_id).version
    with pytest.raises(PointsmanError) as refused:
        decide(server, run_id, gate, revision=gate.revision + 1)
    assert refusal_of(refused) == "stale_revision"
    assert refused.value.details == {"revision": gate.revision}
    assert server.view(run_id).version == version


def test_a_refused_decision_is_judged_anew_under_the_same_command_id(
    server: GatewayServer, definition: str
) -> None:
    run_id, gate = at_the_gate(server, definition)
    with pytest.raises(PointsmanError):
        decide(server, run_id, gate, revision=0)
    assert decide(server, run_id, gate).state == "completed"


def test_the_second_person_at_a_gate_is_too_late(server: GatewayServer, definition: str) -> None:
    run_id, gate = at_the_gate(server, definition)
    decide(server, run_id, gate, "request_changes")
    version = server.view(run_id).version
    with pytest.raises(PointsmanError) as refused:
        decide(server, run_id, gate, command_id="decide-2")
    assert refusal_of(refused) == "gate_decided"
    server.host.launched("implement.2.1")
    assert server.view(run_id).node == "implement"
    assert server.view(run_id).version >= version


def test_one_command_id_cannot_decide_twice_differently(
    server: GatewayServer, definition: str
) -> None:
    run_id, gate = at_the_gate(server, definition)
    decide(server, run_id, gate, "request_changes")
    with pytest.raises(PointsmanError) as refused:
        decide(server, run_id, gate, "approve")
    assert refusal_of(refused) == "command_id_reused"


def test_many_clicks_at_once_make_one_decision(server: GatewayServer, definition: str) -> None:
    run_id, gate = at_the_gate(server, definition)
    begin, outcomes = threading.Barrier(4), list[str]()

    def click(decision: str, command_id: str) -> None:
        begin.wait()
        try:
            decide(server, run_id, gate, decision, command_id=command_id)
            outcomes.append("accepted")
        except PointsmanError as error:
            outcomes.append(error.code)

    clicks = [("approve", "a"), ("approve", "b"), ("request_changes", "c"), ("approve", "d")]
    threads = [threading.Thread(target=click, args=each) for each in clicks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("accepted") == 1
    assert set(outcomes) <= {"accepted", "gate_decided", "run_ended"}
    decisions = [e for e in server.client.trace(run_id) if e.kind == "gate_decided"]
    assert len(decisions) == 1


def test_both_clients_see_the_same_gate_and_the_same_actions(
    server: GatewayServer, definition: str
) -> None:
    run_id, gate = at_the_gate(server, definition)
    offered = [(a.action.value, a.target, a.revision) for a in server.view(run_id).allowed_actions]
    assert offered == [
        ("approve", gate.gate_id, gate.revision),
        ("request_changes", gate.gate_id, gate.revision),
        ("cancel", run_id, None),
    ]
    (item,) = server.client.attention()
    assert (item.kind, item.run_id) == ("awaiting_review", run_id)
    server.restart()
    assert server.client.attention() == [item]


def test_a_lost_answer_is_made_good_by_the_receipt(server: GatewayServer, definition: str) -> None:
    run_id, gate = at_the_gate(server, definition)
    losses = iter(range(2))

    def lose(message: Message, answer: Answer) -> None:
        if next(losses, None) is not None:
            raise WorkerLostError("after the commit")

    server.tapped.after_tell = lose
    reply = decide(server, run_id, gate)
    assert reply.duplicate
    assert reply.state == "completed"
