"""Goal: with a collector configured, a run is one trace there, also past kills and outages.

Method: a real server with real agents, and a collector on the loopback that speaks OTLP.
"""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.proto.trace.v1.trace_pb2 import Status as SpanStatus

from pointsman.graph import ids
from pointsman.runtime.discovery import running_server
from pointsman.runtime.spans.span import ref_of, traceparent
from tests.harness.collector import SpanCollector
from tests.harness.hosts import git, wait_until
from tests.harness.server import Server

ASKER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TELLING = """
steps:
  - run: printf %s "$TRACEPARENT" > told
  - commit: Tell
  - report: {outcome: completed, summary: Told.}
"""
TOLD = """
pointsman: 1
id: told
name: Told
entry: implement
nodes:
  implement:
    kind: agent
    agent: {provider: scripted, options: {script: telling}}
    instructions: Tell.
    next: done
  done: {kind: end}
"""

pytestmark = [pytest.mark.slow, pytest.mark.ray, pytest.mark.timeout(240)]


@pytest.fixture
def collector() -> Iterator[SpanCollector]:
    with SpanCollector() as made:
        yield made


@pytest.fixture
def server(tmp_path: Path, collector: SpanCollector) -> Iterator[Server]:
    with Server(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url) as made:
        yield made


def of_run(collector: SpanCollector, run_id: str) -> list[Span]:
    trace = ref_of(run_id).trace.to_bytes(16)
    return [each for each in collector.spans if each.trace_id == trace]


def until_told(collector: SpanCollector, run_id: str) -> list[Span]:
    own = ref_of(run_id).span.to_bytes(8)
    wait_until(lambda: any(each.span_id == own for each in of_run(collector, run_id)), 60)
    return of_run(collector, run_id)


def test_a_run_is_one_trace_past_a_kill_of_everything_and_a_collector_that_was_away(
    server: Server, collector: SpanCollector
) -> None:
    collector.refuses = True
    run_id = server.begin()
    server.kill()
    server.start()
    server.until(run_id, "awaiting_review")
    assert collector.spans == []
    collector.refuses = False
    with server.client() as client:
        client.cancel(run_id, requested_by="test", command_id="cancel")
    spans = until_told(collector, run_id)
    ids = [each.span_id for each in spans]
    assert len(ids) == len(set(ids)), "nothing was taken twice"
    (root,) = [each for each in spans if not each.parent_span_id]
    assert root.name == "run quick"
    assert {each.parent_span_id for each in spans} <= {b"", *ids}
    assert len([each for each in spans if each.name == "visit implement"]) == 2
    red, green = (each for each in spans if each.name == "check tests")
    assert {red.status.code, green.status.code} == {
        SpanStatus.STATUS_CODE_UNSET,
        SpanStatus.STATUS_CODE_ERROR,
    }
    reports = [each for each in spans if each.name == "command submit_report"]
    attempts = {each.span_id for each in spans if each.name == "attempt implement"}
    assert {each.parent_span_id for each in reports} <= attempts


def test_a_command_is_part_of_its_askers_trace_and_an_agent_is_told_its_own(
    server: Server, collector: SpanCollector
) -> None:
    script = server.repository / ".pointsman" / "scripts" / "telling.yaml"
    script.write_text(TELLING)
    git(server.repository, "add", "-A")
    git(server.repository, "commit", "-qm", "Telling")
    address = running_server(server.data)
    assert address is not None
    asked = {
        "definition": TOLD,
        "source": "told.yaml",
        "repository": str(server.repository),
        "started_by": "test",
        "command_id": "start",
    }
    headers = {"Authorization": f"Bearer {address.token}", "traceparent": ASKER}
    started = httpx.post(f"{address.url}/api/runs", json=asked, headers=headers, timeout=60)
    run_id = started.json()["run_id"]
    until_told(collector, run_id)
    (command,) = collector.named("command start_run")
    asker = (command.trace_id.hex(), command.parent_span_id.hex())
    assert asker == tuple(ASKER.split("-")[1:3])
    (link,) = command.links
    assert link.span_id == ref_of(run_id).span.to_bytes(8)
    (attempt,) = collector.named("attempt implement")
    told = git(server.repository, "show", f"{ids.branch_name(run_id)}:told")
    assert told == traceparent(f"{run_id}.implement.1.1")
    assert attempt.span_id.hex() == told.split("-")[2]
