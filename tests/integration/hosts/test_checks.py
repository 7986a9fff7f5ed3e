"""Goal: a check runs once, within the workspace, and its outcome is kept as it was."""

import hashlib
import json
import os
import signal
from pathlib import Path

import pytest

from pointsman.graph.work import (
    CheckExited,
    CheckLost,
    CheckNotStarted,
    CheckRunning,
    ReceiptStatus,
)
from tests.harness.hosts import CHECK, LocalBench, setup_of, work_below


def exited(bench: LocalBench) -> CheckExited:
    state = bench.until_checked()
    assert isinstance(state, CheckExited)
    return state


def test_a_check_ends_with_its_code_its_tail_and_its_log(ready: LocalBench) -> None:
    assert ready.start_check("echo 3 failed; exit 1").status is ReceiptStatus.ACCEPTED
    state = exited(ready)
    assert (state.exit_code, state.output_tail) == (1, "3 failed\n")
    assert not state.timed_out
    assert not state.interrupted
    assert state.log_reference is not None
    log = Path(state.log_reference).read_bytes()
    assert state.log_digest == f"sha256:{hashlib.sha256(log).hexdigest()}"
    ready.until(lambda: CHECK in ready.wakes)


def test_a_check_asked_again_is_answered_and_not_run_again(ready: LocalBench) -> None:
    ready.start_check("echo once >> executed")
    exited(ready)
    assert ready.start_check("echo once >> executed").status is ReceiptStatus.ALREADY
    assert (ready.workspace / "executed").read_text() == "once\n"


def test_a_check_sees_its_own_and_the_workspaces_variables_only(
    bench: LocalBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "leaked")
    bench.prepare(setup_of(env={"FROM_WORKSPACE": "ü"}))
    bench.start_check("echo $FROM_CHECK$FROM_WORKSPACE$SECRET_OF_THE_HOST")
    assert exited(bench).output_tail == "yesü\n"


def test_a_check_runs_in_a_folder_of_the_workspace(ready: LocalBench) -> None:
    (ready.workspace / "sub").mkdir()
    ready.start_check(("pwd",), folder="sub")
    assert exited(ready).output_tail == f"{ready.workspace / 'sub'}\n"


def test_a_folder_outside_the_workspace_is_refused(ready: LocalBench) -> None:
    (ready.workspace / "out").symlink_to("/tmp")
    reasons = []
    for number, folder in enumerate(["..", "/tmp", "out", "missing"]):
        order = ready.check_order("true", check=f"{CHECK}{number}", folder=folder)
        reasons.append(ready.call(ready.host.start_check(order)).reason)
    assert reasons == ["folder_outside", "folder_outside", "folder_outside", "folder_missing"]


def test_a_check_without_a_workspace_is_refused(bench: LocalBench) -> None:
    assert bench.start_check("true").reason == "workspace_missing"
    assert bench.inspect_check() == CheckNotStarted()


def test_a_canceled_check_is_interrupted_and_nothing_of_it_is_left(ready: LocalBench) -> None:
    ready.start_check("trap '' TERM; setsid sleep 300 & touch up; sleep 300; sleep 300")
    ready.until((ready.workspace / "up").exists)
    assert ready.inspect_check() == CheckRunning()
    assert ready.cancel_check().host_ref == {"left": 0}
    assert exited(ready).interrupted
    assert work_below(ready.data) == []
    assert ready.cancel_check().status is ReceiptStatus.ALREADY


def test_a_check_canceled_before_its_start_never_starts(ready: LocalBench) -> None:
    ready.cancel_check()
    assert ready.start_check("touch executed").reason == "interrupted"
    assert ready.inspect_check() == CheckNotStarted()
    assert not (ready.workspace / "executed").exists()


def test_a_check_whose_runner_was_killed_is_lost_and_ended(ready: LocalBench) -> None:
    ready.start_check("touch up; sleep 300")
    ready.until((ready.workspace / "up").exists)
    start = ready.data / "host" / "checks" / CHECK / "start.json"
    os.kill(json.loads(start.read_text())["runner"]["pid"], signal.SIGKILL)
    assert ready.until_checked() == CheckLost()
    assert work_below(ready.data) == []


def test_an_exit_record_that_cannot_be_read_is_a_loss(ready: LocalBench) -> None:
    ready.start_check("true")
    exited(ready)
    (ready.data / "host" / "checks" / CHECK / "exit.json").write_bytes(b"\0\0")
    assert ready.inspect_check() == CheckLost()


def test_a_check_that_takes_too_long_is_ended_and_says_so(ready: LocalBench) -> None:
    order = ready.check_order("sleep 300").model_copy(update={"timeout_s": 1})
    ready.call(ready.host.start_check(order))
    state = exited(ready)
    assert state.timed_out
    assert work_below(ready.data) == []
