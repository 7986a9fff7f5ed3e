"""The journal in LMDB: what a transition reads and writes in its one durable transaction.

Reads copy rows out in a short transaction and decode them afterwards, so that no reader pins
old pages while Python works. Several processes may have the same folder open.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeAlias, TypeVar

import orjson

from pointsman.graph.events import RecordedEvent
from pointsman.graph.intents import Intent
from pointsman.graph.projection import AttentionItem, Deadline, RunSummary
from pointsman.graph.run import Run, RunState
from pointsman.storage import codec, keys
from pointsman.storage.codec import Schema
from pointsman.storage.filesystem import Size
from pointsman.storage.journal import DAMAGED_KIND, LogEntry, StoredEvent, Transition
from pointsman.storage.journal_errors import (
    FencedError,
    JournalCorruptError,
    ReceiptConflictError,
    SequenceConflictError,
)
from pointsman.storage.keys import Table
from pointsman.storage.lmdb_environment import MAP_SIZE_BYTES, Environment, Txn
from pointsman.storage.lmdb_schedules import LmdbSchedules
from pointsman.storage.lmdb_tally import tally
from pointsman.storage.receipts import CommandReceipt
from pointsman.storage.rows import (
    TableRows,
    TransitionRows,
    derived_rows,
    index_rows,
    transition_rows,
)
from pointsman.storage.tally import Tally

T = TypeVar("T")
_TABLE_OF: Final = {schema.tag: table for table, schema in codec.OF_TABLE.items()}
KeyedRow: TypeAlias = tuple[bytes, bytes]
ReadRows: TypeAlias = Callable[[Txn], Iterable[KeyedRow]]
# Reads in a transaction: in one of its own, or in the one that is under way.
ReadInTxn: TypeAlias = Callable[[Callable[[Txn], TableRows]], TableRows]


class DamagedRow(NamedTuple):
    """What is wrong with a row, and the run from whose events it follows, if from any."""

    text: str
    follows_from: str | None


class LmdbJournal:
    """A shard's journal in one folder (see ``journal.Journal`` for what each call promises).

    Thread-safe; calls of one process take turns. To be opened once a process and handed around.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self.schedules = LmdbSchedules(environment)

    @classmethod
    def open(cls, path: Path, *, map_size: int = MAP_SIZE_BYTES, read_only: bool = False) -> Self:
        """Open the journal in a folder, or create it there unless ``read_only``.

        Raises ``JournalFormatError`` for a newer format, which it leaves untouched, and
        ``JournalError`` for a network file system or a folder already open in this process.
        ``map_size`` is only where the map starts; it grows as needed.
        """
        return cls(Environment.open(path, map_size, read_only))

    def lease(self, run_id: str) -> int:
        key = keys.part(run_id)

        def take(txn: Txn) -> int:
            token = _lease_in(txn, key) + 1
            row = codec.encode(codec.LEASE, key, codec.LeaseRow(token=token))
            txn.put(Table.LEASES, key, row)
            return token

        return self._environment.write(take)

    def commit(self, transition: Transition) -> int:
        rows = transition_rows(transition)
        return self._environment.write(lambda txn: _apply(txn, transition, rows))

    def run(self, run_id: str) -> Run | None:
        return self._one(Table.CHECKPOINTS, codec.CHECKPOINT, keys.part(run_id))

    def events(
        self, run_id: str, after: int = -1, limit: int | None = None
    ) -> tuple[RecordedEvent, ...]:
        start = keys.event(run_id, max(after + 1, 0))
        prefix = keys.run_prefix(run_id)
        return self._many(
            codec.EVENT, lambda txn: islice(_within(txn, Table.EVENTS, prefix, start), limit)
        )

    def receipt(self, scope: str, command_id: str) -> CommandReceipt | None:
        return self._one(Table.RECEIPTS, codec.RECEIPT, keys.receipt(scope, command_id))

    def attempt_of_token(self, token_digest: str) -> str | None:
        row = self._one(Table.TOKENS, codec.TOKEN, keys.part(token_digest))
        return row.attempt_id if row is not None else None

    def outbox(self, run_id: str) -> tuple[Intent, ...]:
        prefix = keys.run_prefix(run_id)
        return self._many(codec.INTENT, lambda txn: _within(txn, Table.OUTBOX, prefix))

    def runs(
        self, states: frozenset[RunState] | None = None, limit: int = 100
    ) -> tuple[RunSummary, ...]:
        rows = self._of_many_runs(codec.RUN_ROW, lambda txn: _newest(txn, states, limit))
        return tuple(row.summary for row in rows)

    def summary(self, run_id: str) -> RunSummary | None:
        row = self._one(Table.RUNS, codec.RUN_ROW, keys.part(run_id))
        return row.summary if row is not None else None

    def attention(self, limit: int = 100) -> tuple[AttentionItem, ...]:
        return self._of_many_runs(
            codec.ATTENTION, lambda txn: islice(txn.forward(Table.ATTENTION), limit)
        )

    def note_trouble(self, item: AttentionItem) -> None:
        key = keys.part(item.run_id)
        row = codec.encode(codec.TROUBLE, key, item)
        self._environment.write(lambda txn: txn.put(Table.TROUBLES, key, row))

    def end_trouble(self, run_id: str) -> None:
        key = keys.part(run_id)
        self._environment.write(lambda txn: txn.delete(Table.TROUBLES, key))

    def troubles(self) -> tuple[AttentionItem, ...]:
        return self._of_many_runs(codec.TROUBLE, lambda txn: txn.forward(Table.TROUBLES))

    def due(self, now_ms: int, limit: int = 100) -> tuple[Deadline, ...]:
        after_now = keys.number(max(now_ms + 1, 0))

        def until_now(txn: Txn) -> Iterator[KeyedRow]:
            due = takewhile(lambda row: row[0] < after_now, txn.forward(Table.DUE))
            return islice(due, limit)

        return self._of_many_runs(codec.DEADLINE, until_now)

    def next_deadline_ms(self) -> int | None:
        first = self._environment.read(lambda txn: next(txn.forward(Table.DUE), None))
        return keys.time_of(first[0]) if first is not None else None

    def active_runs(self) -> tuple[str, ...]:
        rows = self._environment.read(lambda txn: list(txn.forward(Table.ACTIVE)))
        return tuple(key.decode() for key, _ in rows)

    def log(self, after: int, limit: int) -> tuple[LogEntry, ...]:
        start = keys.number(after + 1)
        return self._many(codec.LOG, lambda txn: islice(txn.forward(Table.LOG, start), limit))

    def stored_events(self, after: int, events_max: int) -> tuple[StoredEvent, ...]:
        found = self._environment.read(lambda txn: list(_event_rows(txn, after, events_max)))
        return tuple(_stored_event(*each) for each in found)

    def last_position(self) -> int:
        return self._environment.read(_last_position)

    def tally(self, now_ms: int, late_ms: int) -> Tally:
        return tally(self._environment, now_ms, late_ms)

    def dump(self) -> Mapping[Table, Mapping[bytes, bytes]]:
        """Return every row of every table as it is stored."""
        return self._environment.read(
            lambda txn: {table: dict(txn.forward(table)) for table in Table}
        )

    def size(self) -> Size:
        """Tell how much of the file is used, and how large its map is now."""
        return self._environment.size()

    def damaged_rows(self) -> tuple[DamagedRow, ...]:
        """Read every row of every table, and return those that are damaged."""
        return self._environment.read(lambda txn: tuple(_damaged(txn)))

    def close(self) -> None:
        self._environment.close()

    def _one(self, table: Table, schema: Schema[T], key: bytes) -> T | None:
        row = self._environment.read(lambda txn: txn.get(table, key))
        return self._decoded(schema, key, row) if row is not None else None

    def _many(self, schema: Schema[T], rows: ReadRows) -> tuple[T, ...]:
        found = self._environment.read(lambda txn: list(rows(txn)))
        return tuple(self._decoded(schema, key, row) for key, row in found)

    def _of_many_runs(self, schema: Schema[T], rows: ReadRows) -> tuple[T, ...]:
        """Read an index over all runs; what one of them has lost keeps no other from being seen."""
        found = []
        for key, row in self._environment.read(lambda txn: list(rows(txn))):
            with suppress(JournalCorruptError):
                found.append(self._decoded(schema, key, row))
        return tuple(found)

    def _decoded(self, schema: Schema[T], key: bytes, row: bytes) -> T:
        return _decoded(schema, key, row, self._environment.read)


