"""Goal: an attempt has one report, whatever is lost, repeated, malformed, late or foreign.

Method: the real MCP client against a real server; only the host is fake. Whether something was
persisted is read from the run's own version and trace.
"""

from collections.abc import Callable
from typing import Any

import pytest

from pointsman.actors.messages import Answer, Message
from pointsman.actors.workers import WorkerLostError
from pointsman.graph.work import HostRunStatus
from pointsman.storage.journal_errors import JournalFullError
from tests.harness.fake_host import Launched
from tests.harness.gateway import GatewayServer
from tests.integration.gateway.steps import both_journals, report, reports_in


@both_journals
def test_a_report_is_answered_with_a_receipt_that_is_already_durable(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    answer = server.report(agent.token, report())
    assert answer["ok"]
    kept = server.view(run_id).attempt
    assert kept is not None
    assert kept.report is not None
    assert answer["receipt"] == {
        "receipt_id": kept.report.receipt_id,
        "attempt_id": agent.attempt_id,
        "accepted_at": kept.report.accepted_at,
        "payload_digest": kept.report.payload_digest,
        "duplicate": False,
    }


def test_an_accepted_report_alone_does_not_advance_the_run(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    server.report(agent.token, report())
    assert server.view(run_id).node == "implement"
    server.host.finish(agent.attempt_id)
    assert server.until(run_id, "gate_requested").data["node"] == "approve"


@both_journals
def test_exact_retry_gets_the_same_receipt_and_writes_nothing(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    first = server.report(agent.token, report())
    version = server.view(run_id).version
    again = server.report(agent.token, report())
    assert again["receipt"] == {**first["receipt"], "duplicate": True}
    assert server.view(run_id).version == version


@both_journals
def test_exact_retry_after_the_answer_was_lost_gets_the_committed_receipt(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    """The commit happened, and then every process on the way back died, for a while."""
    losses = iter(range(3))

    def lose(message: Message, answer: Answer) -> None:
        if message.command.kind == "submit_report" and next(losses, None) is not None:
            raise WorkerLostError("after the commit")

    server.tapped.after_tell = lose
    answer = server.report(agent.token, report())
    assert answer["ok"]
    assert answer["receipt"]["duplicate"]
    assert len(reports_in(server, run_id)) == 1


@both_journals
def test_exact_retry_after_a_restart_gets_the_same_receipt(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    first = server.report(agent.token, report())
    server.restart()
    again = server.report(agent.token, report())
    assert again["receipt"] == {**first["receipt"], "duplicate": True}
    assert len(reports_in(server, run_id)) == 1


def test_exact_retry_is_answered_after_settlement_and_after_the_end(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    first = server.report(agent.token, report(data={"safe": True, "risk": "high"}))
    server.host.finish(agent.attempt_id)
    server.until(run_id, "run_failed")
    again = server.report(agent.token, report(data={"safe": True, "risk": "high"}))
    assert again["receipt"] == {**first["receipt"], "duplicate": True}


def test_same_retry_key_with_another_payload_is_refused_and_the_first_report_stands(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    server.report(agent.token, report())
    answer = server.report(agent.token, report(summary="Something else."))
    assert (answer["code"], answer["retry"]) == ("key_reused", "do_not_retry")
    assert [each["summary"] for each in reports_in(server, run_id)] == ["Done."]


def test_second_report_under_a_new_key_is_a_conflict_even_with_the_same_payload(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    server.report(agent.token, report())
    answer = server.report(agent.token, report(retry_key="k2"))
    assert (answer["code"], answer["retry"]) == ("conflict", "do_not_retry")
    assert len(reports_in(server, run_id)) == 1


def test_one_and_true_are_different_payloads(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    """The protocol's own library must hand values over as they were sent."""
    answer = server.report(agent.token, report(data={"safe": 1}))
    assert answer["code"] == "invalid"
    assert answer["fields"] == [
        {"path": "data.safe", "problem": "is the number 1", "expected": "true or false"}
    ]
    server.report(agent.token, report(data={"safe": True, "count": 1}))
    other = server.report(agent.token, report(data={"safe": True, "count": 1.0}))
    assert other["code"] == "key_reused"
    kept = reports_in(server, run_id)[0]["data"]
    assert [type(value) for value in kept.values()] == [bool, int]


def test_report_of_a_canceled_run_is_refused(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    ending = server.host.block("interrupt_execution")
    server.client.cancel(run_id, requested_by="ann", command_id="c1", wait_s=0)
    answer = server.report(agent.token, report())
    ending.set()
    server.until(run_id, "run_canceled")
    after = server.report(agent.token, report())
    assert (answer["code"], answer["retry"]) == ("cancelled", "do_not_retry")
    assert (after["code"], after["retry"]) == ("cancelled", "do_not_retry")
    assert reports_in(server, run_id) == []


def test_report_of_a_settled_attempt_is_refused(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    server.host.finish(agent.attempt_id, HostRunStatus.FAILED)
    server.until(run_id, "node_unresolved")
    answer = server.report(agent.token, report())
    assert (answer["code"], answer["retry"]) == ("settled", "do_not_retry")
    assert reports_in(server, run_id) == []


def test_report_of_an_attempt_that_was_retried_is_refused_and_the_new_one_may_report(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    server.host.finish(agent.attempt_id, HostRunStatus.FAILED)
    server.until(run_id, "node_unresolved")
    retry = next(a for a in server.view(run_id).allowed_actions if a.action == "retry")
    assert retry.revision is not None
    server.client.retry(
        run_id,
        visit_id=retry.target,
        revision=retry.revision,
        requested_by="ann",
        command_id="c1",
    )
    newer = server.host.launched("implement.1.2")
    stale = server.report(agent.token, report())
    fresh = server.report(newer.token, report())
    assert (stale["code"], stale["retry"]) == ("stale_attempt", "do_not_retry")
    assert fresh["receipt"]["attempt_id"] == newer.attempt_id


def test_token_of_another_run_reports_for_that_run_only(
    server: GatewayServer, run_id: str, agent: Launched, definition: str
) -> None:
    other = server.start(definition, command_id="start-2", task="greet")
    found = server.until(other, "attempt_launched").data["attempt_id"]
    foreign = server.host.launched(found.partition(".")[2])
    assert foreign.attempt_id != found
    answer = server.report(agent.token, report(run_id=other))
    assert answer["code"] == "invalid"
    assert server.report(agent.token, report())["receipt"]["attempt_id"].startswith(run_id)
    assert reports_in(server, other) == []


@pytest.mark.parametrize(
    "changes, path",
    [
        ({"outcome": "done"}, "outcome"),
        ({"summary": ""}, "summary"),
        ({"summary": "x" * 4_001}, "summary"),
        ({"retry_key": None}, "retry_key"),
        ({"data": {}}, "data.safe"),
        ({"data": {"safe": True, "risk": "middle"}}, "data.risk"),
        ({"data": {"safe": True, "rsik": "low"}}, "data.rsik"),
        ({"data": [1]}, "data"),
        ({"evidence": [{"kind": "file", "reference": "x"}] * 21}, "evidence"),
        ({"evidence": [{"kind": "file"}]}, "evidence[0].reference"),
        ({"attempt_id": "another"}, "attempt_id"),
        ({"protocol_version": True}, "protocol_version"),
    ],
)
def test_malformed_report_names_the_field_and_the_next_valid_one_is_accepted(
    server: GatewayServer, run_id: str, agent: Launched, changes: dict[str, Any], path: str
) -> None:
    version = server.view(run_id).version
    answer = server.report(agent.token, report(**changes))
    assert (answer["code"], answer["retry"]) == ("invalid", "fix_and_resend")
    assert [each["path"] for each in answer["fields"]] == [path]
    assert all(each["problem"] and each["expected"] for each in answer["fields"])
    assert server.view(run_id).version == version
    assert server.report(agent.token, report())["ok"]


def test_report_without_any_arguments_names_everything_that_is_missing(
    server: GatewayServer, agent: Launched
) -> None:
    answer = server.report(agent.token, {})
    paths = [each["path"] for each in answer["fields"]]
    assert paths == ["protocol_version", "retry_key", "outcome", "summary"]


def test_another_protocol_version_has_its_own_code(server: GatewayServer, agent: Launched) -> None:
    answer = server.report(agent.token, report(protocol_version=2))
    assert (answer["code"], answer["retry"]) == ("unsupported_version", "fix_and_resend")


def test_fresh_token_of_the_same_attempt_gets_the_old_receipt(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    """The reminder comes with a token of its own; the receipt belongs to the attempt."""
    server.host.finish(agent.attempt_id)
    fresh = server.host.token_after(agent)
    first = server.report(agent.token, report())
    again = server.report(fresh, report())
    assert again["receipt"] == {**first["receipt"], "duplicate": True}


def test_refused_reports_do_not_use_up_the_reminder(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    server.report(agent.token, report(outcome="done"))
    server.host.finish(agent.attempt_id)
    server.until(run_id, "reminder_delivered")
    assert server.report(agent.token, report())["ok"]


def test_report_that_cannot_be_judged_asks_for_the_same_again(
    server: GatewayServer, run_id: str, agent: Launched, worker_loss: Callable[[], None]
) -> None:
    worker_loss()
    answer = server.report(agent.token, report())
    assert (answer["code"], answer["retry"]) == ("worker_lost", "resend_unchanged")
    server.tapped.after_tell = lambda message, answer: None
    assert server.report(agent.token, report())["ok"]


@pytest.fixture
def worker_loss(server: GatewayServer) -> Callable[[], None]:
    def lose(message: Message, answer: Answer) -> None:
        raise WorkerLostError("for good")

    def begin() -> None:
        server.tapped.after_tell = lose

    return begin


def test_no_token_and_no_payload_reaches_the_trace_or_the_run(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    server.report(agent.token, report())
    shown = server.view(run_id).model_dump_json() + "".join(
        entry.model_dump_json() for entry in server.client.trace(run_id)
    )
    assert agent.token not in shown
    assert "token_digest" not in shown


def test_report_that_a_full_disk_kept_out_asks_for_the_same_again(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    def full(message: Message, answer: Answer) -> None:
        raise JournalFullError("no room for a lease")

    server.tapped.after_tell = full
    answer = server.report(agent.token, report())
    assert (answer["code"], answer["retry"]) == ("journal_full", "resend_unchanged")
