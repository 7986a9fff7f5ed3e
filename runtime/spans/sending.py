"""Sending spans to a collector: those of runs from the journal's log, and those of commands.

How far the log was sent stands in a small file, written after the collector took it: a collector
that is away, a crash and a restart lose no run's spans. They are sent at least once; a second time
they have the same ids.
"""

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import structlog

from pointsman.actors import metrics
from pointsman.runtime.durable import write_durably
from pointsman.runtime.spans.of_runs import RunSpans
from pointsman.runtime.spans.span import Span
from pointsman.storage.journal import Journal, LogEntry
from pointsman.storage.journal_errors import JournalCorruptError, JournalError

log = structlog.get_logger()

# Gives spans to a collector; ``False`` when it did not take them. It may block for seconds.
Send = Callable[[Sequence[Span]], bool]

_LOOK_EVERY_S: Final = 0.5
_PAUSE_MAX_S: Final = 60.0
_AT_ONCE_MAX: Final = 200
# Runs whose open spans are remembered; those of others are read from the journal once more.
_RUNS_MAX: Final = 1_000
_LAST_WORDS_S: Final = 5.0


class SpanSender:
    """Follows the journal's log in a thread of its own.

    Without a mark of an earlier one it begins at the log's end: whoever begins to collect spans
    gets those of runs that end from now on, and no flood of all that ever were.
    """

    def __init__(
        self, journal: Journal, mark: Path, send: Send, commands: Callable[[int], list[Span]]
    ) -> None:
        self._journal = journal
        self._mark = mark
        self._send = send
        self._commands = commands
        self._marked = self._read_to = self._where_to_begin()
        metrics.spans_sent(self._marked)
        self._runs: OrderedDict[str, RunSpans] = OrderedDict()
        self._unsent: list[Span] = []
        self._problem = ""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="spans", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Send what there is; if the collector is away, the next server sends it."""
        self._stopping.set()
        self._thread.join(0 if self._problem else _LAST_WORDS_S)

    def _where_to_begin(self) -> int:
        end = self._journal.last_position()
        with contextlib.suppress(FileNotFoundError, ValueError):
            return min(int(self._mark.read_text()), end)  # a restored log may end before it
        write_durably(self._mark, str(end))
        return end

    def _follow(self) -> None:
        pause_s, is_last = _LOOK_EVERY_S, False
        while not is_last:
            is_last = self._stopping.wait(pause_s)
            if is_last and self._problem:
                return
            told, self._problem = self._problem, self._what_keeps_them()
            if self._problem not in ("", told):
                log.warning("spans_not_sent", error=self._problem)
            pause_s = min(2 * pause_s, _PAUSE_MAX_S) if self._problem else _LOOK_EVERY_S

    def _what_keeps_them(self) -> str:
        try:
            return "" if self.send_all() else "the collector did not take them"
        except Exception as error:  # noqa: BLE001 - the next look may find it mended
            return f"{type(error).__name__}: {error}"

    def send_all(self) -> bool:
        """Send until nothing is left; ``False`` when the collector did not take something."""
        while self._unsent or self._read():
            if self._unsent and not self._send(self._unsent):
                return False
            self._unsent = []
            if self._marked != self._read_to:
                write_durably(self._mark, str(self._read_to))
                self._marked = self._read_to
                metrics.spans_sent(self._marked)
        return True

    def _read(self) -> bool:
        """Make spans of what is new; ``False`` when nothing is."""
        entries = self._journal.log(self._read_to, _AT_ONCE_MAX)
        commands = self._commands(_AT_ONCE_MAX)
        self._unsent = [*commands, *(span for each in entries for span in self._ended_by(each))]
        if entries:
            self._read_to = entries[-1].position
        return bool(entries or commands)

    def _ended_by(self, entry: LogEntry) -> Iterator[Span]:
        """Make the spans that a transition ended; a run that cannot be told holds up no other."""
        try:
            yield from self._told(entry)
        except Exception as error:
            self._runs.pop(entry.run_id, None)
            if isinstance(error, JournalError) and not isinstance(error, JournalCorruptError):
                raise
            log.warning("spans_left_out", run_id=entry.run_id, error=repr(error))

    def _told(self, entry: LogEntry) -> list[Span]:
        run_id = entry.run_id
        spans = self._runs.pop(run_id, None) or RunSpans(run_id)
        missed = self._journal.events(run_id, spans.next_sequence - 1, entry.first_sequence)
        for each in missed[: entry.first_sequence - spans.next_sequence]:
            spans.see(each)
        count = entry.last_sequence - entry.first_sequence + 1
        new = self._journal.events(run_id, entry.first_sequence - 1, count)
        ended = [span for each in new for span in spans.see(each)]
        self._runs[run_id] = spans
        if len(self._runs) > _RUNS_MAX:
            self._runs.popitem(last=False)
        return ended
