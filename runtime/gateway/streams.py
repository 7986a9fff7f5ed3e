"""Subscriptions: what happens in a run as server-sent events, resumable at every one of them.

The journal is looked at again and again; nothing depends on being told, and nothing is made up:
a cursor that is not of this journal gets a snapshot, and the stream goes on from there.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from fastapi.sse import ServerSentEvent

from pointsman.graph import events as ev
from pointsman.graph.run import ENDED_STATES
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.lasting import Lasting
from pointsman.runtime.views.queries import run_view
from pointsman.runtime.views.trace import trace_entry
from pointsman.storage.journal import Journal

_PAUSE_S: Final = 0.1
_BATCH_MAX: Final = 256
_READ_BYTES_MAX: Final = 64 * 1024
_LINE_BYTES_MAX: Final = 8 * 1024

OutputLogs = Callable[[str], list[tuple[str, Path]]]
"""The output logs of a run so far: (attempt or check id, path), oldest first; none moves up."""


@dataclass(slots=True)
class Cursor:
    """The last event sent, and how much of each log. As text: ``12`` or ``12;tests.1.1=3840``.

    Logs are named by their subjects, without the run; the second one of a subject has ``/2``.
    """

    sequence: int = -1
    read_bytes: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return ";".join(
            (str(self.sequence), *(f"{name}={read}" for name, read in self.read_bytes.items()))
        )


def cursor_of(text: str) -> Cursor:
    """Read a cursor; empty is the beginning. Raises ``request_invalid``."""
    sequence, *parts = (text or "-1").split(";")
    try:
        read = {name: int(count) for name, _, count in (part.partition("=") for part in parts)}
        found = Cursor(int(sequence), read)
    except ValueError:
        raise PointsmanError(
            "request_invalid", f"{text[:80]!r} is no cursor of this server"
        ) from None
    if min([found.sequence + 1, *read.values()]) < 0:
        raise PointsmanError("request_invalid", f"{text[:80]!r} is no cursor of this server")
    return found


async def happenings(
    journal: Journal,
    run_id: str,
    cursor: Cursor,
    stopping: Callable[[], bool],
    output_logs: OutputLogs | None = None,
) -> AsyncIterator[ServerSentEvent]:
    """Yield the run's entries from after the cursor on, until it has ended; with its output if
    the logs are given."""
    logs = _Logs(run_id, cursor, output_logs) if output_logs is not None else None
    view = run_view(journal, run_id)
    if cursor.sequence >= view.version:
        cursor.sequence = view.version - 1
        yield ServerSentEvent(event="snapshot", id=str(cursor), data=view)
    lasting = Lasting(journal.events(run_id, limit=cursor.sequence + 1))
    while True:
        # Asked before reading, so that what was written last is still read.
        over = _is_over(journal, run_id)
        batch = journal.events(run_id, cursor.sequence, _BATCH_MAX)
        for each in batch:
            if logs is not None and (subject := _ended_subject(each.event)) is not None:
                # What it printed comes before the word of its end.
                async for line in logs.drain(subject):
                    yield line
            cursor.sequence = each.sequence
            entry = trace_entry(each, lasting.see(each))
            yield ServerSentEvent(event="entry", id=str(cursor), data=entry)
        if over and not batch:
            if logs is not None:
                async for line in logs.drain(None):
                    yield line
            data = {"run_id": run_id, "state": run_view(journal, run_id).state}
            yield ServerSentEvent(event="end", id=str(cursor), data=data)
            return
        if logs is not None:
            for line in await logs.fresh():
                yield line
        if stopping():
            return
        if len(batch) < _BATCH_MAX:
            await asyncio.sleep(_PAUSE_S)


def _is_over(journal: Journal, run_id: str) -> bool:
    summary = journal.summary(run_id)
    ended = summary is not None and summary.state in ENDED_STATES and not summary.open_work
    return ended and not journal.outbox(run_id)


def _ended_subject(event: ev.Event) -> str | None:
    match event:
        case ev.AttemptSettled(attempt_id=subject) | ev.CheckEnded(check_id=subject):
            return subject
        case _:
            return None


class _Log(NamedTuple):
    """One log: whose output it is, its name in a cursor, and where it is."""

    subject: str
    key: str
    path: Path


class _Logs:
    """Reads whole lines of a run's output logs, and moves the cursor past them."""

    def __init__(self, run_id: str, cursor: Cursor, output_logs: OutputLogs) -> None:
        self._run_id = run_id
        self._cursor = cursor
        self._output_logs = output_logs

    async def fresh(self) -> list[ServerSentEvent]:
        """Return what was printed since the last look; a line still being printed waits."""
        return [
            line for log in await self._found(None) for line in await self._lines(log, last=False)
        ]

    async def drain(self, subject: str | None) -> AsyncIterator[ServerSentEvent]:
        """Yield the rest of one subject's logs, or of all: no more will be printed."""
        for log in await self._found(subject):
            while lines := await self._lines(log, last=True):
                for line in lines:
                    yield line

    async def _found(self, subject: str | None) -> list[_Log]:
        logs = await asyncio.to_thread(self._output_logs, self._run_id)
        found, counts = list[_Log](), Counter[str]()
        for name, path in logs:
            counts[name] += 1
            short = name.removeprefix(f"{self._run_id}.")
            key = short if counts[name] == 1 else f"{short}/{counts[name]}"
            if subject in (None, name):
                found.append(_Log(name, key, path))
        return found

    async def _lines(self, log: _Log, *, last: bool) -> list[ServerSentEvent]:
        read = self._cursor.read_bytes.get(log.key, 0)
        made = []
        for line in _whole_lines(await asyncio.to_thread(_read, log.path, read), last=last):
            self._cursor.read_bytes[log.key] = read = read + len(line)
            text = line.decode(errors="replace").rstrip("\r\n")
            data = {"subject": log.subject, "line": text}
            made.append(ServerSentEvent(event="output", id=str(self._cursor), data=data))
        return made


def _read(path: Path, offset: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(_READ_BYTES_MAX)
    except FileNotFoundError:
        return b""


def _whole_lines(chunk: bytes, *, last: bool) -> list[bytes]:
    """Cut a chunk into lines with their ends; overlong ones are cut, a partial one is left."""
    lines = [
        line[start : start + _LINE_BYTES_MAX]
        for line in chunk.splitlines(keepends=True)
        for start in range(0, len(line), _LINE_BYTES_MAX)
    ]
    partial = bool(lines) and not lines[-1].endswith(b"\n") and len(lines[-1]) < _LINE_BYTES_MAX
    return lines[:-1] if partial and not last else lines
