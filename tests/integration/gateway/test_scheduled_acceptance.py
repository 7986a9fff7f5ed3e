"""Goal: the acceptance graph run by hand and from a schedule leaves the same trace.

Method: the packaged workflow itself (implementation, tests, three reviewers, one repeat, a gate)
is started both ways on one server and driven through the same reports; only times, ids and who
started it may differ.
"""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from pointsman.runtime.definitions import find_definition
from tests.harness.core import envelope
from tests.harness.gateway import GatewayServer
from tests.harness.journals import OpenJournal
from tests.harness.schedule_bench import schedule_bench
from tests.integration.gateway.steps import decide

INPUTS: Final = {"task": "Tell the next train"}
BRANCH: Final = re.compile(r"reviewers\.\d+\.(correctness|security|ux)")
# What tells two runs of one process apart: when, who, and what the host minted.
OWN: Final = frozenset({"started_by", "token_digest", "host_ref"})


def report(server: GatewayServer, run_id: str, step: str, number: int, **data: Any) -> None:
    """Report for an agent and let it end, once its launch, the ``number``-th, is recorded."""
    agent = server.host.launched(f"{run_id}.{step}")
    server.until(run_id, "attempt_launched", number)
    assert server.report(agent.token, envelope(data=data))["ok"]
    server.host.finish(agent.attempt_id)


def drive(server: GatewayServer, run_id: str) -> None:
    """Bring a run through one wish for changes to its end."""
    for visit, verdict in ((1, "request_changes"), (2, "approve")):
        launched = 4 * (visit - 1)
        report(server, run_id, f"implement.{visit}.1", launched + 1, files_changed=1, risk="low")
        check = server.host.check_started(f"{run_id}.unit-tests.{visit}.1")
        server.until(run_id, "check_launched", visit)
        server.host.exit_check(check, 0)
        for branch in ("correctness", "security", "ux"):
            step = f"reviewers.{visit}.{branch}.1"
            report(server, run_id, step, launched + 4, verdict=verdict, blockers=0)
    server.until(run_id, "run_suspended")
    gate = server.view(run_id).gate
    assert gate is not None
    decide(server, run_id, gate)


def told(server: GatewayServer, run_id: str) -> dict[str, list[str]]:
    """The trace without what tells runs apart; reviewers work beside one another, so each apart."""
    streams = defaultdict(list)
    who = server.view(run_id).started_by
    for entry in server.client.trace(run_id):
        shared = {key: value for key, value in entry.data.items() if key not in OWN}
        text = f"{entry.kind} {entry.text} {shared}"
        text = text.replace(run_id, "RUN").replace(f"started by {who}", "started")
        named = set(BRANCH.findall(text))
        streams[named.pop() if len(named) == 1 else "run"].append(text)
    return dict(streams)


def test_the_acceptance_graph_by_hand_and_from_a_schedule_gives_the_same_trace(
    opener: OpenJournal, tmp_path: Path, definition: str
) -> None:
    for skill in ("code-review", "ux-review"):
        folder = tmp_path / ".agents" / "skills" / skill
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text("Look closely.")
    with schedule_bench(opener, tmp_path, definition) as bench:
        found = find_definition("reviewed-change", bench.project)
        by_hand = bench.server.client.start(
            definition=found.text,
            source=found.source,
            repository=str(bench.project),
            inputs=dict(INPUTS),
            started_by="ann",
            command_id="by hand",
        ).run_id
        bench.put(workflow="reviewed-change", inputs=INPUTS)
        bench.at("2026-12-01T02:00+00:00")
        (occurrence,) = bench.occurrences()
        scheduled = occurrence.run_id
        assert scheduled is not None
        assert scheduled != by_hand
        drive(bench.server, by_hand)
        drive(bench.server, scheduled)
        views = [bench.server.view(run_id) for run_id in (by_hand, scheduled)]
        assert [view.state for view in views] == ["completed", "completed"]
        assert views[0].workflow == views[1].workflow
        assert occurrence.definition_digest == views[1].workflow.digest
        by_hand_told, scheduled_told = told(bench.server, by_hand), told(bench.server, scheduled)
        assert set(by_hand_told) == {"run", "correctness", "security", "ux"}
        for stream, lines in by_hand_told.items():
            assert "\n".join(lines) == "\n".join(scheduled_told[stream])
