"""Goal: an agent that ends before its own background work has never done it.

Method: the scripted agent tells of native work as a provider does, and ends by itself.
"""

import json
import os
import signal

import pytest

from pointsman.graph.settlement import Settled, SettlementOutcome, Unsettled, settlement, was_lost
from pointsman.graph.work import HostRunStatus, ReceiptStatus
from pointsman.runtime.processes.supervised import CommandState
from tests.harness.hosts import LocalBench

CHILD = {"child_id": "c1", "settled": False}
TASK = {"task_id": "b1", "description": "make"}


def ends_with(bench: LocalBench, **native: object) -> None:
    """Launch an agent that says it has this to do, and ends once ``go`` is there."""
    told = json.dumps(
        {"do": "write", "path": str(bench.turn_folder() / "work.json"), "text": json.dumps(native)}
    )
    steps = f"[{told}, {{touch: up}}, {{wait_for_file: {{path: go}}}}]"
    assert bench.launch(f"{{steps: {steps}, on_reminder: []}}").reason is None
    bench.until((bench.workspace / "up").exists)


@pytest.mark.parametrize(
    "native", [{"owed_wakes": 1}, {"background": [TASK]}, {"children": [CHILD]}], ids=str
)
def test_an_exit_that_leaves_a_wake_or_work_owed_is_an_interruption(
    ready: LocalBench, native: dict[str, object]
) -> None:
    ends_with(ready, **native)
    assert isinstance(settlement(ready.inspect()), Unsettled)
    (ready.workspace / "go").touch()
    work = ready.until_quiet()
    judged = settlement(work)
    assert isinstance(judged, Settled)
    assert judged.outcome is SettlementOutcome.INTERRUPTED
    assert "still had to do: 1" in (judged.reason or "")
    assert (work.runs[0].status, work.runs[0].exit_code) == (HostRunStatus.INTERRUPTED, 0)
    assert was_lost(work), "so a policy of resuming applies"
    assert ready.send().reason == "interrupted", "nothing that was cut off is reminded"
    assert ready.resume().status is ReceiptStatus.ACCEPTED


def test_children_that_have_ended_hold_nothing_against_the_exit(ready: LocalBench) -> None:
    ends_with(ready, children=[{**CHILD, "settled": True}])
    (ready.workspace / "go").touch()
    assert settlement(ready.until_quiet()) == Settled(outcome=SettlementOutcome.SUCCEEDED)


def test_an_agents_input_is_closed_from_the_start_and_its_tasks_outlive_its_turn(
    ready: LocalBench,
) -> None:
    waits = "while [ ! -e go ]; do sleep 0.02; done; touch woken"
    looks = "{run: 'readlink /proc/$PPID/fd/0 > input'}"
    ready.launch(f"steps: [{looks}, {{background: '{waits}'}}]")
    ready.until(lambda: ready.turn_command().state() is CommandState.BACKGROUND)
    assert ready.inspect().background
    assert (ready.workspace / "input").read_text() == "/dev/null\n"
    assert isinstance(settlement(ready.inspect()), Unsettled)
    (ready.workspace / "go").touch()
    assert settlement(ready.until_quiet()) == Settled(outcome=SettlementOutcome.SUCCEEDED)
    assert (ready.workspace / "woken").exists(), "nobody ended it when the turn was over"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["by hand", "lost"])
def test_who_cut_work_off_is_told_the_same_after_an_interruption(
    ready: LocalBench, number: signal.Signals
) -> None:
    ready.launch("steps: [{touch: up}, hang]")
    ready.until((ready.workspace / "up").exists)
    started = json.loads((ready.turn_folder() / "start.json").read_text())
    os.kill(started["runner"]["pid"], number)
    before = ready.until_quiet()
    assert ready.interrupt().host_ref == {"left": 0}
    after = ready.inspect()
    assert (after.stop, after.failure) == (before.stop, before.failure)
    assert ready.send().reason == "interrupted"


def test_work_whose_end_cannot_be_read_is_interrupted_all_the_same(ready: LocalBench) -> None:
    ready.launch("steps: [{say: done}]")
    ready.until_quiet()
    (ready.turn_folder() / "exit.json").write_text("{")
    assert ready.interrupt().host_ref == {"left": 0}
