"""One supervised command as the host sees it: a folder that the runner fills.

Every question is answered from the folder and the process table alone, so that any later host
process answers as the one that started the command would have.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError

from pointsman.actors.crash_points import CrashPoint, here
from pointsman.graph import limits
from pointsman.graph.model import Model
from pointsman.runtime.durable import create_durably, write_durably
from pointsman.runtime.processes import process_table
from pointsman.runtime.processes.runner import STARTED, TAKEN

_RUNNER_ANSWER_S_MAX: Final = 60.0
_END_PATIENCE_S: Final = 10.0
_RECORD_BYTES_MAX: Final = 8 * 1024 * 1024

RecordT = TypeVar("RecordT", bound=Model)


class RecordCorruptError(Exception):
    """A record of the host exists and cannot be read; nothing may be concluded from it."""


class RunnerError(Exception):
    """The runner could not be started; the command was not executed."""


class CommandSpec(Model):
    """What the runner is asked to do. The environment is inherited and stands nowhere."""

    command: tuple[str, ...] | str
    cwd: str
    timeout_s: float | None
    await_background: bool
    secrets: tuple[str, ...] = ()
    log_bytes_max: int = limits.OUTPUT_LOG_BYTES_MAX
    tail_bytes_max: int = limits.OUTPUT_TAIL_BYTES_MAX


class RunnerIdentity(Model):
    """The supervising process."""

    pid: int
    start_ticks: int
    boot_id: str


class StartMarker(Model):
    """Who decided whether the command runs: its runner, or whoever forbade it for good."""

    runner: RunnerIdentity | None = None
    forbidden: str | None = None


class Ending(Model):
    """How the main process ended."""

    exit_code: int
    signal: int | None
    timed_out: bool
    interrupted: bool
    duration_s: float
    error: str | None


class ExitRecord(Ending):
    """The last word on a command: nothing of it runs any more."""

    output_tail: str
    output_bytes: int
    log_bytes: int
    log_digest: str
    log_error: str | None


class LostRecord(Model):
    """The runner died without an exit record, and what it had started was ended."""

    left: int


class CommandState(StrEnum):
    """What is certain of a command."""

    NOT_STARTED = "not_started"
    FORBIDDEN = "forbidden"
    RUNNING = "running"
    BACKGROUND = "background"
    ORPHANED = "orphaned"
    ENDED = "ended"
    LOST = "lost"


OPEN_STATES: Final = frozenset(
    {CommandState.RUNNING, CommandState.BACKGROUND, CommandState.ORPHANED}
)


def read_record(path: Path, model: type[RecordT]) -> RecordT | None:
    """Read a record; ``None`` when there is none."""
    try:
        with open(path, "rb") as file:
            raw = file.read(_RECORD_BYTES_MAX + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise RecordCorruptError(f"{path}: {error}") from error
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise RecordCorruptError(f"{path}: {error.error_count()} problem(s)") from error


class SupervisedCommand:
    """The folder of one command that is executed at most once."""

    def __init__(self, folder: Path):
        self.folder = folder

    @property
    def log(self) -> Path:
        return self.folder / "output.log"

    def start(self, spec: CommandSpec, environment: Mapping[str, str]) -> bool:
        """Execute the command unless that was decided before; ``False`` when it was.

        If this raises ``RunnerError`` the command was not executed; asking again is safe.
        """
        if self.is_decided():
            return False
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_durably(self.folder / "spec.json", spec.model_dump_json())
        argv = [sys.executable, "-I", "-X", "utf8", "-m", "pointsman.runtime.processes.runner"]
        with open(self.folder / "runner.log", "ab") as complaints:
            here(CrashPoint.BEFORE_START)
            try:
                answer = subprocess.run(
                    [*argv, str(self.folder)],
                    env={**environment, process_table.MARKER: str(self.folder)},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=complaints,
                    start_new_session=True,
                    timeout=_RUNNER_ANSWER_S_MAX,
                    check=False,
                ).returncode
            except (OSError, subprocess.SubprocessError) as error:
                raise RunnerError(f"the runner did not start: {error}") from error
            here(CrashPoint.AFTER_START)
        if answer not in (STARTED, TAKEN):
            if self.is_decided():
                return True  # it claimed the start and broke afterwards: lost, not unstarted
            raise RunnerError(f"the runner gave up with code {answer}: {self._complaint()}")
        return answer == STARTED

    def _complaint(self) -> str:
        return (self.folder / "runner.log").read_text(errors="replace")[-500:].strip()

    def is_decided(self) -> bool:
        """Tell whether the command was started or forbidden, once and for all."""
        return (self.folder / "start.json").exists()

    def forbid(self, why: str) -> bool:
        """Make it impossible that the command ever starts; ``False`` when it was started.

        A runner on its way loses against this, as it makes the same name exclusively.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        marker = StartMarker(forbidden=why)
        return create_durably(self.folder / "start.json", marker.model_dump_json())

    def state(self) -> CommandState:
        """Tell what is certain now."""
        if (marker := self._marker()) is None:
            return CommandState.NOT_STARTED
        if marker.forbidden is not None:
            return CommandState.FORBIDDEN
        # First the process, then the record: the runner writes the record before it ends, so
        # one that is gone and left no record will never leave one.
        alive = self._runner_alive(marker)
        if (self.folder / "exit.json").exists():
            return CommandState.ENDED
        if (self.folder / "lost.json").exists():
            return CommandState.LOST
        if not alive:
            return CommandState.ORPHANED
        if (self.folder / "main_exit.json").exists():
            return CommandState.BACKGROUND
        return CommandState.RUNNING

    def _marker(self) -> StartMarker | None:
        try:
            return read_record(self.folder / "start.json", StartMarker)
        except RecordCorruptError:
            return StartMarker()  # it was decided; a runner nobody knows counts as dead

    @staticmethod
    def _identity(marker: StartMarker) -> process_table.Identity | None:
        if marker.runner is None:
            return None
        return process_table.Identity(**marker.runner.model_dump())

    def _runner_alive(self, marker: StartMarker) -> bool:
        identity = self._identity(marker)
        return identity is not None and process_table.is_alive(identity)

    def main_ending(self) -> Ending | None:
        """How the main process ended, while what it started may live on."""
        return read_record(self.folder / "main_exit.json", Ending)

    def exit_record(self) -> ExitRecord | None:
        """How the command ended; ``None`` while it runs, and when it was lost."""
        return read_record(self.folder / "exit.json", ExitRecord)

    def background(self) -> tuple[tuple[str, str], ...]:
        """Return (id, program) of every process that lives below the runner."""
        marker = self._marker()
        if marker is None or (identity := self._identity(marker)) is None:
            return ()
        if not self._runner_alive(marker):
            return ()
        return tuple(
            (f"{pid}-{ticks}", process_table.command_name(pid))
            for pid, ticks in process_table.descendants(identity.pid)
        )

    def end(self) -> int:
        """End the whole tree and wait for it; return how many processes could not be ended."""
        marker = self._marker()
        if marker is None or marker.forbidden is not None:
            return 0
        identity = self._identity(marker)
        if identity is not None:
            process_table.signal_exactly(identity.pid, identity.start_ticks, signal.SIGTERM)
            # A stopped runner would keep the request for later.
            process_table.signal_exactly(identity.pid, identity.start_ticks, signal.SIGCONT)
            if not process_table.await_end(identity, process_table.GRACE_S + _END_PATIENCE_S):
                return len(process_table.descendants(identity.pid))
        if self.state() is CommandState.ORPHANED:
            return self.settle_loss()
        return 0

    def await_end(self, timeout_s: float) -> bool:
        """Wait until the command's runner is gone; ``False`` when it outlasts the timeout."""
        marker = self._marker()
        if marker is None or (identity := self._identity(marker)) is None:
            return True
        return process_table.await_end(identity, timeout_s)

    def settle_loss(self) -> int:
        """Clear up after a dead runner: end what inherited the marker, then record the loss."""
        left = process_table.end_all(
            lambda: process_table.marked(str(self.folder)), process_table.GRACE_S + _END_PATIENCE_S
        )
        create_durably(self.folder / "lost.json", LostRecord(left=left).model_dump_json())
        return left

    def fingerprint(self) -> frozenset[tuple[str, int]]:
        """Return a value that differs whenever a record was added or replaced.

        Names and inode numbers, not times: two changes may fall into one tick of the file
        system's clock.
        """
        try:
            with os.scandir(self.folder) as entries:
                return frozenset(
                    (entry.name, entry.inode()) for entry in entries if entry.name[0] != "."
                )
        except FileNotFoundError:
            return frozenset()
