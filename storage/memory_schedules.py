"""The twin in memory of ``lmdb_schedules``: no indexes, every list is computed anew."""

from collections.abc import Callable, Mapping, MutableMapping
from threading import RLock
from typing import TypeVar

from pointsman.graph.schedule import Occurrence, OccurrenceState, Schedule
from pointsman.storage import codec, keys
from pointsman.storage.codec import Schema
from pointsman.storage.journal_errors import ReceiptConflictError
from pointsman.storage.schedules import ScheduleChange, ScheduleConflictError

T = TypeVar("T")
MemoryTables = Mapping[str, MutableMapping[bytes, bytes]]


class MemorySchedules:
    """See ``schedules.ScheduleStore`` for what each call promises."""

    def __init__(self, tables: Callable[[], MemoryTables], lock: RLock) -> None:
        self._tables = tables
        self._lock = lock

    def change(self, change: ScheduleChange) -> None:
        with self._lock:
            found = self.schedule(change.schedule_id)
            version = found.version if found is not None else 0
            if version != change.expected_version:
                raise ScheduleConflictError(f"{change.schedule_id} has version {version}")
            receipt = change.receipt
            key = keys.receipt(receipt.scope, receipt.command_id) if receipt is not None else b""
            if receipt is not None and key in self._table(codec.RECEIPT):
                raise ReceiptConflictError(f"{receipt.command_id!r} was answered meanwhile")
            if receipt is not None:
                self._put(codec.RECEIPT, key, receipt)
            if change.schedule is None:
                self._table(codec.SCHEDULE).pop(keys.part(change.schedule_id), None)
            else:
                self._put(codec.SCHEDULE, keys.part(change.schedule_id), change.schedule)
            for each in change.occurrences:
                self._put_new(each)

    def add(self, occurrence: Occurrence) -> bool:
        with self._lock:
            return self._put_new(occurrence)

    def replace(self, read: Occurrence, now: Occurrence) -> bool:
        with self._lock:
            if self.occurrence(read.occurrence_id) != read:
                return False
            self._put(codec.OCCURRENCE, keys.part(now.occurrence_id), now)
            return True

    def schedule(self, schedule_id: str) -> Schedule | None:
        return self._one(codec.SCHEDULE, keys.part(schedule_id))

    def schedules(self, limit: int = 1_000) -> tuple[Schedule, ...]:
        return tuple(self._all(codec.SCHEDULE))[:limit]

    def due(self, now_ms: int, limit: int = 100) -> tuple[Schedule, ...]:
        found = [
            (each.next_ms, each.schedule_id, each)
            for each in self._all(codec.SCHEDULE)
            if each.next_ms is not None and each.next_ms <= now_ms
        ]
        return tuple(each for _, _, each in sorted(found, key=lambda row: row[:2]))[:limit]

    def occurrence(self, occurrence_id: str) -> Occurrence | None:
        return self._one(codec.OCCURRENCE, keys.part(occurrence_id))

    def occurrences(self, schedule_id: str, limit: int = 100) -> tuple[Occurrence, ...]:
        found = [each for each in self._in_time() if each.schedule_id == schedule_id]
        return tuple(reversed(found))[:limit]

    def stored_occurrences(self) -> tuple[bytes, ...]:
        with self._lock:
            rows = sorted(self._table(codec.OCCURRENCE).items())
        return tuple(codec.stored_json(codec.OCCURRENCE, key, row) for key, row in rows)

    def pending(self, limit: int = 100) -> tuple[Occurrence, ...]:
        found = (each for each in self._in_time() if each.state is OccurrenceState.PENDING)
        return tuple(found)[:limit]

    def _in_time(self) -> list[Occurrence]:
        def place(each: Occurrence) -> tuple[int, bytes]:
            return each.created_at_ms, keys.part(each.occurrence_id)

        return sorted(self._all(codec.OCCURRENCE), key=place)

    def _put_new(self, occurrence: Occurrence) -> bool:
        key = keys.part(occurrence.occurrence_id)
        if key in self._table(codec.OCCURRENCE):
            return False
        self._put(codec.OCCURRENCE, key, occurrence)
        return True

    def _put(self, schema: Schema[T], key: bytes, value: T) -> None:
        row = codec.encode(schema, key, value)
        assert codec.decode(schema, key, row) == value, f"{value!r} does not come back"
        self._table(schema)[key] = row

    def _one(self, schema: Schema[T], key: bytes) -> T | None:
        with self._lock:
            row = self._table(schema).get(key)
        return codec.decode(schema, key, row) if row is not None else None

    def _all(self, schema: Schema[T]) -> list[T]:
        with self._lock:
            rows = sorted(self._table(schema).items())
        return [codec.decode(schema, key, row) for key, row in rows]

    def _table(self, schema: Schema[T]) -> MutableMapping[bytes, bytes]:
        return self._tables()[schema.tag]
