"""Goal: a supervised command is executed at most once and its end is known, whatever dies.

Method: real processes; each test waits for a file or a record, never for time to pass.
"""

import json
import os
import shlex
import signal
import threading
from pathlib import Path

import pytest

from pointsman.graph import limits
from pointsman.runtime.processes import process_table
from pointsman.runtime.processes.environment import inherited
from pointsman.runtime.processes.supervised import (
    CommandSpec,
    CommandState,
    ExitRecord,
    SupervisedCommand,
)
from tests.harness.hosts import wait_until, work_below

STUBBORN = "trap '' TERM; echo up > up; while :; do sleep 0.1; done"


def spec(
    folder: Path, command: str | tuple[str, ...], *, background: bool = False, **more: object
) -> CommandSpec:
    return CommandSpec.model_validate(
        {
            "command": command,
            "cwd": str(folder),
            "timeout_s": None,
            "await_background": background,
            **more,
        }
    )


def start(
    folder: Path, command: str | tuple[str, ...], *, background: bool = False, **more: object
) -> SupervisedCommand:
    made = SupervisedCommand(folder / "work" / "1")
    made.start(spec(folder, command, background=background, **more), inherited())
    return made


def ended(command: SupervisedCommand) -> ExitRecord:
    wait_until(lambda: command.state() is CommandState.ENDED)
    record = command.exit_record()
    assert record is not None
    return record


def runner_pid(command: SupervisedCommand) -> int:
    marker = json.loads((command.folder / "start.json").read_text())
    pid: int = marker["runner"]["pid"]
    return pid


def test_both_streams_and_the_exit_code_of_a_shell_line_are_kept(work_folder: Path) -> None:
    record = ended(start(work_folder, "echo out; echo err >&2; exit 7"))
    assert record.exit_code == 7
    assert sorted(record.output_tail.split()) == ["err", "out"]
    assert not record.timed_out
    assert not record.interrupted


def test_an_argument_list_is_not_read_by_a_shell(work_folder: Path) -> None:
    record = ended(start(work_folder, ("printf", "%s", "$HOME; ü *")))
    assert record.output_tail == "$HOME; ü *"


def test_a_command_that_does_not_exist_ends_with_127_and_says_so(work_folder: Path) -> None:
    record = ended(start(work_folder, ("no-such-command-of-ours",)))
    assert record.exit_code == 127
    assert record.error is not None
    assert "no-such-command-of-ours" in record.output_tail


def test_a_command_that_may_not_be_executed_ends_with_126(work_folder: Path) -> None:
    (work_folder / "plain.txt").write_text("text")
    record = ended(start(work_folder, (str(work_folder / "plain.txt"),)))
    assert record.exit_code == 126


def test_a_signal_that_ends_the_command_counts_as_a_shell_counts_it(work_folder: Path) -> None:
    record = ended(start(work_folder, "kill -SEGV $$"))
    assert (record.exit_code, record.signal) == (139, signal.SIGSEGV)


def test_a_timeout_ends_children_in_sessions_of_their_own_too(work_folder: Path) -> None:
    line = "setsid sh -c 'echo > child; exec sleep 300' & echo > up; sleep 300"
    record = ended(start(work_folder, line, timeout_s=2.0))
    assert record.timed_out
    assert (work_folder / "up").exists()
    assert work_below(work_folder) == []


def test_a_command_that_ignores_sigterm_is_killed_after_a_grace(work_folder: Path) -> None:
    command = start(work_folder, STUBBORN)
    wait_until((work_folder / "up").exists)
    assert command.end() == 0
    record = ended(command)
    assert (record.interrupted, record.signal) == (True, signal.SIGKILL)
    assert work_below(work_folder) == []


def test_a_stopped_runner_is_woken_to_end_its_command(work_folder: Path) -> None:
    command = start(work_folder, "sleep 300")
    os.kill(runner_pid(command), signal.SIGSTOP)
    assert command.end() == 0
    assert ended(command).interrupted


def test_a_command_that_signals_its_whole_group_spares_its_runner(work_folder: Path) -> None:
    record = ended(start(work_folder, "kill -KILL 0"))
    assert record.signal == signal.SIGKILL
    assert not record.interrupted


def test_the_runner_is_no_child_of_the_host(work_folder: Path) -> None:
    command = start(work_folder, "sleep 300")
    stat = process_table.read_stat(runner_pid(command))
    assert stat is not None
    assert stat.parent != os.getpid()
    command.end()


def test_an_agent_is_over_only_when_its_background_work_is(work_folder: Path) -> None:
    line = "setsid sh -c 'while [ ! -e go ]; do sleep 0.02; done' & echo; exit 3"
    command = start(work_folder, line, background=True)
    wait_until(lambda: command.state() is CommandState.BACKGROUND)
    main = command.main_ending()
    assert main is not None
    assert main.exit_code == 3
    assert [program for _, program in command.background()] != []
    (work_folder / "go").touch()
    assert ended(command).exit_code == 3