def _decoded(schema: Schema[T], key: bytes, row: bytes, read: ReadInTxn) -> T:
    """Decode a row; a damaged one that follows from intact events is derived from them anew."""
    try:
        return codec.decode(schema, key, row)
    except JournalCorruptError:
        if schema not in codec.DERIVED:
            raise
        table = _TABLE_OF[schema.tag]
        run_id = keys.run_of(table, key)
        anew = read(lambda txn: _derived_anew(txn, run_id))
        if (table, key) not in anew:
            raise
        return codec.decode(schema, key, anew[table, key])


def _derived_anew(txn: Txn, run_id: str) -> TableRows:
    """Return every row that follows from a run's events; these must be whole."""
    # Only a damaged row needs the whole core.
    from pointsman.graph.evolve import fold
    from pointsman.graph.project import project

    rows = _within(txn, Table.EVENTS, keys.run_prefix(run_id))
    events = [codec.decode(codec.EVENT, key, row) for key, row in rows]
    if [each.sequence for each in events] != list(range(len(events))):
        raise JournalCorruptError(f"{run_id}: an event is missing")
    run = fold(events)
    return derived_rows(run, project(run)) if run is not None else {}


def _damaged(txn: Txn) -> Iterator[DamagedRow]:
    for table, schema in codec.OF_TABLE.items():
        for key, row in txn.forward(table):
            try:
                codec.decode(schema, key, row)
            except JournalCorruptError as error:
                follows = keys.run_of(table, key) if schema in codec.DERIVED else None
                yield DamagedRow(f"{table}: {error}", follows)


