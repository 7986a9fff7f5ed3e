"""Goal: whenever a host dies, the next one of the same folder does each effect exactly once.

Method: a host in its own process kills itself with SIGKILL at a point (crash point × effect);
then a second host is given the same orders under the same keys.
"""

import asyncio
from pathlib import Path

import pytest

from pointsman.graph.work import (
    CheckExited,
    CheckNotStarted,
    Found,
    HostRunStatus,
    NotFound,
    ReceiptStatus,
    Stop,
    WorkPhase,
)
from pointsman.runtime.hosts.local import LocalHost
from pointsman.runtime.processes.supervised import CommandState
from pointsman.runtime.providers.scripted import ScriptedProvider
from tests.harness.host_process import die_at
from tests.harness.hosts import ATTEMPT, CHECK, NOWHERE, LocalBench, setup_of, work_below

NOT_TAKEN = ("before the claim", "after the claim", "before the start")
ONCE = "steps: [{run: echo once >> executed}]"
STAY = "steps: [{run: echo once >> executed}, {touch: up}, {wait_for_file: {path: go}}]"


@pytest.mark.parametrize("point", [*NOT_TAKEN, "after the start", "after the order is kept"])
def test_a_launch_cut_at_any_point_is_executed_once(ready: LocalBench, point: str) -> None:
    order = ready.launch_order(ready.script(STAY))
    die_at(ready.data, point, order)
    known = ready.call(ready.host.lookup(order.intent_id))
    assert isinstance(known, NotFound if point != "after the start" else Found)
    receipt = ready.call(ready.host.launch(order, NOWHERE))
    assert receipt.status is not ReceiptStatus.REJECTED
    ready.until((ready.workspace / "up").exists)
    (ready.workspace / "go").touch()
    work = ready.until_quiet()
    assert [run.status for run in work.runs] == [HostRunStatus.COMPLETED]
    assert (ready.workspace / "executed").read_text() == "once\n"


@pytest.mark.parametrize("point", [*NOT_TAKEN, "after the start"])
def test_a_check_cut_at_any_point_is_executed_once(ready: LocalBench, point: str) -> None:
    order = ready.check_order("echo once >> executed")
    die_at(ready.data, point, order)
    if point != "after the start":
        assert ready.inspect_check() == CheckNotStarted()
        assert ready.call(ready.host.lookup(order.intent_id)) == NotFound()
    assert ready.call(ready.host.start_check(order)).status is not ReceiptStatus.REJECTED
    assert isinstance(ready.until_checked(), CheckExited)
    assert (ready.workspace / "executed").read_text() == "once\n"


@pytest.mark.parametrize("point", [*NOT_TAKEN, "after the start"])
def test_a_reminder_cut_at_any_point_is_delivered_once(ready: LocalBench, point: str) -> None:
    ready.launch("{steps: [{say: forgot}], on_reminder: [{run: echo once >> reminded}]}")
    ready.until_quiet()
    die_at(ready.data, point, ready.send_order())
    ready.send()
    ready.until(lambda: ready.turn_command(2).state() is CommandState.ENDED)
    assert len(ready.until_quiet().runs) == 2
    assert (ready.workspace / "reminded").read_text() == "once\n"


def test_a_reminder_claimed_before_an_interruption_never_begins(ready: LocalBench) -> None:
    ready.launch("{steps: [{say: forgot}], on_reminder: [{run: echo once >> reminded}]}")
    ready.until_quiet()
    die_at(ready.data, "after the claim", ready.send_order())
    ready.interrupt()
    ready.send()
    work = ready.until_quiet()
    assert work.phase is WorkPhase.QUIET
    assert not (ready.workspace / "reminded").exists()


def test_a_launch_claimed_before_an_interruption_never_begins(ready: LocalBench) -> None:
    order = ready.launch_order(ready.script(ONCE))
    die_at(ready.data, "before the start", order)
    assert ready.interrupt().host_ref == {"left": 0}
    ready.call(ready.host.launch(order, NOWHERE))
    work = ready.until_quiet()
    assert work.stop == Stop(by="engine")
    assert not (ready.workspace / "executed").exists()


