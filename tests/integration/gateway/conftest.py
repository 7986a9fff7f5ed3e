"""A server over either journal, with a fake host and one workflow of an agent and a gate."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.runtime.config import DataDirectory
from pointsman.runtime.discovery import announcing
from tests.harness.core import envelope
from tests.harness.fake_host import FakeHost, Launched
from tests.harness.gateway import OPERATOR_TOKEN, GatewayServer
from tests.harness.journals import OpenJournal, lmdb_opener, memory_opener
from tests.integration.gateway.reviewed import DATA, REVIEWED, complete
from tests.integration.gateway.shell import Shell

DEFINITION = """
pointsman: 1
id: change
name: Change
inputs: {task: {type: string, required: true}}
entry: implement
nodes:
  implement:
    kind: agent
    agent: {provider: scripted}
    instructions: Do it.
    report:
      fields:
        safe: {type: boolean, required: true}
        risk: {type: enum, values: [low, high]}
        count: {type: number}
    next: verdict
  verdict:
    kind: decision
    rules:
      - {name: too risky, when: {field: report.implement.risk, eq: high}, to: rework}
    otherwise: approve
  rework: {kind: end, result: failed}
  approve:
    kind: gate
    title: Approve the change
    decisions: {approve: done, request_changes: {to: implement, repeat: {max: 1, at_limit: done}}}
  done: {kind: end}
"""


@pytest.fixture
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> OpenJournal:
    """The journal: in memory, or what a test asks for (``both_journals``)."""
    kind = getattr(request, "param", "memory")
    return memory_opener(tmp_path) if kind == "memory" else lmdb_opener(tmp_path)


@pytest.fixture
def server(opener: OpenJournal, tmp_path: Path) -> Iterator[GatewayServer]:
    with GatewayServer(opener, FakeHost(), tmp_path) as running:
        yield running


@pytest.fixture
def definition() -> str:
    return DEFINITION


@pytest.fixture
def run_id(server: GatewayServer, definition: str) -> str:
    return server.start(definition, task="greet")


@pytest.fixture
def agent(server: GatewayServer, run_id: str) -> Launched:
    launched = server.host.launched("implement.1.1")
    server.until(run_id, "attempt_launched")
    return launched


@pytest.fixture
def shell(
    server: GatewayServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Shell]:
    data = DataDirectory(tmp_path / "data")
    data.create()
    data.operator_token.write_text(OPERATOR_TOKEN)
    with announcing(data) as announce:
        announce(server.url)
        yield Shell(capsys, data.path)


@pytest.fixture
def reviewing(server: GatewayServer) -> str:
    """A run whose two reviewers are at work."""
    run_id = server.start(REVIEWED)
    agent = server.host.launched("implement.1.1")
    server.report(agent.token, envelope())
    server.host.finish(agent.attempt_id)
    for branch in DATA:
        server.host.launched(f"reviewers.1.{branch}.1")
    server.until(run_id, "attempt_launched", 3)
    return run_id


@pytest.fixture
def at_a_reviewed_gate(server: GatewayServer, reviewing: str) -> str:
    complete(server, "code", "ux")
    server.until(reviewing, "run_suspended")
    return reviewing