def _apply(txn: Txn, transition: Transition, rows: TransitionRows) -> int:
    """Write one transition; when anything here raises, the transaction is aborted."""
    run_id = transition.run_id
    run_key = keys.part(run_id)
    newest = _lease_in(txn, run_key)
    if transition.fencing_token != newest or newest == 0:
        raise FencedError(f"{run_id}: token {transition.fencing_token} is not lease {newest}")
    expected = _next_sequence(txn, run_id)
    if transition.expected_sequence != expected:
        raise SequenceConflictError(
            f"{run_id}: expected sequence {transition.expected_sequence}, it is {expected}"
        )
    _add(txn, rows.added)
    _replace_set(txn, _outbox_in(txn, run_id), rows.outbox)
    # Before the run's own row is replaced: it tells which index rows were made for it.
    _replace_set(txn, _index_in(txn, run_key), rows.index)
    for (table, key), row in rows.replaced.items():
        txn.put(table, key, row)
    return _append_to_log(txn, transition)


def _add(txn: Txn, rows: TableRows) -> None:
    for (table, key), row in rows.items():
        if txn.add(table, key, row):
            continue
        if table is Table.RECEIPTS:
            raise ReceiptConflictError(f"command {key!r} was answered meanwhile")
        assert txn.get(table, key) == row, f"{table} {key!r} exists with another content"


def _replace_set(txn: Txn, old: TableRows, new: TableRows) -> None:
    """Bring a run's earlier rows to the new ones; what stays the same is not written again."""
    for table, key in old.keys() - new.keys():
        txn.delete(table, key)
    for (table, key), row in new.items():
        if old.get((table, key)) != row:
            txn.put(table, key, row)


