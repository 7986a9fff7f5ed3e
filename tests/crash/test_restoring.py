"""Goal: a restored data directory goes on where it can, and starts nothing again by itself.

Method: one real server, backed up from the command line while a run waits at its gate and another
one's agent is at work; then everything is killed, and a server of the restored directory begins.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.runtime.care.verification import verify_data
from pointsman.runtime.cli.main import run as command_line
from pointsman.runtime.config import DataDirectory
from tests.harness.hosts import end_work_below, wait_until
from tests.harness.server import SCRIPT, WORKFLOW, Server

pytestmark = [pytest.mark.slow, pytest.mark.ray, pytest.mark.timeout(900)]

# The agent never ends by itself.
WAITING = SCRIPT.replace(
    '    - write: {path: red, text: "1"}\n',
    "    - touch: at-work\n    - wait_for_file: {path: never}\n",
)
WITHOUT_RESUME = WORKFLOW.replace("    resume: {max: 20}\n", "")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path) as running:
        (running.repository / ".pointsman" / "scripts" / "waiting.yaml").write_text(WAITING)
        yield running


@pytest.mark.parametrize("definition", [WORKFLOW, WITHOUT_RESUME], ids=["resuming", "plain"])
def test_a_waiting_run_is_approved_and_one_at_work_comes_back_unresolved(
    server: Server, tmp_path: Path, definition: str
) -> None:
    waiting = server.begin("waits")
    server.until(waiting, "awaiting_review")
    at_work = server.begin("works", definition.replace("script: quick", "script: waiting"))
    wait_until(lambda: server.view(at_work).workspace_path is not None)
    wait_until((Path(server.view(at_work).workspace_path or "") / "at-work").exists)
    backup, restored = tmp_path / "backup", tmp_path / "restored"
    assert command_line(["backup", str(backup), "--data", str(server.data.path)]) == 0
    server.stop()
    end_work_below(server.data.path)

    assert command_line(["restore", str(backup), "--data", str(restored)]) == 0
    assert verify_data(DataDirectory(restored)) == (2, ())
    lost, server.data = server.data, DataDirectory(restored)
    server.start()
    view = server.until(at_work, "unresolved")
    allowed = {action.action.value for action in view.allowed_actions}
    assert {"retry", "cancel"} <= allowed
    assert server.launches(at_work) == 0

    assert command_line(["approve", waiting, "--data", str(restored)]) == 0
    assert server.until(waiting, "completed").ended_at is not None
    assert command_line(["cancel", at_work, "--data", str(restored)]) == 0
    assert verify_data(DataDirectory(restored)) == (2, ())
    server.stop()
    end_work_below(restored)
    server.data = lost
