"""Crash images of a journal: what a disk may hold after the power went, from the recorded writes.

Run as a program, ``write FOLDER`` commits real runs under the recorder (``write_recorder.c``), and
``check`` opens the images that it is told of, one a line, and says what is wrong with each.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random  # noqa: TID251  seeded
from typing import Final

from pointsman.runtime.care.verification import verify_journal
from pointsman.storage.journal_errors import JournalError
from pointsman.storage.lmdb_journal import LmdbJournal
from pointsman.storage.schedules import ScheduleChange
from tests.harness import core
from tests.harness.journals import committed, run_id
from tests.harness.schedules import a_schedule

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = Path(__file__).with_name("write_recorder.c")
SECTOR_BYTES: Final = 512
_LOG: Final = "POINTSMAN_WRITES"
_HEAD: Final = struct.Struct("<cB6xQQ")
_FILLING: Final = 3_000_000
_MAP_SIZE: Final = 1 << 20
_AFTER: Final = run_id(10**6)


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that was done to the file, or one acknowledgement."""

    kind: str
    offset: int = 0
    length: int = 0
    content: bytes = b""
    synced: bool = False


@dataclass(slots=True)
class Disk:
    """The file as it is surely on disk, and what was done since and may be lost.

    ``lies`` makes it one that says a sync is done and does none: against it nothing is safe.
    """

    lies: bool = False
    content: bytearray = field(default_factory=bytearray)
    pending: list[Act] = field(default_factory=list)
    acknowledged: dict[str, int] = field(default_factory=dict)
    named: bool = False

    def apply(self, act: Act) -> None:
        """Let an act be completed."""
        match act.kind:
            case "A":
                told = json.loads(act.content)
                self.acknowledged[told["run"]] = told["version"]
            case "L":
                self.named = True
            case "S" if self.lies:
                pass
            case "S":
                for each in self.pending:
                    _do(self.content, each)
                self.pending.clear()
            case "W" | "T" | "F":
                self.pending.append(act)
            case _:
                raise AssertionError(f"the recorder met something unforeseen: {act.kind}")

    def image(self, in_flight: Act | None, draw: Random) -> bytes:
        """Return what the disk may hold when the power goes now, amid an act that is begun."""
        image = bytearray(self.content)
        for each in self.pending:
            # Through a descriptor that syncs, a write is on disk when it returns; what was
            # written before it through another one need not be.
            if each.synced and not self.lies:
                _do(image, each)
            else:
                _perhaps(image, each, draw)
        if in_flight is not None and in_flight.kind in "WTF":
            _perhaps(image, in_flight, draw)
        return bytes(image)


def _do(image: bytearray, act: Act) -> None:
    end = act.offset + act.length
    if act.kind == "T":
        del image[act.length :]
        end = act.length
    if len(image) < end:
        image.extend(bytes(end - len(image)))
    if act.kind == "W":
        image[act.offset : end] = act.content


