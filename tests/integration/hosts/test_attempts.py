"""Goal: an attempt's work is begun once, its aggregate tells the truth, and its end is complete.

Method: the scripted provider's real processes on a real worktree.
"""

import json
import os
import signal
from pathlib import Path

import pytest

from pointsman.graph.settlement import Settled, SettlementOutcome, settlement
from pointsman.graph.work import (
    Found,
    HostRunCause,
    HostRunStatus,
    NotFound,
    ReceiptStatus,
    Stop,
    Unknown,
    WorkPhase,
)
from pointsman.runtime.processes.supervised import CommandState
from tests.harness.hosts import ATTEMPT, NOWHERE, LocalBench, make_repository, work_below

HANG = "steps: [{touch: up}, hang]"
ASK = "steps: [{ask_approval: 'May I?'}, {touch: allowed}]"
FOREIGN = ("pointsman/__init__.py", "graph/__init__.py", "json.py", "yaml.py", "mcp.py", "os.py")
STUBBORN = "steps: [ignore_sigterm, {touch: up}, hang]"


def up(bench: LocalBench) -> None:
    bench.until((bench.workspace / "up").exists)


def runner_pid(bench: LocalBench, ordinal: int = 1) -> int:
    marker = json.loads((bench.turn_folder(ordinal) / "start.json").read_text())
    pid: int = marker["runner"]["pid"]
    return pid


def agent_pid(bench: LocalBench) -> int:
    pids = [int(task.partition("-")[0]) for task, _ in bench.turn_command().background()]
    return pids[0]


def test_a_launch_is_accepted_once_and_answered_the_same_ever_after(ready: LocalBench) -> None:
    script = "steps: [{append: {path: out.txt, text: 'once '}}, {say: hello}]"
    first = ready.launch(script)
    again = ready.launch(script)
    assert first.status is ReceiptStatus.ACCEPTED
    assert first.host_ref == {"thread_id": f"wf-{ATTEMPT}", "host_run_id": f"{ATTEMPT}-t1"}
    assert again == first.model_copy(update={"status": ReceiptStatus.ALREADY})
    work = ready.until_quiet()
    assert settlement(work) == Settled(outcome=SettlementOutcome.SUCCEEDED)
    assert [(run.status, run.cause, run.exit_code) for run in work.runs] == [
        (HostRunStatus.COMPLETED, HostRunCause.LAUNCH, 0)
    ]
    assert (ready.workspace / "out.txt").read_text() == "once "
    assert ready.turn_command().log.read_text() == "hello\n"
    assert work.uncommitted_paths == 1


def test_a_quiet_aggregate_tells_where_the_branch_stands(ready: LocalBench) -> None:
    ready.launch("steps: [{write: {path: a.txt, text: a}}, {commit: Add a}]")
    work = ready.until_quiet()
    assert work.head_commit != ready.prepare_order().base_commit
    assert work.uncommitted_paths == 0
    assert work.session_id == f"scripted-{ATTEMPT}"


def test_every_change_wakes_the_engine(ready: LocalBench) -> None:
    ready.launch("steps: [{wait_for_file: {path: go}}]")
    ready.until(lambda: ATTEMPT in ready.wakes)
    ready.wakes.clear()
    (ready.workspace / "go").touch()
    ready.until(lambda: ATTEMPT in ready.wakes)
    assert ready.until_quiet().phase is WorkPhase.QUIET


def test_work_is_not_quiet_while_a_child_of_the_agent_lives_on(ready: LocalBench) -> None:
    line = "while [ ! -e go ]; do sleep 0.02; done"
    ready.launch(f"steps: [background: {{command: '{line}', own_session: true}}]")
    ready.until(lambda: ready.turn_command().state() is CommandState.BACKGROUND)
    work = ready.inspect()
    assert work.phase is WorkPhase.ACTIVE
    assert work.runs[0].status is HostRunStatus.COMPLETED
    assert work.background != ()
    (ready.workspace / "go").touch()
    assert ready.until_quiet().background == ()