@pytest.mark.parametrize("point", ["before the receipt", "after the receipt"])
def test_an_interruption_cut_at_any_point_is_finished(ready: LocalBench, point: str) -> None:
    ready.launch("steps: [ignore_sigterm, {touch: up}, hang]")
    ready.until((ready.workspace / "up").exists)
    die_at(ready.data, point, ready.interrupt_order())
    assert ready.interrupt().host_ref == {"left": 0}
    assert ready.until_quiet().stop == Stop(by="engine")
    assert work_below(ready.data) == []


def test_an_agent_survives_its_host_and_is_adopted_by_the_next(ready: LocalBench) -> None:
    die_at(ready.data, "after the start", ready.launch_order(ready.script(STAY)))
    ready.until((ready.workspace / "up").exists)
    ready.restart()
    assert ready.inspect().phase is WorkPhase.ACTIVE
    ready.wakes.clear()
    (ready.workspace / "go").touch()
    ready.until(lambda: ATTEMPT in ready.wakes)
    assert ready.until_quiet().runs[0].status is HostRunStatus.COMPLETED


def test_a_check_survives_its_host_and_is_adopted_by_the_next(ready: LocalBench) -> None:
    order = ready.check_order("while [ ! -e go ]; do sleep 0.02; done; exit 5")
    die_at(ready.data, "after the start", order)
    ready.restart()
    (ready.workspace / "go").touch()
    ready.until(lambda: CHECK in ready.wakes)
    state = ready.until_checked()
    assert isinstance(state, CheckExited)
    assert state.exit_code == 5


@pytest.mark.parametrize(
    "point", ["before the claim", "after the claim", "after the worktree", "before the receipt"]
)
def test_a_preparation_cut_at_any_point_is_finished(bench: LocalBench, point: str) -> None:
    setup = setup_of("echo done > prepared")
    die_at(bench.data, point, bench.prepare_order(setup))
    receipt = bench.prepare(setup)
    assert receipt.status is ReceiptStatus.ACCEPTED
    assert receipt.host_ref["path"] == str(bench.workspace)
    assert (bench.workspace / "prepared").read_text() == "done\n"


def test_two_hosts_at_once_launch_an_attempt_once(ready: LocalBench, folder: Path) -> None:
    order = ready.launch_order(ready.script(ONCE))

    async def race() -> None:
        hosts = [
            LocalHost(ready.data, lambda _: None, {"scripted": ScriptedProvider()})
            for _ in range(3)
        ]
        await asyncio.gather(*(host.launch(order, NOWHERE) for host in hosts))
        for host in hosts:
            await host.close()

    ready.call(race())
    ready.until_quiet()
    assert (ready.workspace / "executed").read_text() == "once\n"


def test_two_hosts_at_once_prepare_a_workspace_once(bench: LocalBench) -> None:
    order = bench.prepare_order(setup_of("echo once >> prepared"))

    async def race() -> list[ReceiptStatus]:
        other = LocalHost(bench.data, lambda _: None, {})
        receipts = await asyncio.gather(
            bench.host.prepare_workspace(order), other.prepare_workspace(order)
        )
        await other.close()
        return sorted(receipt.status for receipt in receipts)

    assert bench.call(race()) == [ReceiptStatus.ACCEPTED, ReceiptStatus.ALREADY]
    assert (bench.workspace / "prepared").read_text() == "once\n"


def test_closing_a_host_leaves_its_agents_at_work(ready: LocalBench) -> None:
    ready.launch(STAY)
    ready.until((ready.workspace / "up").exists)
    ready.restart()
    assert ready.inspect().phase is WorkPhase.ACTIVE
    (ready.workspace / "go").touch()
    assert ready.until_quiet().runs[0].status is HostRunStatus.COMPLETED