def _perhaps(image: bytearray, act: Act, draw: Random) -> None:
    """Lose an act, do it, or tear it between sectors; a sector is written whole or not at all."""
    fate = draw.randrange(3)
    if fate == 0:
        return
    if fate == 1 or act.kind != "W":
        _do(image, act)
        return
    at = act.offset
    while at < act.offset + act.length:
        end = min((at // SECTOR_BYTES + 1) * SECTOR_BYTES, act.offset + act.length)
        if draw.randrange(2):
            piece = act.content[at - act.offset : end - act.offset]
            _do(image, Act("W", at, end - at, piece))
        at = end


def compiled(folder: Path) -> Path:
    """Build the recorder, or say what is missing: without it nothing here is proven."""
    made = folder / "write_recorder.so"
    compiler = shutil.which("cc")
    assert compiler is not None, "the tests of power cuts need a C compiler: install cc"
    command = (compiler, "-O1", "-shared", "-fPIC", "-o", made, SOURCE, "-ldl", "-lpthread")
    subprocess.run(command, check=True)
    return made


def recorded(folder: Path, runs: int) -> tuple[list[Act], bytes]:
    """Have a process commit under the recorder; return its acts, and the file as it became."""
    log = folder / "writes"
    subprocess.run(
        [sys.executable, "-m", "tests.harness.power_cut", "write", folder / "journal", str(runs)],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(compiled(folder)), _LOG: str(log)},
        check=True,
    )
    return list(_acts(log.read_bytes())), (folder / "journal" / "data.mdb").read_bytes()


def _acts(log: bytes) -> Iterator[Act]:
    at = 0
    while at < len(log):
        kind, flags, offset, length = _HEAD.unpack_from(log, at)
        at += _HEAD.size
        content = b""
        if kind in b"WA":
            content = log[at : at + length]
            at += length
        yield Act(kind.decode(), offset, length, content, bool(flags & 1))


def _acknowledge(log: int, run: str, version: int) -> None:
    text = json.dumps({"run": run, "version": version}).encode()
    os.write(log, _HEAD.pack(b"A", 0, 0, len(text)) + text)


def _write(folder: Path, runs: int) -> None:
    """Commit runs step by step, acknowledging each commit that has returned.

    Now and then a schedule comes and goes that is larger than all before: the file grows for it,
    and later commits use its pages again.
    """
    log = os.open(os.environ[_LOG], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    journal = LmdbJournal.open(folder, map_size=_MAP_SIZE)
    for number in range(1, runs + 1):
        core.RUN_ID = run_id(number)
        process = core.Process()
        for step in (process.launch, process.report, process.observe, process.run_check, None):
            committed(journal, process)
            _acknowledge(log, run_id(number), process.state.version)
            if step is not None:
                step()
        if number % 2:
            _grow(journal, number * _FILLING)
    journal.close()


def _grow(journal: LmdbJournal, filling: int) -> None:
    """Put a schedule with a large input, and remove it again."""
    made = a_schedule(1_000_000)
    wish = made.wish.model_copy(update={"inputs": {"task": "x" * filling}})
    large = made.model_copy(update={"wish": wish})
    journal.schedules.change(ScheduleChange(made.schedule_id, 0, large))
    journal.schedules.change(ScheduleChange(made.schedule_id, large.version, None))


class Checker:
    """A process that opens images: one that is mapped beyond its end kills whoever reads it."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.power_cut", "check"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def check(self, folder: Path, acknowledged: dict[str, int]) -> str:
        """Return what is wrong with an image; nothing is the good answer."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps([str(folder), acknowledged]) + "\n")
        told = self._child.stdout.readline()
        return json.loads(told) if told else f"the reader died ({self._child.wait()})"

    def end(self) -> None:
        self._child.kill()
        self._child.communicate()


def _check(folder: Path, acknowledged: dict[str, int]) -> str:
    try:
        journal = LmdbJournal.open(folder)
    except JournalError as error:
        return f"it does not open: {error}"
    try:
        for run, version in acknowledged.items():
            summary = journal.summary(run)
            if summary is None or summary.version < version:
                found = summary.version if summary is not None else None
                return f"{run} was acknowledged at {version} and is at {found}"
        problems = verify_journal(journal)
        if problems:
            return f"{len(problems)} problems, first: {problems[0]}"
        core.RUN_ID = _AFTER
        committed(journal, core.Process())
        return "" if journal.summary(_AFTER) is not None else "the next commit is lost"
    except JournalError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        journal.close()


def main() -> None:
    match sys.argv[1:]:
        case ["write", folder, runs]:
            _write(Path(folder), int(runs))
        case ["check"]:
            for line in sys.stdin:
                folder, acknowledged = json.loads(line)
                sys.stdout.write(json.dumps(_check(Path(folder), acknowledged)) + "\n")
                sys.stdout.flush()
        case words:
            raise AssertionError(f"unknown command {words}")


if __name__ == "__main__":
    main()
