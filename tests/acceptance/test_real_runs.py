"""What agents do to a run, over the whole real stack: Ray, LMDB, git, processes, the MCP tool."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.runtime.views.queries import RunView
from tests.harness.hosts import wait_until
from tests.harness.processes import agents_of
from tests.harness.server import Server

pytestmark = [pytest.mark.slow, pytest.mark.ray, pytest.mark.timeout(900)]

ONE_AGENT = """
pointsman: 1
id: one-agent
name: One agent
entry: work
nodes:
  work:
    kind: agent
    agent: {provider: scripted, options: {script: SCRIPT}}
    instructions: Do it.
    next: look
  look: {kind: gate, title: Look at it}
"""
REPORT = "{outcome: completed, summary: Done.}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("real")) as running:
        yield running


def begin(server: Server, name: str, steps: str) -> str:
    """Start a run of one agent that follows these steps."""
    script = server.repository / ".pointsman" / "scripts" / f"{name}.yaml"
    script.write_text(steps)
    return server.begin(name, ONE_AGENT.replace("SCRIPT", name))


def kinds(server: Server, run_id: str) -> list[str]:
    with server.client() as client:
        return [entry.kind for entry in client.trace(run_id)]


def reason(view: RunView) -> str | None:
    return view.unresolved.reason if view.unresolved is not None else None


def test_text_that_looks_like_a_report_or_a_promise_is_none(server: Server) -> None:
    looks_like = '{"name": "workflow_report", "arguments": {"outcome": "completed"}}'
    steps = f"steps:\n  - say: '{looks_like}'\n  - say: <promise>DONE</promise>\n"
    run_id = begin(server, "looks-like", steps + "on_reminder:\n  - say: CEZ:DONE\n")
    view = server.until(run_id, "unresolved")
    assert reason(view) == "report_missing"
    told = kinds(server, run_id)
    assert "report_accepted" not in told
    assert told.count("reminder_issued") == told.count("reminder_delivered") == 1
    assert [each.action for each in view.allowed_actions] == ["retry", "cancel"]


@pytest.mark.parametrize("ending", ["crash: {exit_code: 3}", "crash"])
def test_a_completed_claim_before_a_crash_is_never_success(server: Server, ending: str) -> None:
    name = f"crash-{'code' if '3' in ending else 'signal'}"
    run_id = begin(server, name, f"steps:\n  - report: {REPORT}\n  - {ending}\n")
    view = server.until(run_id, "unresolved")
    assert reason(view) == "work_failed"
    assert "report_accepted" in kinds(server, run_id)


def test_a_reported_run_goes_on_only_when_the_last_child_has_ended(server: Server) -> None:
    waiting = "background: {command: 'until test -e go; do sleep 0.1; done', own_session: true}"
    run_id = begin(server, "child", f"steps:\n  - {waiting}\n  - report: {REPORT}\n")
    wait_until(lambda: "report_accepted" in kinds(server, run_id))
    workspace = Path(server.view(run_id).workspace_path or "")
    assert server.view(run_id).state == "running"
    (workspace / "go").touch()
    server.until(run_id, "awaiting_review")


def test_cancel_ends_an_agent_that_ignores_sigterm_with_its_children(server: Server) -> None:
    steps = ("ignore_sigterm", "background: {command: sleep 1000}", "touch: up", "hang")
    run_id = begin(server, "stubborn", "steps:\n" + "".join(f"  - {each}\n" for each in steps))
    wait_until(lambda: server.view(run_id).workspace_path)
    workspace = Path(server.view(run_id).workspace_path or "")
    wait_until((workspace / "up").exists)
    with server.client() as client:
        reply = client.cancel(run_id, requested_by="ann", command_id="cancel", wait_s=30)
    assert (reply.ended, reply.still_ending, reply.processes_left) == (True, [], {})
    assert agents_of(server.data.path) == set()
    assert server.view(run_id).state == "canceled"


def test_an_agents_question_waits_for_a_person_and_costs_no_visit(server: Server) -> None:
    steps = f"steps:\n  - ask_approval: May I?\n  - report: {REPORT}\n"
    run_id = begin(server, "question", steps)
    wait_until(lambda: server.view(run_id).attention)
    (item,) = server.view(run_id).attention
    assert (item.kind, item.detail) == ("native_request", "May I?")
    (answer, *_) = [e for e in server.view(run_id).allowed_actions if e.action == "answer"]
    with server.client() as client:
        client.answer(
            run_id,
            attempt_id=answer.target,
            request_id=answer.request_id or "",
            allow=True,
            answered_by="ann",
            command_id="answer",
        )
    view = server.until(run_id, "awaiting_review")
    assert view.visits == {"work": 1, "look": 1}


def test_a_retry_is_a_new_attempt_that_reports_for_itself(server: Server) -> None:
    steps = f"steps:\n  - crash: {{exit_code: 1}}\ntries:\n  2:\n    - report: {REPORT}\n"
    run_id = begin(server, "again", steps)
    view = server.until(run_id, "unresolved")
    (retry, *_) = [each for each in view.allowed_actions if each.action == "retry"]
    with server.client() as client:
        client.retry(
            run_id,
            visit_id=retry.target,
            revision=retry.revision or 0,
            requested_by="ann",
            command_id="retry",
        )
    view = server.until(run_id, "awaiting_review")
    assert (view.visits["work"], view.visits_used) == (1, 3)
