"""Goal: cancel, resume, retry and answer happen once, against what their sender saw."""

import pytest

from pointsman.graph.work import HostRunStatus, NativeRequest, RequestKind, Stop
from pointsman.runtime.client import new_command_id
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.trace import trace_signature
from pointsman.runtime.wire.actions import CommandReply
from tests.harness.core import envelope
from tests.harness.gateway import GatewayServer
from tests.integration.gateway.steps import at_the_gate, decide, refusal_of


def test_cancel_answers_when_the_processes_are_gone(server: GatewayServer, definition: str) -> None:
    run_id = server.start(definition, task="greet")
    server.host.launched("implement.1.1")
    server.until(run_id, "attempt_launched")
    reply = server.client.cancel(run_id, requested_by="ann", command_id="c1")
    assert (reply.ended, reply.still_ending, reply.processes_left) == (True, [], {})
    assert server.view(run_id).state == "canceled"
    again = server.client.cancel(run_id, requested_by="ann", command_id="c1")
    assert (again.ended, again.duplicate) == (True, True)


def test_cancel_that_takes_longer_than_its_sender_waits_says_what_is_still_ending(
    server: GatewayServer, definition: str
) -> None:
    ending = server.host.block("interrupt_execution")
    run_id = server.start(definition, task="greet")
    agent = server.host.launched("implement.1.1")
    server.until(run_id, "attempt_launched")
    reply = server.client.cancel(run_id, requested_by="ann", command_id="c1", wait_s=0.1)
    assert (reply.ended, reply.still_ending) == (False, [agent.attempt_id])
    assert server.view(run_id).state == "canceled"
    assert server.view(run_id).allowed_actions == []
    ending.set()
    assert server.client.cancel(run_id, requested_by="ann", command_id="c1").ended


def test_an_ended_run_cannot_be_canceled(server: GatewayServer, definition: str) -> None:
    run_id, gate = at_the_gate(server, definition)
    decide(server, run_id, gate)
    with pytest.raises(PointsmanError) as refused:
        server.client.cancel(run_id, requested_by="ann", command_id="c1")
    assert refusal_of(refused) == "run_ended"
    assert server.view(run_id).state == "completed"


@pytest.mark.parametrize("run_id", ["r0-01hzzzzzzzzzzzzzzzzzzzzzzz", "nonsense", "../limits", ""])
def test_an_unknown_run_is_named_as_such_and_gets_no_worker(
    server: GatewayServer, run_id: str
) -> None:
    with pytest.raises(PointsmanError) as refused:
        server.client.cancel(run_id, requested_by="ann", command_id="c1")
    assert refusal_of(refused) in ("run_unknown", "not_found")
    with pytest.raises(PointsmanError):
        list(server.client.follow(run_id))


def test_an_interrupted_attempt_goes_on_once_when_a_person_says_so(
    server: GatewayServer, definition: str
) -> None:
    run_id = server.start(definition, task="greet")
    agent = server.host.launched("implement.1.1")
    server.until(run_id, "attempt_launched")
    server.host.finish(
        agent.attempt_id, HostRunStatus.INTERRUPTED, stop=Stop(by="user"), resumable=True
    )
    server.until(run_id, "node_unresolved")
    view = server.view(run_id)
    assert view.unresolved is not None
    assert view.unresolved.reason == "interrupted"
    for _ in range(2):
        server.client.resume(
            run_id,
            attempt_id=agent.attempt_id,
            revision=view.unresolved.revision,
            requested_by="ann",
            command_id="resume-1",
        )
    server.until(run_id, "attempt_resumed")
    assert server.host.calls["resume_execution"] == 1


def test_an_open_native_request_is_shown_and_answered_once(
    server: GatewayServer, definition: str
) -> None:
    run_id = server.start(definition, task="greet")
    agent = server.host.launched("implement.1.1")
    server.until(run_id, "attempt_launched")
    request = NativeRequest(
        request_id="q1", kind=RequestKind.APPROVAL, question="Run make?", answerable="live"
    )
    server.host.ask(agent.attempt_id, request)
    server.until(run_id, "native_request_opened")
    attempt = server.view(run_id).attempt
    assert attempt is not None
    assert attempt.timeout.times_out_at is None
    assert [each.question for each in attempt.requests] == ["Run make?"]
    assert [each.kind for each in server.client.attention()] == ["native_request"]

    def answer(command_id: str) -> CommandReply:
        return server.client.answer(
            run_id,
            attempt_id=agent.attempt_id,
            request_id="q1",
            allow=True,
            answered_by="ann",
            command_id=command_id,
        )

    answer("a1")
    assert answer("a1").duplicate
    server.until(run_id, "native_request_closed")
    with pytest.raises(PointsmanError) as refused:
        answer("a2")
    assert refusal_of(refused) == "request_unknown"
    assert server.host.calls["answer_request"] == 1


def test_retry_is_refused_for_another_revision(server: GatewayServer, definition: str) -> None:
    run_id = server.start(definition, task="greet")
    agent = server.host.launched("implement.1.1")
    server.until(run_id, "attempt_launched")
    server.host.finish(agent.attempt_id, HostRunStatus.FAILED)
    server.until(run_id, "node_unresolved")
    retry = next(a for a in server.view(run_id).allowed_actions if a.action == "retry")
    assert retry.revision is not None
    with pytest.raises(PointsmanError) as refused:
        server.client.retry(
            run_id,
            visit_id=retry.target,
            revision=retry.revision + 1,
            requested_by="ann",
            command_id=new_command_id(),
        )
    assert refusal_of(refused) == "stale_revision"


def test_two_runs_that_went_the_same_way_have_the_same_signature(
    server: GatewayServer, definition: str
) -> None:
    signatures = []
    for number in (1, 2):
        run_id = server.start(definition, command_id=f"start-{number}", task="greet")
        found = server.until(run_id, "attempt_launched").data["attempt_id"]
        agent = server.host.launched(found)
        server.report(agent.token, envelope(data={"safe": True, "risk": "high"}))
        server.host.finish(agent.attempt_id)
        server.until(run_id, "run_failed")
        signatures.append(trace_signature(server.client.trace(run_id)))
    assert signatures[0] == signatures[1]
    assert ("visit", "implement", 1) in signatures[0]
    assert ("end", "run_failed") in signatures[0]
