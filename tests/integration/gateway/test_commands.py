"""Goal: every command of a client happens once, against what its sender saw, or not at all.

Method: the product's own client against a real server; only the host is fake.
"""

import threading
from pathlib import Path

import pytest

from pointsman.actors.host import ProviderCapability, RepositoryRefused, RepositoryState
from pointsman.actors.messages import Answer, Message
from pointsman.actors.workers import WorkerLostError
from pointsman.graph.work import HostRunStatus, NativeRequest, RequestKind, Stop
from pointsman.runtime.client import new_command_id
from pointsman.runtime.gateway.wire import CommandReply
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.queries import GateView
from pointsman.runtime.trace import trace_signature
from tests.harness.core import envelope
from tests.harness.fake_host import HEAD
from tests.harness.gateway import GatewayServer

both_journals = pytest.mark.parametrize("opener", ["memory", "lmdb"], indirect=True)


def at_the_gate(server: GatewayServer, definition: str) -> tuple[str, GateView]:
    """Bring a run to its gate."""
    run_id = server.start(definition, task="greet")
    agent = server.host.launched("implement.1.1")
    server.report(agent.token, envelope(data={"safe": True}))
    server.host.finish(agent.attempt_id)
    server.until(run_id, "run_suspended")
    gate = server.view(run_id).gate
    assert gate is not None
    return run_id, gate


def decide(
    server: GatewayServer,
    run_id: str,
    gate: GateView,
    decision: str = "approve",
    *,
    command_id: str = "decide-1",
    revision: int | None = None,
) -> CommandReply:
    return server.client.decide_gate(
        run_id,
        gate_id=gate.gate_id,
        revision=gate.revision if revision is None else revision,
        decision=decision,
        decided_by="ann",
        command_id=command_id,
    )


def refusal_of(excinfo: pytest.ExceptionInfo[PointsmanError]) -> str:
    return excinfo.value.code


# --- starting ---


@both_journals
def test_the_same_start_makes_one_run_also_after_a_restart(
    server: GatewayServer, definition: str
) -> None:
    first = server.start(definition, task="greet")
    again = server.start(definition, task="greet")
    server.restart()
    later = server.start(definition, task="greet")
    assert {first, again, later} == {first}
    assert [row.run_id for row in server.client.runs()] == [first]


def test_a_repeated_start_is_answered_though_the_repository_has_moved_on_or_gone(
    server: GatewayServer, definition: str
) -> None:
    first = server.start(definition, task="greet")
    server.host.repository = RepositoryState(
        path="/repo", head_commit="2" * 40, branch="other", uncommitted_paths=("a",)
    )
    assert server.start(definition, task="greet") == first
    server.host.repository = RepositoryRefused(
        code="repository_missing", message="Gone.", mend="Look."
    )
    assert server.start(definition, task="greet") == first
    assert server.view(first).base_commit == HEAD


def test_a_repeated_start_is_recognised_though_the_host_names_the_repository_by_its_top_folder(
    server: GatewayServer, definition: str
) -> None:
    server.host.repository = RepositoryState(
        path="/top", head_commit=HEAD, branch="main", uncommitted_paths=()
    )
    first = server.start(definition, task="greet")
    assert server.view(first).repository == "/top"
    assert server.start(definition, task="greet") == first


def test_the_same_start_id_with_other_inputs_is_refused(
    server: GatewayServer, definition: str
) -> None:
    first = server.start(definition, task="greet")
    with pytest.raises(PointsmanError) as refused:
        server.start(definition, task="something else")
    assert refusal_of(refused) == "command_id_reused"
    assert [row.run_id for row in server.client.runs()] == [first]


@both_journals
def test_two_starts_with_one_id_at_the_same_time_make_one_run(
    server: GatewayServer, definition: str
) -> None:
    begin, made = threading.Barrier(4), list[str]()

    def start() -> None:
        begin.wait()
        made.append(server.start(definition, task="greet"))

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    assert len(set(made)) == 1
    assert len(server.client.runs()) == 1


