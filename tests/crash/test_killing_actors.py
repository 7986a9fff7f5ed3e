"""Goal: the death of any one process of the engine changes no history and launches nothing twice.

Method: one real server; a run is started, one kind of actor is killed with SIGKILL while an
agent is at work, and the run must come to its gate as if nothing had happened.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.runtime.views.trace import trace_signature
from tests.harness.hosts import wait_until
from tests.harness.server import SCRIPT, WORKFLOW, Server

pytestmark = pytest.mark.timeout(600)

# The agent is still at work until the test has done its harm.
WAITING = SCRIPT.replace(
    '    - write: {path: red, text: "1"}\n',
    "    - touch: at-work\n    - wait_for_file: {path: harm-done}\n"
    '    - write: {path: red, text: "1"}\n',
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("actors")) as running:
        scripts = running.repository / ".pointsman" / "scripts"
        (scripts / "waiting.yaml").write_text(WAITING)
        yield running


@pytest.fixture(scope="module")
def undisturbed(server: Server) -> object:
    run_id = server.begin("undisturbed")
    server.until(run_id, "awaiting_review")
    with server.client() as client:
        return trace_signature(client.trace(run_id))


@pytest.mark.parametrize("title", ["_RunWorker", "_SupervisorActor", "_HostActor"])
def test_a_run_survives_the_death_of_an_actor(
    server: Server, undisturbed: object, title: str
) -> None:
    definition = WORKFLOW.replace("script: quick", "script: waiting")
    run_id = server.begin(title, definition)
    wait_until(lambda: server.view(run_id).workspace_path is not None)
    workspace = Path(server.view(run_id).workspace_path or "")
    wait_until((workspace / "at-work").exists)
    doomed = server.actors(title)
    assert doomed, "the actor has a process"
    for pid in doomed:
        os.kill(pid, signal.SIGKILL)
    (workspace / "harm-done").touch()
    server.until(run_id, "awaiting_review")
    with server.client() as client:
        assert trace_signature(client.trace(run_id)) == undisturbed
    assert server.launches(run_id) == 4, "two visits of the agent and two of the check"


def test_a_start_that_is_repeated_around_a_kill_of_everything_makes_one_run(
    server: Server,
) -> None:
    first = server.begin("once")
    server.kill()
    server.start()
    assert server.begin("once") == first
    server.until(first, "awaiting_review")
    assert server.launches(first) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", ["before_commit:3", "after_commit:3", "before_act:2", "after_act:2"]
)
def test_a_run_actor_that_dies_at_every_nth_step_still_brings_the_run_to_its_gate(
    tmp_path: Path, undisturbed: object, place: str
) -> None:
    with Server(tmp_path, POINTSMAN_CRASH_AT=place) as dying:
        run_id = dying.begin()
        dying.until(run_id, "awaiting_review", 400)
        with dying.client() as client:
            assert trace_signature(client.trace(run_id)) == undisturbed
        assert dying.launches(run_id) == 4