def test_an_exit_code_other_than_zero_is_a_failure_with_the_last_words(ready: LocalBench) -> None:
    ready.launch("steps: [{say: out of tokens}, {crash: 3}]")
    work = ready.until_quiet()
    assert work.runs[0].status is HostRunStatus.FAILED
    assert work.failure is not None
    assert work.failure.code == "agent_failed"
    assert "out of tokens" in work.failure.message
    assert work.stop is None


def test_a_crash_of_the_agent_is_a_failure(ready: LocalBench) -> None:
    ready.launch("steps: [{crash: SIGSEGV}]")
    work = ready.until_quiet()
    assert work.runs[0].status is HostRunStatus.FAILED
    assert work.failure is not None
    assert work.failure.code == "agent_crashed"


def test_an_agent_ended_by_hand_was_stopped_by_the_user(ready: LocalBench) -> None:
    ready.launch(HANG)
    up(ready)
    os.kill(agent_pid(ready), signal.SIGTERM)
    work = ready.until_quiet()
    assert work.stop == Stop(by="user")
    assert work.runs[0].status is HostRunStatus.INTERRUPTED
    assert work.resumable


def test_a_runner_ended_by_hand_was_stopped_by_the_user(ready: LocalBench) -> None:
    ready.launch(HANG)
    up(ready)
    os.kill(runner_pid(ready), signal.SIGTERM)
    assert ready.until_quiet().stop == Stop(by="user")
    assert work_below(ready.data) == []


def test_a_killed_agent_is_lost_and_can_be_resumed(ready: LocalBench) -> None:
    ready.launch("steps: [{crash: SIGKILL}]")
    work = ready.until_quiet()
    assert work.runs[0].status is HostRunStatus.INTERRUPTED
    assert work.failure is not None
    assert work.failure.code == "process_lost"
    assert work.stop is None
    assert work.resumable


def test_a_killed_runner_is_noticed_and_what_it_left_is_ended(ready: LocalBench) -> None:
    ready.launch(STUBBORN)
    up(ready)
    ready.wakes.clear()
    os.kill(runner_pid(ready), signal.SIGKILL)
    work = ready.until_quiet()
    assert work.runs[0].status is HostRunStatus.INTERRUPTED
    assert work.failure is not None
    assert work.failure.code == "process_lost"
    assert work.stop is None
    assert work_below(ready.data) == []
    ready.until(lambda: ATTEMPT in ready.wakes)


def test_an_interruption_answers_when_nothing_is_left(ready: LocalBench) -> None:
    ready.launch(
        "steps: [ignore_sigterm, {background: {command: sleep 300, own_session: true}},"
        " {touch: up}, hang]"
    )
    up(ready)
    receipt = ready.interrupt()
    assert receipt.host_ref == {"left": 0}
    assert work_below(ready.data) == []
    assert ready.interrupt().status is ReceiptStatus.ALREADY
    work = ready.until_quiet()
    assert work.stop == Stop(by="engine")
    assert settlement(work).model_dump()["outcome"] == SettlementOutcome.INTERRUPTED


def test_an_interruption_before_the_launch_keeps_it_from_ever_starting(ready: LocalBench) -> None:
    assert ready.interrupt().status is ReceiptStatus.ACCEPTED
    receipt = ready.launch("steps: [{touch: up}]")
    assert (receipt.status, receipt.reason) == (ReceiptStatus.REJECTED, "interrupted")
    assert not (ready.workspace / "up").exists()
    work = ready.inspect()
    assert (work.phase, work.stop) == (WorkPhase.QUIET, Stop(by="engine"))


def test_interrupting_work_that_is_over_changes_nothing_of_it(ready: LocalBench) -> None:
    ready.launch("steps: [{say: done}]")
    ready.until_quiet()
    ready.interrupt()
    assert settlement(ready.inspect()) == Settled(outcome=SettlementOutcome.SUCCEEDED)


