"""Branch actors as real processes: what their callers are told when the host or they are gone."""

import asyncio
import os
import secrets
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from pointsman.actors.host import HostUnavailableError
from pointsman.actors.ray_handles.branches import RayBranchWorker, RayBranchWorkers
from pointsman.actors.ray_handles.hosts import spawn_host
from pointsman.actors.ray_handles.start import start_ray, stop_ray
from pointsman.actors.workers import WorkerLostError
from pointsman.graph.commands import ObserveCheckout
from pointsman.graph.intents import ReleaseWorkspace, VerifyCheckout
from pointsman.graph.review_events import Moment
from pointsman.graph.work import WorkPhase
from pointsman.runtime import in_actors
from pointsman.runtime.config import DataDirectory

pytestmark = [pytest.mark.slow, pytest.mark.ray]

BRANCH = "r0-01j00000000000000000000000.reviewers.1.code"
ATTEMPT = f"{BRANCH}.1"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataDirectory]:
    """A data directory with a host that is a Ray actor."""
    made = DataDirectory(tmp_path_factory.mktemp("ray") / "data")
    made.create()
    folder = Path("/tmp") / f"pm-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    start_ray(folder)
    try:
        spawn_host(partial(in_actors.host, made), 0)
        yield made
    finally:
        stop_ray(folder)


@pytest.fixture
def worker(data: DataDirectory) -> Iterator[RayBranchWorker]:
    made = RayBranchWorkers(0, "http://127.0.0.1:9/mcp").spawn()
    yield made
    made.end()


def processes() -> list[psutil.Process]:
    """The branch actors below this process."""
    below = psutil.Process().children(recursive=True)
    return [each for each in below if each.cmdline()[0].startswith("ray::_BranchWorker")]


def test_a_fact_of_the_host_comes_through_two_processes(worker: RayBranchWorker) -> None:
    order = VerifyCheckout(
        intent_id="verify",
        run_id=BRANCH.partition(".")[0],
        attempt_id=ATTEMPT,
        moment=Moment.LAUNCH,
        workspace_key=f"wf:{BRANCH}",
        commit="1" * 40,
    )
    seen = asyncio.run(worker.perform(order))
    assert isinstance(seen, ObserveCheckout)
    assert seen.checkout.unreadable
    assert asyncio.run(worker.look(ATTEMPT)).phase is WorkPhase.GONE


def test_a_host_that_fails_is_told_as_unavailable(
    data: DataDirectory, worker: RayBranchWorker
) -> None:
    order = ReleaseWorkspace(
        intent_id="release", run_id=BRANCH.partition(".")[0], workspace_key=f"wf:{BRANCH}"
    )
    record = data.host / "effects" / "release.json"
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text("no record")
    with pytest.raises(HostUnavailableError) as told:
        asyncio.run(worker.perform(order))
    assert type(told.value) is HostUnavailableError


def test_a_worker_that_is_killed_is_told_as_lost(worker: RayBranchWorker) -> None:
    asyncio.run(worker.look(ATTEMPT))
    for process in processes():
        os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(WorkerLostError):
        asyncio.run(worker.look(ATTEMPT))