def test_a_check_is_its_main_process_and_what_it_leaves_is_ended(work_folder: Path) -> None:
    record = ended(start(work_folder, "setsid sleep 300 & exit 0"))
    assert record.exit_code == 0
    assert not record.interrupted
    assert work_below(work_folder) == []


def test_output_that_is_no_text_is_kept_as_far_as_it_is(work_folder: Path) -> None:
    record = ended(start(work_folder, r"printf 'a\377\376b\000c'"))
    assert record.output_tail == "a\ufffd\ufffdb\0c"


def test_the_log_keeps_the_head_and_the_record_keeps_the_tail(work_folder: Path) -> None:
    command = start(work_folder, "seq 1 2000; printf ÄÖ", log_bytes_max=1000, tail_bytes_max=103)
    record = ended(command)
    assert command.log.read_text().startswith("1\n2\n3\n")
    assert command.log.stat().st_size == record.log_bytes == 1000
    assert record.output_tail.endswith("2000\nÄÖ")
    assert len(record.output_tail.encode()) <= 103
    assert record.output_bytes > 1000


@pytest.mark.slow
def test_a_hundred_megabytes_of_output_stay_within_the_bounds(work_folder: Path) -> None:
    command = start(work_folder, "head -c 100000000 /dev/zero | tr '\\0' x")
    record = ended(command)
    assert record.output_bytes == 100_000_000
    assert command.log.stat().st_size == limits.OUTPUT_LOG_BYTES_MAX
    assert len(record.output_tail) == limits.OUTPUT_TAIL_BYTES_MAX


def test_secrets_are_blotted_out_of_log_and_tail(work_folder: Path) -> None:
    command = SupervisedCommand(work_folder / "work" / "1")
    line = "echo $TOKEN; printf %.4s $TOKEN; printf %s ${TOKEN#????}"
    with_token = inherited() | {"TOKEN": "abcdefgh"}
    command.start(spec(work_folder, line, secrets=("TOKEN",)), with_token)
    record = ended(command)
    assert record.output_tail == command.log.read_text() == "[redacted]\n[redacted]"
    kept = b"".join(path.read_bytes() for path in command.folder.iterdir())
    assert b"abcdefgh" not in kept


def test_of_many_runners_at_once_exactly_one_executes_the_command(work_folder: Path) -> None:
    command = SupervisedCommand(work_folder / "work" / "1")
    line = spec(work_folder, f"echo once >> {shlex.quote(str(work_folder / 'executed'))}")
    answers: list[bool] = []

    def begin() -> None:
        answers.append(SupervisedCommand(command.folder).start(line, inherited()))

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ended(command)
    assert sorted(answers) == [False] * 5 + [True]
    assert (work_folder / "executed").read_text() == "once\n"


def test_a_forbidden_command_never_starts(work_folder: Path) -> None:
    command = SupervisedCommand(work_folder / "work" / "1")
    assert command.forbid("canceled")
    assert not command.start(spec(work_folder, "echo > executed"), inherited())
    assert command.state() is CommandState.FORBIDDEN
    assert not (work_folder / "executed").exists()


def test_a_started_command_can_no_longer_be_forbidden(work_folder: Path) -> None:
    command = start(work_folder, "exit 0")
    assert not command.forbid("canceled")
    assert ended(command).exit_code == 0


def test_a_killed_runner_is_a_loss_and_its_leftovers_are_ended(work_folder: Path) -> None:
    command = start(work_folder, f"setsid sh -c '{STUBBORN.replace(chr(39), chr(34))}' & sleep 300")
    wait_until((work_folder / "up").exists)
    os.kill(runner_pid(command), signal.SIGKILL)
    wait_until(lambda: command.state() is CommandState.ORPHANED)
    assert work_below(work_folder) != []
    assert command.settle_loss() == 0
    assert command.state() is CommandState.LOST
    assert work_below(work_folder) == []


def test_a_marker_that_cannot_be_read_counts_as_a_dead_runner(work_folder: Path) -> None:
    command = SupervisedCommand(work_folder / "work" / "1")
    command.folder.mkdir(parents=True)
    (command.folder / "start.json").write_text("{")
    assert command.state() is CommandState.ORPHANED
    assert not command.start(spec(work_folder, "echo > executed"), inherited())


def test_a_process_number_that_is_used_again_is_another_process(work_folder: Path) -> None:
    me = process_table.own_identity()
    assert process_table.is_alive(me)
    assert not process_table.is_alive(me._replace(start_ticks=me.start_ticks - 1))
    assert not process_table.is_alive(me._replace(boot_id="another boot"))
    assert not process_table.signal_exactly(me.pid, me.start_ticks - 1, signal.SIGKILL)
