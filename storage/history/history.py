"""The history: what the journals say, in DuckDB for SQL. It is a copy that can be made again.

Each batch of a shard's log and the cursor after it are written in one DuckDB transaction, so every
event is taken exactly once whatever ends the process. The tables of runs are derived from the
events by SQL, for the runs of a batch and in the same transaction: they are functions of the
events, and how the log was cut into batches leaves no trace in them.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Final, Self, TypeAlias

import duckdb
from filelock import FileLock, Timeout

from pointsman.storage.history import schema
from pointsman.storage.history.batch import events_text, occurrences_text
from pointsman.storage.history.errors import HistoryInUseError
from pointsman.storage.history.read_ahead import ReadAhead
from pointsman.storage.history.schema import DERIVATIONS
from pointsman.storage.journal import Journal, StoredEvent

EVENTS_MAX: Final = 50_000
Config: TypeAlias = dict[str, str | bool | int | float | list[str]]


class History:
    """One DuckDB file for all shards. Calls of one process take turns; readers take none.

    A file of another schema, or one that DuckDB cannot read, is replaced by an empty one when it
    is opened: ``take`` then copies the journals again from their beginning.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, holding: ExitStack) -> None:
        self._connection = connection
        self._holding = holding
        self._lock = RLock()
        self._ahead = ReadAhead()

    @classmethod
    def open(
        cls, path: Path, *, patience_s: float = 0.0, memory_max_mb: int = 512, threads: int = 2
    ) -> Self:
        """Open the history in a file, or make it; nobody else can until it is closed.

        Raises ``HistoryInUseError`` when another process does not let go of it in time.
        """
        with ExitStack() as holding:
            holding.enter_context(_held(path, patience_s))
            return cls(_opened(path, _config(memory_max_mb, threads)), holding.pop_all())
        raise AssertionError("the exit stack lets every error through")

    def take(self, shard: str, journal: Journal, events_max: int = EVENTS_MAX) -> int:
        """Copy the next transitions of a shard's log; return how many events, 0 when caught up.

        About ``events_max`` events are taken. When this raises, nothing was taken.
        """
        with self._lock:
            found = self._ahead.batch(shard, journal, self.cursor_of(shard), events_max)
            occurrences = occurrences_text(journal.schedules.stored_occurrences())
            with _transaction(self._connection):
                if found:
                    _take_events(self._connection, shard, found)
                    _move_cursor(self._connection, shard, found[-1].position)
                _take_occurrences(self._connection, shard, occurrences)
            return len(found)

    def cursor_of(self, shard: str) -> int:
        """Return the last log position that was taken of a shard, 0 before the first."""
        with self._lock:
            query = "SELECT position FROM cursors WHERE shard = ?"
            row = self._connection.execute(query, [shard]).fetchone()
            return row[0] if row is not None else 0

    def behind(self, shard: str, journal: Journal) -> int:
        """Return how many positions of a shard's log are not yet taken."""
        return max(0, journal.last_position() - self.cursor_of(shard))

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return a connection of its own for the queries of one thread; it sees whole batches."""
        with self._lock:
            return self._connection.cursor()

    def close(self) -> None:
        """Write what DuckDB still holds in its own log, and let go of the file."""
        with self._lock:
            self._ahead.close()
            self._connection.close()
            self._holding.close()


def rebuild(
    path: Path,
    shards: Mapping[str, Journal],
    *,
    patience_s: float = 0.0,
    memory_max_mb: int = 512,
) -> None:
    """Make the history anew from the journals, and put it in the place of the one at ``path``.

    The earlier one must be closed, and stays until the new one is whole; a rebuild that ended
    early is begun again. Raises ``HistoryInUseError``.
    """
    beside = path.with_name(f"{path.name}.new")
    with _held(path, patience_s):
        _remove(beside)
        made = History(_opened(beside, _config(memory_max_mb, threads=2)), ExitStack())
        try:
            for shard, journal in shards.items():
                while made.take(shard, journal):
                    pass
        finally:
            made.close()
        _log_of(path).unlink(missing_ok=True)
        os.replace(beside, path)


@contextmanager
def _held(path: Path, patience_s: float) -> Iterator[None]:
    """Keep a history to this process, also while its file is replaced."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with FileLock(path.with_suffix(".lock"), timeout=patience_s):
            yield
    except Timeout as error:
        raise HistoryInUseError(f"{path} is open in another process") from error


@contextmanager
def _transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit when the block ends well, and roll back otherwise."""
    connection.begin()
    try:
        yield
    except BaseException:
        with suppress(duckdb.Error):  # the first error is the one to tell
            connection.rollback()
        raise
    connection.commit()


def _config(memory_max_mb: int, threads: int) -> Config:
    return {
        "enable_external_access": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
        "memory_limit": f"{memory_max_mb}MB",
        "threads": threads,
        "preserve_insertion_order": False,
        "checkpoint_threshold": "256MB",
    }


def _opened(path: Path, config: Config) -> duckdb.DuckDBPyConnection:
    connection = _connected(path, config)
    if connection is None:
        _remove(path)
        connection = duckdb.connect(path, config=config)
        schema.make(connection)
    path.chmod(0o600)
    connection.execute("SET lock_configuration = true")
    return connection


def _connected(path: Path, config: Config) -> duckdb.DuckDBPyConnection | None:
    """Connect to a history of today's schema; ``None`` when there is none of it in the file."""
    if not path.exists():
        return None
    try:
        connection = duckdb.connect(path, config=config)
    except duckdb.IOException as error:
        if "lock" in str(error):
            raise HistoryInUseError(f"{path} is open in another process") from error
        return None
    except duckdb.Error:
        return None
    if schema.is_todays(connection):
        return connection
    connection.close()
    return None


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    _log_of(path).unlink(missing_ok=True)


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def _take_events(
    connection: duckdb.DuckDBPyConnection, shard: str, found: Sequence[StoredEvent]
) -> None:
    text = events_text(found)
    connection.execute(schema.INSERT_EVENTS, {"shard": shard, "events": text})
    runs = sorted({each.run_id for each in found})
    connection.execute(schema.RUNS_OF_BATCH, {"runs": runs})
    connection.execute(schema.BATCH)
    connection.execute(schema.INSERT_DEFINITIONS)
    for table, select in DERIVATIONS.items():
        connection.execute(f"DELETE FROM {table} WHERE run_id IN (FROM batch_runs)")
        connection.execute(f"INSERT INTO {table} BY NAME {select}")


def _move_cursor(connection: duckdb.DuckDBPyConnection, shard: str, position: int) -> None:
    connection.execute("DELETE FROM cursors WHERE shard = ?", [shard])
    connection.execute("INSERT INTO cursors VALUES (?, ?)", [shard, position])


def _take_occurrences(connection: duckdb.DuckDBPyConnection, shard: str, text: str) -> None:
    """Replace a shard's occurrences when any differs: they are few, and change in place."""
    query = "SELECT text = ? FROM occurrence_texts WHERE shard = ?"
    if (row := connection.execute(query, [text, shard]).fetchone()) and row[0]:
        return
    connection.execute("DELETE FROM occurrence_texts WHERE shard = ?", [shard])
    connection.execute("INSERT INTO occurrence_texts VALUES (?, ?)", [shard, text])
    connection.execute("DELETE FROM occurrences WHERE shard = ?", [shard])
    connection.execute(schema.INSERT_OCCURRENCES, {"shard": shard, "occurrences": text})
