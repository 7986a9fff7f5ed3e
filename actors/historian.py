"""The historian: the one process that has the history of a data directory while its server lives.

It copies what the journals gain, and answers statements on what is committed when they are asked.
A copy can be made again, so nothing here is written with care for its loss: whatever ends the
process, the next one goes on from the cursor in the history itself.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

import structlog

from pointsman.actors import metrics
from pointsman.actors.history import ArrowAnswer
from pointsman.storage.history.answer import arrow_of
from pointsman.storage.history.errors import HistoryInUseError
from pointsman.storage.history.export import export
from pointsman.storage.history.history import History, rebuild
from pointsman.storage.history.limits import Limits
from pointsman.storage.history.sandbox import ask
from pointsman.storage.journal import Journal

log = structlog.get_logger()

# The history is to be within a second of the journal. A look at anything new costs DuckDB some
# 0.2 s of CPU however little it is, and who asks is caught up at once.
LOOK_EVERY_S: Final = 0.7
# What changes without an event of a run, such as an occurrence that was refused, is seen so often.
_ANYWAY_EVERY_LOOKS: Final = 7
# Another process that asks the history lets go of it in moments, mostly.
_PATIENCE_S: Final = 5.0


class Historian:
    """Keeps a history caught up, and asks it. Thread-safe; each statement has its own thread."""

    def __init__(self, path: Path, shards: Mapping[str, Journal]) -> None:
        self._path = path
        self._shards = shards
        self._history: History | None = None
        self._opening = threading.Lock()
        self._users = 0
        self._changed = threading.Condition()
        self._asked: dict[str, Interruptible] = {}
        self._stopping = threading.Event()
        self._tail = threading.Thread(target=self._follow, name="historian", daemon=True)

    def start(self) -> None:
        """Begin to follow the journals."""
        self._tail.start()

    def stop(self) -> None:
        """End, and let go of the history."""
        self._stopping.set()
        self._tail.join()
        with self._opening:
            self._let_go()

    def ask(self, asked_id: str, statement: str, limits: Limits) -> ArrowAnswer:
        """Answer one statement on all that is committed by now."""
        self._catch_up()
        with self._using() as history:
            connection = history.connection()
            self._asked[asked_id] = connection
            try:
                answer = ask(connection, statement, limits)
            finally:
                del self._asked[asked_id]
                connection.close()
        return ArrowAnswer(arrow_of(answer.table), answer.cut)

    def interrupt(self, asked_id: str) -> None:
        """End a statement that nobody waits for any more; one that has not begun goes on."""
        connection = self._asked.get(asked_id)
        if connection is not None:
            connection.interrupt()

    def export(self, folder: Path) -> None:
        """Write all tables as Parquet."""
        self._catch_up()
        with self._using() as history:
            export(history, folder)

    def rebuild(self) -> None:
        """Make the history again from the journals; statements under way are answered before."""
        with self._opening:
            self._let_go()
            rebuild(self._path, self._shards, patience_s=_PATIENCE_S)
        self._catch_up()

    def behind(self) -> int:
        """Return how many positions of the journals' logs are not yet taken."""
        history = self._history
        return sum(
            history.behind(shard, journal) if history is not None else journal.last_position()
            for shard, journal in self._shards.items()
        )

    def _follow(self) -> None:
        looks, told = 0, ""
        while not self._stopping.wait(LOOK_EVERY_S):
            looks += 1
            try:
                if looks % _ANYWAY_EVERY_LOOKS == 1 or self.behind():
                    self._catch_up()
                told = ""
            except Exception as error:  # noqa: BLE001 - the next look may find it mended
                if told != (told := f"{type(error).__name__}: {error}"):
                    log.warning("history_not_caught_up", error=told)

    def _catch_up(self) -> None:
        with self._opening:
            if self._history is None and not self._stopping.is_set():
                self._history = History.open(self._path, patience_s=_PATIENCE_S)
        with self._using() as history:
            for shard, journal in self._shards.items():
                while history.take(shard, journal):
                    pass
            metrics.history_taken(sum(map(history.cursor_of, self._shards)))

    @contextmanager
    def _using(self) -> Iterator[History]:
        """Give the history, and keep it open in the meantime."""
        with self._changed:
            history = self._history
            if history is None:
                raise HistoryInUseError("the history is being made again")
            self._users += 1
        try:
            yield history
        finally:
            with self._changed:
                self._users -= 1
                self._changed.notify_all()

    def _let_go(self) -> None:
        with self._changed:
            history, self._history = self._history, None
            self._changed.wait_for(lambda: self._users == 0)
        if history is not None:
            history.close()


class Interruptible(Protocol):
    """A connection to the history."""

    def interrupt(self) -> None: ...
