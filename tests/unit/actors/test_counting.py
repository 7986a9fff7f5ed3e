"""Goal: what the actors do is counted where it happens, once, and by what came of it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.actors import metrics
from pointsman.actors.mailbox import Mailbox
from pointsman.actors.messages import Answer, Message
from pointsman.actors.shared_counts import counting, merged
from pointsman.graph import commands as cmd
from pointsman.graph.rejections import Rejected
from pointsman.graph.replies import Reply
from pointsman.graph.run import RunState
from tests.unit.actors.test_supervisor import HOUR_MS, Bench, story


class Counted:
    """What was counted since the test began."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, name: str, **labels: str) -> float:
        return sum(
            sample.value
            for family in merged(self._folder)
            for sample in family.samples
            if sample.name == f"pointsman_{name}" and labels.items() <= sample.labels.items()
        )


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Counted]:
    with counting(tmp_path / "counts"):
        yield Counted(tmp_path / "counts")


async def launched(bench: Bench) -> str:
    run_id = await bench.begin()
    await bench.until(lambda: bench.status(run_id) == "launched")
    return run_id


def test_a_run_that_is_launched_counts_its_lease_its_commits_and_what_it_ordered(
    counted: Counted,
) -> None:
    @story
    async def tell(bench: Bench) -> None:
        await launched(bench)
        assert counted("leases_total") == 1
        assert counted("leases_lost_total") == 0
        assert counted("commit_duration_seconds_count") == bench.journal.last_position()
        assert counted("intents_total", kind="prepare_workspace", outcome="taken") == 1
        assert counted("intents_total", kind="launch_execution", outcome="taken") == 1
        assert counted("provider_launches_total", outcome="taken") == 1

    tell()


def test_a_run_whose_worker_dies_loses_its_lease_and_one_that_waits_is_passivated(
    counted: Counted,
) -> None:
    @story
    async def tell(bench: Bench) -> None:
        run_id = await launched(bench)
        bench.kill_workers()
        await bench.supervisor.wake(f"{run_id}.implement.1.1")
        await bench.supervisor.tell(Message(run_id, cmd.Advance()))
        assert counted("leases_lost_total", reason="worker_lost") == 1
        assert counted("leases_lost_total") == 1
        assert counted("leases_total") == 2
        await bench.supervisor.start()

        def passivated() -> bool:
            bench.clock.at_ms += 1_000
            return bench.supervisor.status()["workers_lent"] == 0

        await bench.until(passivated)
        await bench.until(lambda: counted("passivations_total") == 1)
        assert bench.supervisor.status()["workers_idle"] >= 1

    tell()


def test_a_deadline_is_counted_once_by_its_kind_and_how_late_it_was(counted: Counted) -> None:
    @story
    async def tell(bench: Bench) -> None:
        run_id = await launched(bench)
        bench.clock.at_ms += 3 * HOUR_MS
        await bench.supervisor.start()
        await bench.until(
            lambda: (row := bench.journal.summary(run_id)) and row.state is RunState.UNRESOLVED
        )
        fired = {"kind": "execution_timeout"}
        await bench.until(lambda: counted("deadline_lateness_seconds_count", **fired))
        assert counted("deadline_lateness_seconds_count") == 1
        assert counted("deadline_lateness_seconds_sum", **fired) >= 3600

    tell()


def test_refusals_are_counted_by_their_code(counted: Counted) -> None:
    @story
    async def tell(bench: Bench) -> None:
        run_id = await launched(bench)
        for _ in range(2):
            late = cmd.FireDeadline(deadline_id=f"{run_id}.implement.1.1:timeout")
            answer = await bench.supervisor.tell(Message(run_id, late))
            assert isinstance(answer, Rejected)
        assert counted("commands_rejected_total", code="not_due") == 2
        assert counted("commands_rejected_total") == 2

    tell()


def test_an_unreachable_host_is_counted_for_each_try(counted: Counted) -> None:
    @story
    async def tell(bench: Bench) -> None:
        bench.host.reachable = False
        await bench.begin()
        tried = {"kind": "prepare_workspace", "outcome": "host_unavailable"}
        await bench.until(lambda: counted("intents_total", **tried) >= 2)
        bench.host.reachable = True
        await bench.until(lambda: counted("intents_total", kind="launch_execution") == 1)

    tell()


def test_a_mailbox_shows_how_many_wait_in_it_and_counts_whom_it_refused(counted: Counted) -> None:
    depths: list[float] = []

    def handle(message: Message) -> Answer:
        depths.append(counted("mailbox_depth"))
        return Reply(run_id=message.run_id)

    async def tell() -> None:
        box = Mailbox(handle, 3)
        await asyncio.gather(*(box.put(Message(f"r{n}", cmd.Advance())) for n in range(5)))

    asyncio.run(tell())
    assert depths == [2, 1, 0]
    assert counted("mailbox_depth") == 0
    assert counted("mailbox_full_total") == 2


@pytest.mark.parametrize("declared", metrics.DECLARED.values(), ids=lambda each: each.name)
def test_a_metric_is_named_as_prometheus_wants_it_and_its_labels_are_bounded(
    declared: metrics.Declared,
) -> None:
    assert declared.name.startswith("pointsman_")
    assert declared.name.endswith("_total") == (declared.kind == "counter")
    if declared.kind == "histogram":
        assert declared.name.endswith("_seconds")
    series = 1
    for label, values in declared.labels.items():
        assert len(set(values)) == len(values) > 0
        assert not {"run", "run_id", "workflow", "repository", "path"} & {label}
        series *= len(values)
    assert series <= 100
    assert declared.help.endswith(".")