def test_a_reminder_is_a_further_turn_of_the_same_session(ready: LocalBench) -> None:
    ready.launch("{steps: [{say: forgot}], on_reminder: [{touch: reminded}]}")
    session = ready.until_quiet().session_id
    receipt = ready.send()
    assert receipt.host_ref == {"host_run_id": f"{ATTEMPT}-t2"}
    assert ready.send().status is ReceiptStatus.ALREADY
    work = ready.until_quiet()
    assert [run.cause for run in work.runs] == [
        HostRunCause.LAUNCH,
        HostRunCause.WORKFLOW_MESSAGE,
    ]
    assert work.runs[1].cause_key == f"wf:{ATTEMPT}:remind"
    assert work.session_id == session
    assert (ready.workspace / "reminded").exists()


def test_a_reminder_after_an_interruption_is_refused(ready: LocalBench) -> None:
    ready.launch("steps: [{say: forgot}]")
    ready.until_quiet()
    ready.interrupt()
    assert ready.send().reason == "interrupted"


def test_a_reminder_to_an_attempt_nobody_launched_is_refused(ready: LocalBench) -> None:
    assert ready.send().reason == "attempt_unknown"
    assert ready.inspect().phase is WorkPhase.GONE


def test_a_resumed_session_goes_on_at_the_step_that_was_not_finished(ready: LocalBench) -> None:
    ready.launch(
        "steps: [{append: {path: out.txt, text: 'one '}}, {touch: up},"
        " {wait_for_file: {path: go}}, {append: {path: out.txt, text: two}}]"
    )
    up(ready)
    ready.interrupt()
    assert ready.until_quiet().resumable
    (ready.workspace / "go").touch()
    receipt = ready.resume()
    assert receipt.host_ref["continuity"] == "native"
    work = ready.until_quiet()
    assert settlement(work, (f"wf:{ATTEMPT}:resume",)) == Settled(
        outcome=SettlementOutcome.SUCCEEDED
    )
    assert (ready.workspace / "out.txt").read_text() == "one two"
    assert work.runs[1].cause is HostRunCause.RESUME


def test_work_that_came_to_its_end_is_not_resumed(ready: LocalBench) -> None:
    ready.launch("steps: [{say: done}]")
    ready.until_quiet()
    receipt = ready.resume()
    assert receipt.reason == "not_interrupted"
    assert receipt.host_ref["continuity"] == "impossible"


def test_a_session_that_cannot_be_read_is_not_resumed(ready: LocalBench) -> None:
    ready.launch(HANG)
    up(ready)
    ready.interrupt()
    (ready.turn_folder().parents[1] / "session" / "session.json").write_text("{")
    assert not ready.inspect().resumable
    receipt = ready.resume()
    assert (receipt.reason, receipt.host_ref["continuity"]) == ("not_resumable", "impossible")


def test_a_question_waits_for_a_person_and_is_answered_once(ready: LocalBench) -> None:
    assert ready.launch(ASK).reason is None
    ready.until((ready.turn_folder() / "request-0.json").exists)
    work = ready.inspect()
    assert work.phase is WorkPhase.WAITING_INPUT
    (request,) = work.pending_requests
    assert (request.request_id, request.question) == ("t1.0", "May I?")
    assert ready.answer("t1.0").status is ReceiptStatus.ACCEPTED
    assert ready.answer("t1.0", allow=False, key="other").reason == "request_answered"
    assert ready.until_quiet().pending_requests == ()
    assert (ready.workspace / "allowed").exists()
    assert ready.answer("t1.0", key="late").reason == "request_gone"
    assert ready.answer("t1.7", key="wrong").reason == "request_unknown"
    assert ready.answer("../t1.0", key="odd").reason == "request_unknown"


def test_a_denied_question_ends_the_agent(ready: LocalBench) -> None:
    assert ready.launch(ASK).reason is None
    ready.until((ready.turn_folder() / "request-0.json").exists)
    ready.answer("t1.0", allow=False)
    assert ready.until_quiet().runs[0].status is HostRunStatus.FAILED
    assert not (ready.workspace / "allowed").exists()


