"""The journal's twin in memory, for tests and simulation: the same promises, the plainest way.

It shares the codec and the keys with ``lmdb_journal`` and nothing else: no indexes, every list is
computed anew from the runs' projections. That makes it the model the LMDB journal is compared
with.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from threading import RLock
from typing import Any, TypeVar

from pointsman.graph.events import RecordedEvent
from pointsman.graph.intents import Intent
from pointsman.graph.projection import AttentionItem, Deadline, Projection, RunSummary
from pointsman.graph.run import Run, RunState
from pointsman.storage import codec, keys
from pointsman.storage.codec import Schema
from pointsman.storage.journal import LogEntry, StoredEvent, Transition
from pointsman.storage.journal_errors import (
    FencedError,
    JournalError,
    ReceiptConflictError,
    SequenceConflictError,
)
from pointsman.storage.memory_schedules import MemorySchedules
from pointsman.storage.receipts import CommandReceipt
from pointsman.storage.schedules import ScheduleStore
from pointsman.storage.tally import Tally, Waiting

T = TypeVar("T")


class MemoryDisk:
    """What outlives a closed or crashed journal: give it to the next one."""

    def __init__(self) -> None:
        self.lock = RLock()
        # Rows that were decoded before, by key and bytes: values are immutable, and rows are
        # read far more often than they are written.
        self.decoded: dict[tuple[bytes, bytes], Any] = {}
        self.tables: dict[str, dict[bytes, bytes]] = {
            schema.tag: {}
            for schema in (
                codec.EVENT,
                codec.CHECKPOINT,
                codec.PROJECTION,
                codec.RECEIPT,
                codec.TOKEN,
                codec.LEASE,
                codec.LOG,
                codec.SCHEDULE,
                codec.OCCURRENCE,
                codec.TROUBLE,
            )
        }


class MemoryJournal:
    """A journal on a ``MemoryDisk``, with the two places where a test may let it fail.

    What ``before_commit`` raises leaves everything as it was (a full disk, a crash before the
    commit); what ``after_commit`` raises comes after all is written (a crash before the reply).
    """

    def __init__(
        self,
        disk: MemoryDisk | None = None,
        *,
        before_commit: Callable[[Transition], None] = lambda _: None,
        after_commit: Callable[[Transition], None] = lambda _: None,
    ) -> None:
        self._disk = disk or MemoryDisk()
        self._before_commit = before_commit
        self._after_commit = after_commit
        self._closed = False
        self.schedules: ScheduleStore = MemorySchedules(self._open_tables, self._disk.lock)

    def lease(self, run_id: str) -> int:
        key = keys.part(run_id)
        with self._disk.lock:
            token = self._newest_lease(key) + 1
            row = codec.encode(codec.LEASE, key, codec.LeaseRow(token=token))
            self._table(codec.LEASE)[key] = row
        return token

    def commit(self, transition: Transition) -> int:
        with self._disk.lock:
            self._check(transition)
            entry = LogEntry(
                position=len(self._table(codec.LOG)) + 1,
                run_id=transition.run_id,
                first_sequence=transition.events[0].sequence,
                last_sequence=transition.events[-1].sequence,
            )
            # Encoded in full before the first row is placed: a value that does not encode, or
            # comes back as another one, must leave nothing behind.
            rows = list(_rows(transition, entry))
            self._before_commit(transition)
            for tag, key, row, value in rows:
                self._disk.tables[tag][key] = row
                self._disk.decoded[key, row] = value
        self._after_commit(transition)
        return entry.position

    def run(self, run_id: str) -> Run | None:
        return self._one(codec.CHECKPOINT, keys.part(run_id))

    def events(
        self, run_id: str, after: int = -1, limit: int | None = None
    ) -> tuple[RecordedEvent, ...]:
        return tuple(
            islice((each for each in self._events(run_id) if each.sequence > after), limit)
        )

    def receipt(self, scope: str, command_id: str) -> CommandReceipt | None:
        return self._one(codec.RECEIPT, keys.receipt(scope, command_id))

    def attempt_of_token(self, token_digest: str) -> str | None:
        row = self._one(codec.TOKEN, keys.part(token_digest))
        return row.attempt_id if row is not None else None

    def outbox(self, run_id: str) -> tuple[Intent, ...]:
        projection = self._one(codec.PROJECTION, keys.part(run_id))
        if projection is None:
            return ()
        return tuple(sorted(projection.outbox, key=lambda intent: intent.intent_id.encode()))

    def runs(
        self, states: frozenset[RunState] | None = None, limit: int = 100
    ) -> tuple[RunSummary, ...]:
        found = [each.summary for each in self._projections()]
        found.sort(key=lambda summary: summary.run_id, reverse=True)
        return tuple(each for each in found if states is None or each.state in states)[:limit]

    def summary(self, run_id: str) -> RunSummary | None:
        projection = self._one(codec.PROJECTION, keys.part(run_id))
        return projection.summary if projection is not None else None

    def attention(self, limit: int = 100) -> tuple[AttentionItem, ...]:
        items = [item for each in self._projections() for item in each.attention]
        items.sort(key=lambda item: (item.since_ms, item.run_id, item.item_id))
        return tuple(items[:limit])

    def note_trouble(self, item: AttentionItem) -> None:
        with self._disk.lock:
            key = keys.part(item.run_id)
            self._table(codec.TROUBLE)[key] = codec.encode(codec.TROUBLE, key, item)

    def end_trouble(self, run_id: str) -> None:
        with self._disk.lock:
            self._table(codec.TROUBLE).pop(keys.part(run_id), None)

    def troubles(self) -> tuple[AttentionItem, ...]:
        return tuple(sorted(self._all(codec.TROUBLE), key=lambda item: item.run_id))

    def due(self, now_ms: int, limit: int = 100) -> tuple[Deadline, ...]:
        return tuple(each for each in self._deadlines() if each.due_at_ms <= now_ms)[:limit]

    def next_deadline_ms(self) -> int | None:
        return min((each.due_at_ms for each in self._deadlines()), default=None)

    def active_runs(self) -> tuple[str, ...]:
        active = (each for each in self._projections() if each.outbox or each.summary.open_work)
        return tuple(sorted(each.summary.run_id for each in active))

    def log(self, after: int, limit: int) -> tuple[LogEntry, ...]:
        entries = sorted(self._all(codec.LOG), key=lambda entry: entry.position)
        return tuple(each for each in entries if each.position > after)[:limit]

    def stored_events(self, after: int, events_max: int) -> tuple[StoredEvent, ...]:
        found: list[StoredEvent] = []
        with self._disk.lock:
            for entry in self.log(after, len(self._table(codec.LOG))):
                if len(found) >= events_max:
                    break
                found += self._stored(entry)
        return tuple(found)

    def last_position(self) -> int:
        return len(self._table(codec.LOG))

    def tally(self, now_ms: int, late_ms: int) -> Tally:
        with self._disk.lock:
            states = Counter(each.summary.state for each in self._projections())
            due = len(self.due(now_ms, sys.maxsize))
            return Tally(
                runs={state: states[state] for state in RunState},
                waiting=tuple(
                    Waiting(each.kind, each.since_ms)
                    for each in (*self.attention(sys.maxsize), *self.troubles())
                ),
                outbox=sum(len(each.outbox) for each in self._projections()),
                deadlines=len(self._deadlines()) - due,
                due=due,
                late=len(self.due(now_ms - late_ms - 1, sys.maxsize)),
                position=self.last_position(),
                size=None,
            )

    def dump(self) -> Mapping[str, Mapping[bytes, bytes]]:
        """Return every row of every table as it is stored."""
        with self._disk.lock:
            return {tag: dict(rows) for tag, rows in self._disk.tables.items()}

    def close(self) -> None:
        self._closed = True

    def _stored(self, entry: LogEntry) -> Iterator[StoredEvent]:
        for sequence in range(entry.first_sequence, entry.last_sequence + 1):
            key = keys.event(entry.run_id, sequence)
            text = codec.stored_json(codec.EVENT, key, self._table(codec.EVENT)[key])
            yield StoredEvent(entry.position, entry.run_id, sequence, text)

    def _check(self, transition: Transition) -> None:
        run_id = transition.run_id
        newest = self._newest_lease(keys.part(run_id))
        if transition.fencing_token != newest or newest == 0:
            raise FencedError(f"{run_id}: token {transition.fencing_token} is not lease {newest}")
        if not self._ends_before(run_id, transition.expected_sequence):
            raise SequenceConflictError(
                f"{run_id}: expected sequence {transition.expected_sequence},"
                f" it is {len(self._events(run_id))}"
            )
        receipt = transition.receipt
        if receipt is not None and self.receipt(receipt.scope, receipt.command_id) is not None:
            raise ReceiptConflictError(f"command {receipt.command_id!r} was answered meanwhile")
        for binding in transition.tokens:
            bound = self.attempt_of_token(binding.token_digest)
            assert bound in (None, binding.attempt_id), f"the token of {bound} is bound again"

    def _ends_before(self, run_id: str, sequence: int) -> bool:
        """Whether a run's events, which are contiguous from 0, end right before a sequence."""
        events = self._table(codec.EVENT)
        follows = sequence == 0 or keys.event(run_id, sequence - 1) in events
        return follows and keys.event(run_id, sequence) not in events

    def _newest_lease(self, key: bytes) -> int:
        row = self._one(codec.LEASE, key)
        return row.token if row is not None else 0

    def _events(self, run_id: str) -> list[RecordedEvent]:
        events = self._all(codec.EVENT, keys.run_prefix(run_id))
        return sorted(events, key=lambda each: each.sequence)

    def _projections(self) -> list[Projection]:
        return self._all(codec.PROJECTION)

    def _deadlines(self) -> list[Deadline]:
        deadlines = [deadline for each in self._projections() for deadline in each.deadlines]
        return sorted(deadlines, key=lambda each: (each.due_at_ms, each.run_id, each.deadline_id))

    def _one(self, schema: Schema[T], key: bytes) -> T | None:
        with self._disk.lock:
            row = self._table(schema).get(key)
        return self._decoded(schema, key, row) if row is not None else None

    def _all(self, schema: Schema[T], prefix: bytes = b"") -> list[T]:
        with self._disk.lock:
            rows = [row for row in self._table(schema).items() if row[0].startswith(prefix)]
        return [self._decoded(schema, key, row) for key, row in rows]

    def _decoded(self, schema: Schema[T], key: bytes, row: bytes) -> T:
        found: T | None = self._disk.decoded.get((key, row))
        if found is None:
            found = codec.decode(schema, key, row)
            self._disk.decoded[key, row] = found
        return found

    def _table(self, schema: Schema[T]) -> dict[bytes, bytes]:
        return self._open_tables()[schema.tag]

    def _open_tables(self) -> dict[str, dict[bytes, bytes]]:
        if self._closed:
            raise JournalError("the journal is closed")
        return self._disk.tables


def _rows(transition: Transition, entry: LogEntry) -> Iterator[tuple[str, bytes, bytes, Any]]:
    run_key = keys.part(transition.run_id)
    for each in transition.events:
        yield _row(codec.EVENT, keys.event(each.run_id, each.sequence), each)
    yield _row(codec.CHECKPOINT, run_key, transition.run)
    yield _row(codec.PROJECTION, run_key, transition.projection)
    if transition.receipt is not None:
        key = keys.receipt(transition.receipt.scope, transition.receipt.command_id)
        yield _row(codec.RECEIPT, key, transition.receipt)
    for binding in transition.tokens:
        bound = codec.TokenRow(attempt_id=binding.attempt_id)
        yield _row(codec.TOKEN, keys.part(binding.token_digest), bound)
    yield _row(codec.LOG, keys.number(entry.position), entry)


def _row(schema: Schema[T], key: bytes, value: T) -> tuple[str, bytes, bytes, T]:
    row = codec.encode(schema, key, value)
    back = codec.decode(schema, key, row)
    assert back == value, f"{schema.tag} does not come back from its row: {value!r} != {back!r}"
    return schema.tag, key, row, back
