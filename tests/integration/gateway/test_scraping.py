"""Goal: what ``/metrics`` shows agrees with the journal, names no run, and is shown to few."""

import re
from collections import Counter
from itertools import product

import httpx
import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families

from pointsman.actors.metric_labels import REPORT_CODES, SqlOutcome, WorktreeRole
from pointsman.actors.metrics import DECLARED, EVENTS
from pointsman.actors.workers import WorkerLostError
from pointsman.graph.projection import AttentionKind
from pointsman.graph.run import RunState
from tests.harness.core import envelope
from tests.harness.fake_host import Launched
from tests.harness.gateway import METRICS_TOKEN, OPERATOR_TOKEN, GatewayServer
from tests.integration.gateway.steps import at_the_gate, both_journals, decide

BEARER = {"Authorization": f"Bearer {METRICS_TOKEN}"}
_SUFFIXES = {
    "counter": ("",),
    "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count"),
}


def scraped(server: GatewayServer, **headers: str) -> dict[str, Metric]:
    response = httpx.get(f"{server.url}/metrics", headers={**BEARER, **headers})
    assert response.status_code == 200, response.text
    return {each.name: each for each in text_string_to_metric_families(response.text)}


class Scraped:
    """One scrape, asked for single numbers."""

    def __init__(self, server: GatewayServer) -> None:
        families = scraped(server)
        self.samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in families.values()
            for sample in family.samples
        }

    def __call__(self, name: str, **labels: str) -> float:
        return self.samples[f"pointsman_{name}", frozenset(labels.items())]


def test_every_declared_metric_is_shown_with_all_its_labels_and_nothing_else(
    server: GatewayServer,
) -> None:
    shown: dict[str, set[frozenset[tuple[str, str]]]] = {}
    for name, labels in Scraped(server).samples:
        shown.setdefault(name, set()).add(frozenset((k, v) for k, v in labels if k != "le"))
    expected: dict[str, set[frozenset[tuple[str, str]]]] = {}
    for declared in DECLARED.values():
        series = {
            frozenset(zip(declared.labels, values, strict=True))
            for values in product(*declared.labels.values())
        }
        for suffix in _SUFFIXES[declared.kind]:
            expected[declared.name + suffix] = series
    # A journal in memory has no file, nobody has asked the history, and nobody collects spans.
    absent = {
        "pointsman_journal_used_bytes",
        "pointsman_journal_map_bytes",
        "pointsman_history_position",
        "pointsman_history_lag_transitions",
        "pointsman_spans_position",
        "pointsman_spans_lag_transitions",
    }
    assert shown.keys() - expected.keys() == set()
    assert expected.keys() - shown.keys() == absent
    for name, series in shown.items():
        assert series == expected[name], name


def test_a_run_is_seen_in_the_numbers_from_its_start_to_its_end(
    server: GatewayServer, definition: str
) -> None:
    run_id, gate = at_the_gate(server, definition)
    seen = Scraped(server)
    assert seen("runs", state=RunState.AWAITING_REVIEW) == 1
    assert seen("attention_items", kind=AttentionKind.AWAITING_REVIEW, age="minutes") == 1
    assert seen("attention_oldest_seconds", kind=AttentionKind.AWAITING_REVIEW) >= 0
    assert seen("run_actors", place="leased") + seen("run_actors", place="passivated") == 1
    assert seen("intents_total", kind="launch_execution", outcome="taken") == 1
    assert seen("provider_launches_total", provider="scripted", outcome="taken") == 1
    assert seen("outbox_depth") == 0
    assert seen("mailbox_depth") == 0
    assert seen("reports_accepted_total") == 1
    decide(server, run_id, gate)
    ended = Scraped(server)
    assert ended("runs", state=RunState.COMPLETED) == 1
    assert ended("runs", state=RunState.AWAITING_REVIEW) == 0
    assert ended("attention_items", kind=AttentionKind.AWAITING_REVIEW, age="minutes") == 0
    assert ended("command_duration_seconds_count", command="decide_gate") == 1
    assert ended("supervisor_up") == 1


@both_journals
def test_counts_of_events_and_commits_are_those_of_the_journal(
    server: GatewayServer, definition: str
) -> None:
    run_id, gate = at_the_gate(server, definition)
    decide(server, run_id, gate)
    seen = Scraped(server)
    kinds = Counter(entry.kind for entry in server.client.trace(run_id))
    shown = {kind: seen("events_total", event=kind) for kind in EVENTS.labels["event"]}
    assert {kind: count for kind, count in shown.items() if count} == kinds
    assert seen("commit_duration_seconds_count") == seen("journal_transitions")