def test_a_start_is_told_every_mistake_of_its_definition_and_makes_nothing(
    server: GatewayServer, definition: str
) -> None:
    broken = definition.replace("otherwise: approve", "otherwise: aprove").replace(
        "risk, eq: high", "rsk, eq: high"
    )
    with pytest.raises(PointsmanError) as refused:
        server.start(broken, task="greet")
    assert refusal_of(refused) == "definition_invalid"
    problems = refused.value.details["problems"]
    assert len(problems) == 2
    assert all(each["line"] > 1 and each["mend"] for each in problems)
    assert server.client.runs() == []


def test_a_start_is_told_every_mistake_of_its_inputs(
    server: GatewayServer, definition: str
) -> None:
    with pytest.raises(PointsmanError) as refused:
        server.start(definition, tasks="greet")
    assert refusal_of(refused) == "input_invalid"
    assert [each["path"] for each in refused.value.details["fields"]] == ["tasks", "task"]
    assert server.client.runs() == []


@pytest.mark.parametrize(
    "capability, code",
    [
        (None, "provider_unavailable"),
        (
            ProviderCapability(
                provider="scripted", version="1", modes=("edit",), resume=True, unavailable="broken"
            ),
            "provider_unavailable",
        ),
        (
            ProviderCapability(provider="scripted", version="1", modes=("review",), resume=True),
            "provider_mode_unsupported",
        ),
    ],
)
def test_a_provider_that_cannot_report_is_refused_at_the_start(
    server: GatewayServer, definition: str, capability: ProviderCapability | None, code: str
) -> None:
    server.host.capabilities = (capability,) if capability is not None else ()
    with pytest.raises(PointsmanError) as refused:
        server.start(definition, task="greet")
    assert refusal_of(refused) == code
    assert refused.value.details["problems"][0]["node"] == "implement"
    assert server.client.runs() == []
    assert server.host.calls == {}


def test_a_missing_skill_is_refused_and_a_found_one_is_kept_with_its_fingerprint(
    server: GatewayServer, definition: str, tmp_path: Path
) -> None:
    definition = definition.replace("{provider: scripted}", "{provider: scripted, skill: careful}")
    with pytest.raises(PointsmanError) as refused:
        server.start(definition, task="greet")
    assert refusal_of(refused) == "skill_missing"
    assert server.client.runs() == []
    folder = tmp_path / ".claude" / "skills" / "careful"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("Be careful.")
    run_id = server.start(definition, task="greet")
    (skill,) = server.client.trace(run_id)[0].data["skills"]
    assert skill["source"] == str(folder)
    assert skill["fingerprint"].startswith("sha256:")


@pytest.mark.parametrize(
    "code, seen",
    [("repository_empty", "repository_empty"), ("haunted", "repository_refused")],
)
def test_a_repository_that_no_run_can_start_from_is_refused_with_the_hosts_advice(
    server: GatewayServer, definition: str, code: str, seen: str
) -> None:
    server.host.repository = RepositoryRefused(code=code, message="No.", mend="Do this.")
    with pytest.raises(PointsmanError) as refused:
        server.start(definition, task="greet")
    assert refusal_of(refused) == seen
    assert "Do this." in refused.value.message
    assert server.client.runs() == []


def test_a_relative_repository_is_refused(server: GatewayServer, definition: str) -> None:
    with pytest.raises(PointsmanError) as refused:
        server.client.start(
            definition=definition,
            source="test",
            repository="repo",
            inputs={"task": "greet"},
            started_by="ann",
            command_id="c",
        )
    assert refusal_of(refused) == "request_invalid"


def test_a_host_that_cannot_be_reached_is_no_reason_to_half_start(
    server: GatewayServer, definition: str
) -> None:
    server.host.reachable = False
    with pytest.raises(PointsmanError) as refused:
        server.start(definition, task="greet")
    assert refusal_of(refused) == "host_unavailable"
    server.host.reachable = True
    assert server.start(definition, task="greet")


def test_validation_tells_the_digest_that_the_run_will_have(
    server: GatewayServer, definition: str
) -> None:
    validation = server.client.validate(definition)
    assert validation.workflow is not None
    run_id = server.start(definition, task="greet")
    assert server.view(run_id).workflow.digest == validation.workflow.digest
    assert not server.client.validate("nodes: [").valid


# --- gates ---


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


# --- cancel ---


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


# --- recovery by people ---


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