def test_lookup_tells_taken_effects_from_those_never_asked(ready: LocalBench) -> None:
    key = f"wf:{ATTEMPT}:launch"
    assert ready.call(ready.host.lookup(key)) == NotFound()
    receipt = ready.launch("steps: [{say: hello}]")
    assert ready.call(ready.host.lookup(key)) == Found(receipt=receipt)
    ready.until_quiet()


def test_lookup_of_a_broken_record_is_unknown(ready: LocalBench) -> None:
    ready.launch("steps: [{say: hello}]")
    ready.until_quiet()
    (broken,) = (ready.data / "host" / "effects").glob("*launch.json")
    broken.write_bytes(b"\0" * 100)
    assert isinstance(ready.call(ready.host.lookup(f"wf:{ATTEMPT}:launch")), Unknown)


def test_a_key_that_stands_for_something_else_is_refused(ready: LocalBench) -> None:
    ready.launch("steps: [{say: hello}]")
    ready.until_quiet()
    script = ready.script("steps: [{say: hello}]")
    other = ready.launch_order(script, attempt=f"{ATTEMPT[:-1]}2")
    stolen = other.model_copy(update={"intent_id": f"wf:{ATTEMPT}:launch"})
    receipt = ready.call(ready.host.launch(stolen, NOWHERE))
    assert receipt.reason == "key_reused"


def test_a_launch_without_workspace_provider_or_script_is_refused(bench: LocalBench) -> None:
    assert bench.launch("steps: []").reason == "workspace_missing"
    assert bench.prepare().status is ReceiptStatus.ACCEPTED
    order = bench.launch_order("no-such-script", attempt=f"{ATTEMPT[:-1]}2")
    assert bench.call(bench.host.launch(order, NOWHERE)).reason == "script_missing"
    order = bench.launch_order("x", attempt=f"{ATTEMPT[:-1]}3")
    unknown = order.agent.model_copy(update={"provider": "unheard-of"})
    order = order.model_copy(update={"agent": unknown})
    assert bench.call(bench.host.launch(order, NOWHERE)).reason == "provider_unknown"
    assert bench.launch("steps: [{sing: la}]", f"{ATTEMPT[:-1]}4").reason == "script_invalid"
    assert work_below(bench.data) == []


def test_a_refused_launch_stays_refused_under_its_key(ready: LocalBench) -> None:
    assert ready.launch("steps: [{sing: la}]").reason == "script_invalid"
    assert ready.launch("steps: [{say: la}]").reason == "script_invalid"


def test_the_token_is_in_the_agents_environment_and_nowhere_on_disk(ready: LocalBench) -> None:
    ready.launch(
        'steps: [{run: \'echo $POINTSMAN_REPORT_TOKEN; env; tr "\\\\0" " " <'
        ' /proc/$PPID/cmdline\'}, {run: test -n "$POINTSMAN_REPORT_TOKEN"}]'
    )
    assert ready.until_quiet().runs[0].exit_code == 0
    token = NOWHERE.token.encode()
    files = [path for path in Path(ready.data).rglob("*") if path.is_file()]
    assert [path for path in files if token in path.read_bytes()] == []
    assert "[redacted]" in ready.turn_command().log.read_text()


def test_nothing_of_the_hosts_own_environment_reaches_an_agent(
    ready: LocalBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "secret-cluster")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    ready.launch("steps: [{run: env | sort}]")
    ready.until_quiet()
    told = ready.turn_command().log.read_text()
    assert "secret-cluster" not in told
    assert "/elsewhere" not in told


def test_a_host_repository_with_our_names_does_not_disturb_the_agent(folder: Path) -> None:
    foreign = dict.fromkeys(FOREIGN, "raise SystemExit(9)\n")
    repository = make_repository(folder / "foreign", foreign)
    with LocalBench(folder, repository) as bench:
        assert bench.prepare().status is ReceiptStatus.ACCEPTED
        bench.launch("steps: [{say: hello}]")
        assert bench.until_quiet().runs[0].exit_code == 0