def _append_to_log(txn: Txn, transition: Transition) -> int:
    position = _last_position(txn) + 1
    entry = LogEntry(
        position=position,
        run_id=transition.run_id,
        first_sequence=transition.events[0].sequence,
        last_sequence=transition.events[-1].sequence,
    )
    key = keys.number(position)
    txn.put(Table.LOG, key, codec.encode(codec.LOG, key, entry))
    return position


def _last_position(txn: Txn) -> int:
    last = next(txn.backward(Table.LOG), None)
    return keys.number_of(last[0]) if last is not None else 0


def _event_rows(txn: Txn, after: int, events_max: int) -> Iterator[tuple[int, str, bytes, bytes]]:
    """Yield the event rows of whole log entries, each with its entry's position and run."""
    count = 0
    for log_key, log_row in txn.forward(Table.LOG, keys.number(after + 1)):
        entry = orjson.loads(codec.stored_json(codec.LOG, log_key, log_row))
        run_id, first, last = entry["run_id"], entry["first_sequence"], entry["last_sequence"]
        count_here = last - first + 1
        prefix = keys.run_prefix(run_id)
        rows = islice(txn.forward(Table.EVENTS, prefix + keys.number(first)), count_here)
        sequence = first
        for key, row in rows:
            if key != prefix + keys.number(sequence):
                break
            yield entry["position"], run_id, key, row
            sequence += 1
        if sequence <= last:
            raise JournalCorruptError(f"the log names {run_id}/{sequence}: no such event")
        count += count_here
        if count >= events_max:
            return


def _stored_event(position: int, run_id: str, key: bytes, row: bytes) -> StoredEvent:
    sequence = keys.number_of(key)
    try:
        text = codec.stored_json(codec.EVENT, key, row)
    except JournalCorruptError:
        text = b'{"run_id":"%b","sequence":%d,"event":{"kind":"%b"}}'
        text %= run_id.encode(), sequence, DAMAGED_KIND.encode()
    return StoredEvent(position, run_id, sequence, text)


def _lease_in(txn: Txn, run_key: bytes) -> int:
    row = txn.get(Table.LEASES, run_key)
    return codec.decode(codec.LEASE, run_key, row).token if row is not None else 0


def _next_sequence(txn: Txn, run_id: str) -> int:
    """Read the next sequence from the events themselves, not from what was derived of them."""
    prefix = keys.run_prefix(run_id)
    last = next(txn.backward(Table.EVENTS, keys.after_prefix(prefix)), None)
    if last is None or not last[0].startswith(prefix):
        return 0
    return keys.number_of(last[0]) + 1


def _outbox_in(txn: Txn, run_id: str) -> TableRows:
    rows = _within(txn, Table.OUTBOX, keys.run_prefix(run_id))
    return {(Table.OUTBOX, key): row for key, row in rows}


def _index_in(txn: Txn, run_key: bytes) -> TableRows:
    row = txn.get(Table.RUNS, run_key)
    if row is None:
        return {}
    return index_rows(_decoded(codec.RUN_ROW, run_key, row, lambda read: read(txn)))


def _within(txn: Txn, table: Table, prefix: bytes, start: bytes = b"") -> Iterator[KeyedRow]:
    rows = txn.forward(table, start or prefix)
    return takewhile(lambda row: row[0].startswith(prefix), rows)


def _newest(txn: Txn, states: frozenset[RunState] | None, limit: int) -> Iterable[KeyedRow]:
    if states is None:
        return islice(txn.backward(Table.RUNS), limit)
    run_keys = chain.from_iterable(_newest_in(txn, state, limit) for state in states)
    newest = islice(sorted(run_keys, reverse=True), limit)
    return [(key, row) for key in newest if (row := txn.get(Table.RUNS, key)) is not None]


def _newest_in(txn: Txn, state: RunState, limit: int) -> Iterator[bytes]:
    prefix = keys.state_prefix(state)
    rows = txn.backward(Table.BY_STATE, keys.after_prefix(prefix))
    within = takewhile(lambda row: row[0].startswith(prefix), rows)
    return (key.removeprefix(prefix) for key, _ in islice(within, limit))
