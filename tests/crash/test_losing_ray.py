"""Goal: a server whose Ray dies, or whose actors outlive it, neither hangs nor leaves anything.

Method: one real server; an agent is held at work while the raylet, the GCS or the server alone is
killed. The server must end by itself in seconds with all its actors, and the next one must bring
the run to its gate as if nothing had happened.
"""

import os
import signal
from pathlib import Path

import pytest

from pointsman.actors.ray_handles.leftovers import processes_of
from pointsman.runtime.views.trace import trace_signature
from tests.crash.test_killing_actors import WAITING
from tests.harness.hosts import wait_until
from tests.harness.processes import engine_of, of_kind
from tests.harness.server import WORKFLOW, Server

pytestmark = [pytest.mark.ray, pytest.mark.timeout(240)]

END_WITHIN_S = 30


@pytest.mark.parametrize("kind", ["raylet", pytest.param("gcs", marks=pytest.mark.slow), "server"])
def test_a_run_survives_the_loss_of_ray_or_of_the_server_alone(tmp_path: Path, kind: str) -> None:
    with Server(tmp_path) as server:
        (server.repository / ".pointsman" / "scripts" / "waiting.yaml").write_text(WAITING)
        run_id = server.begin("start", WORKFLOW.replace("script: quick", "script: waiting"))
        wait_until(lambda: server.view(run_id).workspace_path is not None)
        workspace = Path(server.view(run_id).workspace_path or "")
        wait_until((workspace / "at-work").exists)
        folder = Path(server.data.ray.read_text())
        (doomed,) = of_kind(kind, server.data.path)
        os.kill(doomed, signal.SIGKILL)
        server.until_ended(END_WITHIN_S)
        wait_until(lambda: not folder.exists() and not engine_of(server.data.path))
        assert not list(processes_of(folder))
        server.start()
        (workspace / "harm-done").touch()
        server.until(run_id, "awaiting_review")
        with server.client() as client:
            kinds = [each[0] for each in trace_signature(client.trace(run_id))]
        assert kinds.count("report") == 2
        assert server.launches(run_id) == 4, "two visits of the agent and two of the check"
        assert len(of_kind("supervisor", server.data.path)) == 1