def test_reports_are_counted_by_what_they_were_answered(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    report = envelope(data={"safe": True})
    assert server.report(agent.token, envelope(data={"safe": "yes"}))["code"] == "invalid"
    assert server.report(agent.token, report)["ok"]
    assert server.report(agent.token, report)["receipt"]["duplicate"]
    assert server.report(agent.token, report | {"retry_key": "k2"})["code"] == "conflict"
    assert httpx.post(f"{server.url}/mcp", headers={"Authorization": "Bearer x"}).is_error
    seen = Scraped(server)
    assert seen("reports_accepted_total") == 1
    assert seen("reports_repeated_total") == 1
    refused = {code: seen("reports_refused_total", code=code) for code in REPORT_CODES}
    counted = {code: count for code, count in refused.items() if count}
    assert counted == {"invalid": 1, "conflict": 1, "unauthorized": 1}
    assert seen("commands_rejected_total", code="conflict") == 1
    assert seen("commands_rejected_total", code="invalid") == 1


def test_queries_of_the_history_are_counted_by_how_they_ended(server: GatewayServer) -> None:
    for statement in ("SELECT 1", "SELECT 2", "DROP TABLE runs", "SELECT nonsense FROM runs"):
        asked = {"statement": statement}
        headers = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}
        httpx.post(f"{server.url}/api/sql", json=asked, headers=headers)
    seen = Scraped(server)
    counted = {outcome: seen("sql_queries_total", outcome=outcome) for outcome in SqlOutcome}
    shown = {outcome: count for outcome, count in counted.items() if count}
    assert shown == {SqlOutcome.ANSWERED: 2, SqlOutcome.REFUSED: 1, SqlOutcome.FAILED: 1}
    assert seen("sql_query_duration_seconds_count") == 4
    assert seen("history_lag_transitions") == 0


def test_no_name_of_a_run_a_workflow_or_a_place_is_in_a_scrape(
    server: GatewayServer, definition: str
) -> None:
    run_id, _ = at_the_gate(server, definition)
    text = httpx.get(f"{server.url}/metrics", headers=BEARER).text
    for name in (run_id, run_id.removeprefix("r0-"), "implement", "/repo", "ann", "Approve"):
        assert not re.search(rf'"[^"]*{re.escape(name)}[^"]*"', text), name


def test_worktrees_are_shown_by_whose_they_are(server: GatewayServer) -> None:
    server.worktrees = {WorktreeRole.PRIMARY: 2, WorktreeRole.REVIEWER: 3}
    seen = Scraped(server)
    assert (seen("worktrees", role="primary"), seen("worktrees", role="reviewer")) == (2, 3)


def test_without_a_supervisor_the_rest_is_still_shown(
    server: GatewayServer, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone() -> dict[str, int]:
        raise WorkerLostError("gone")

    monkeypatch.setattr(server.tapped, "status", gone)
    seen = Scraped(server)
    assert seen("supervisor_up") == 0
    assert seen("runs", state=RunState.RUNNING) == 1
    assert ("pointsman_run_actors", frozenset({("place", "leased")})) not in seen.samples


def test_it_is_written_as_the_client_asks(server: GatewayServer) -> None:
    accept = "application/openmetrics-text; version=1.0.0"
    response = httpx.get(f"{server.url}/metrics", headers={**BEARER, "Accept": accept})
    assert response.headers["content-type"].startswith("application/openmetrics-text")
    assert len(list(open_families(response.text))) > 20  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("token", ["", "wrong", f"{METRICS_TOKEN}x"])
def test_metrics_need_a_token(server: GatewayServer, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    response = httpx.get(f"{server.url}/metrics", headers=headers)
    assert (response.status_code, response.json()["code"]) == (401, "unauthorized")


def test_the_operators_token_shows_metrics_too(server: GatewayServer) -> None:
    headers = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}
    assert httpx.get(f"{server.url}/metrics", headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/api/runs", "/api/metrics", "/mcp"])
def test_the_token_of_the_metrics_opens_nothing_else(server: GatewayServer, path: str) -> None:
    assert httpx.get(server.url + path, headers=BEARER).status_code == 401


def test_a_page_of_another_name_is_shown_no_metrics(server: GatewayServer) -> None:
    headers = {**BEARER, "Host": "evil.example"}
    assert httpx.get(f"{server.url}/metrics", headers=headers).status_code == 403
