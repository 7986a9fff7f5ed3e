"""Goal: a real Prometheus scrapes a running demonstration, and what it answers is the journal's.

Method: `pointsman serve` and `pointsman demo` as a user runs them, Prometheus with the packaged
configuration and rules beside them, and every number compared with a read of the journal. Then
workers are killed: counts of what is in the journal lose nothing by it.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
import yaml

from pointsman.actors.metrics import DECLARED
from pointsman.graph.run import RunState
from pointsman.runtime.app import open_journal_read_only
from pointsman.runtime.discovery import running_server
from tests.harness.collector import SpanCollector
from tests.harness.demonstration import Demonstration
from tests.harness.hosts import wait_until
from tests.harness.prometheus import MONITORING, Prometheus, program, promtool, scraping
from tests.harness.server import Server

pytestmark = [pytest.mark.slow, pytest.mark.ray, pytest.mark.timeout(600)]
_PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    program("prometheus")
    with (
        SpanCollector() as collector,
        Server(
            tmp_path_factory.mktemp("watched"), OTEL_EXPORTER_OTLP_ENDPOINT=collector.url
        ) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def prometheus(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    address = running_server(server.data)
    assert address is not None
    folder = tmp_path_factory.mktemp("prometheus") / "own"
    with scraping(urlsplit(address.url).netloc, server.data.metrics_token, folder) as running:
        wait_until(lambda: running.number('up{job="pointsman"}') == 1, _PATIENCE_S)
        yield running


class Written:
    """What the journal says, read beside the server."""

    def __init__(self, server: Server) -> None:
        journal = open_journal_read_only(server.data)
        assert journal is not None
        try:
            tally = journal.tally(0, 0)
            self.runs = {state.value: count for state, count in tally.runs.items() if count}
            self.waiting = Counter(each.kind.value for each in tally.waiting)
            self.position = tally.position
            self.outbox = tally.outbox
            events = [each.event for run in journal.runs() for each in journal.events(run.run_id)]
        finally:
            journal.close()
        self.events = Counter(each.kind for each in events)


def agrees(server: Server, same: Callable[[Written], bool]) -> None:
    """Wait for a scrape of what the journal says; it may move on while we look."""
    wait_until(lambda: same(Written(server)), _PATIENCE_S)


def packaged_rules() -> set[str]:
    groups = yaml.safe_load((MONITORING / "rules.yml").read_text())["groups"]
    return {rule.get("alert") or rule["record"] for group in groups for rule in group["rules"]}


def by_label(prometheus: Prometheus, expression: str, label: str) -> dict[str, float]:
    found = prometheus.ask(f"sum by ({label}) ({expression}) != 0")
    return {text.removeprefix(f"{label}="): value for text, value in found.items()}


def test_a_demonstration_is_seen_by_prometheus_as_the_journal_has_it(
    server: Server, prometheus: Prometheus
) -> None:
    shown = Demonstration(server.data.path)
    shown.finish(shown.begin())
    agrees(server, lambda it: by_label(prometheus, "pointsman_runs", "state") == it.runs)
    # The last worktrees are let go of beside the gate.
    only_the_runs_own = {"role=primary": 1, "role=reviewer": 0}
    wait_until(lambda: prometheus.ask("pointsman_worktrees") == only_the_runs_own, _PATIENCE_S)
    agrees(server, lambda it: prometheus.number("pointsman_outbox_depth") == it.outbox == 0)
    agrees(server, lambda it: by_label(prometheus, "pointsman_events_total", "event") == it.events)
    written = Written(server)
    assert written.runs == {RunState.AWAITING_REVIEW: 1}
    assert by_label(prometheus, "pointsman_attention_items", "kind") == written.waiting
    assert prometheus.number("pointsman_reports_accepted_total") == 9
    assert written.events["report_accepted"] == 9
    assert prometheus.number("pointsman_journal_transitions") == written.position
    assert prometheus.number("pointsman_commit_duration_seconds_count") == written.position
    assert prometheus.number("sum(pointsman_mailbox_depth)") == 0
    assert prometheus.ask("pointsman_provider_launches_total != 0") == {
        "outcome=taken,provider=scripted": written.events["attempt_launched"]
    }
    assert prometheus.ask("pointsman_host_connections") == {"host=local": 1, "host=remote": 0}
    wait_until(lambda: prometheus.number("pointsman_history_lag_transitions") == 0, _PATIENCE_S)
    wait_until(lambda: prometheus.number("pointsman_spans_lag_transitions") == 0, _PATIENCE_S)


def test_every_declared_metric_is_in_prometheus_and_none_is_stale(
    server: Server, prometheus: Prometheus
) -> None:
    wait_until(lambda: prometheus.number("pointsman_history_position"), _PATIENCE_S)
    names = {n for n in prometheus.get("label/__name__/values") if n.startswith("pointsman_")}
    for declared in DECLARED.values():
        suffixes = ("_bucket", "_sum", "_count") if declared.kind == "histogram" else ("",)
        assert {declared.name + suffix for suffix in suffixes} <= names
    labels = set(prometheus.get("labels")) - {"__name__", "instance", "job", "le"}
    known = {label for each in DECLARED.values() for label in each.labels}
    # Prometheus' own, of the alerts and of what it scrapes.
    assert labels <= known | {"alertname", "alertstate", "severity"}


def test_promtool_finds_nothing_to_say_about_a_real_scrape(server: Server) -> None:
    address = running_server(server.data)
    assert address is not None
    headers = {"Authorization": f"Bearer {server.data.metrics_token.read_text()}"}
    text = httpx.get(f"{address.url}/metrics", headers=headers).text
    assert promtool("check", "metrics", text=text).strip() == ""


def test_the_rules_are_evaluated_without_an_error_and_nobody_is_woken(
    prometheus: Prometheus,
) -> None:
    def evaluated() -> bool:
        groups = prometheus.get("rules")["groups"]
        return all(rule["lastEvaluation"][:4] != "0001" for g in groups for rule in g["rules"])

    wait_until(evaluated, _PATIENCE_S)
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    assert {rule["name"] for rule in rules} == packaged_rules()
    assert [rule["lastError"] for rule in rules if rule.get("lastError")] == []
    assert [rule["name"] for rule in rules if rule.get("state") == "firing"] == []
    assert prometheus.number("instance:pointsman_commit_duration_seconds:p99") is not None


def test_killed_workers_take_no_count_of_the_journal_along(
    server: Server, prometheus: Prometheus, tmp_path: Path
) -> None:
    kills = 0
    for number in range(2):
        run_id = server.begin(f"killed-{number}")
        server.until(run_id, "running")
        for pid in server.actors("_RunWorker"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                kills += 1
        server.until(run_id, "awaiting_review", 120)
    assert kills
    agrees(server, lambda it: by_label(prometheus, "pointsman_events_total", "event") == it.events)
    lost = prometheus.number("sum(pointsman_leases_lost_total)")
    assert lost is not None
    assert lost >= 1
    written = Written(server)
    assert prometheus.number("pointsman_journal_transitions") == written.position
    # What only a process knew may be gone with it: at most what it was just counting.
    counted = prometheus.number("pointsman_commit_duration_seconds_count")
    assert counted is not None
    assert written.position - kills <= counted <= written.position


def test_after_a_kill_of_everything_the_counts_are_of_what_was_committed_since(
    server: Server, prometheus: Prometheus
) -> None:
    run_id = server.begin("over-the-kill")
    server.until(run_id, "running")
    server.kill()
    before = Written(server)
    server.start()
    server.until(run_id, "awaiting_review", 120)

    def agree(written: Written) -> bool:
        since = written.events - before.events
        transitions = prometheus.number("pointsman_journal_transitions")
        shown = by_label(prometheus, "pointsman_events_total", "event")
        return transitions == written.position and shown == since

    agrees(server, agree)
    committed = prometheus.number("pointsman_commit_duration_seconds_count")
    assert committed == Written(server).position - before.position


def test_processes_that_come_and_go_leave_no_more_files_than_lived_at_once(
    server: Server,
) -> None:
    places = len(list(server.data.metrics.glob("place-*")))
    assert places <= 12, "the server, its host, supervisor and historian, and a few workers"
