"""The schedules of a journal in LMDB; each call is one transaction."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, takewhile
from typing import TypeVar

from pointsman.graph.schedule import Occurrence, Schedule
from pointsman.storage import codec, keys
from pointsman.storage.codec import Schema
from pointsman.storage.journal_errors import ReceiptConflictError
from pointsman.storage.keys import Table
from pointsman.storage.lmdb_environment import Environment, Txn
from pointsman.storage.rows import TableRows
from pointsman.storage.schedule_rows import occurrence_rows, schedule_rows
from pointsman.storage.schedules import ScheduleChange, ScheduleConflictError

T = TypeVar("T")


class LmdbSchedules:
    """See ``schedules.ScheduleStore`` for what each call promises."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def change(self, change: ScheduleChange) -> None:
        new = schedule_rows(change.schedule) if change.schedule is not None else {}
        occurrences = [occurrence_rows(each) for each in change.occurrences]

        def apply(txn: Txn) -> None:
            found = _decoded(txn, Table.SCHEDULES, codec.SCHEDULE, keys.part(change.schedule_id))
            version = found.version if found is not None else 0
            if version != change.expected_version:
                raise ScheduleConflictError(
                    f"{change.schedule_id}: expected version {change.expected_version},"
                    f" it is {version}"
                )
            _put_receipt(txn, change)
            _swap(txn, schedule_rows(found) if found is not None else {}, new)
            for rows in occurrences:
                _add(txn, rows)

        self._environment.write(apply)

    def add(self, occurrence: Occurrence) -> bool:
        rows = occurrence_rows(occurrence)
        return self._environment.write(lambda txn: _add(txn, rows))

    def replace(self, read: Occurrence, now: Occurrence) -> bool:
        assert read.occurrence_id == now.occurrence_id, f"{read} is another than {now}"
        key = keys.part(read.occurrence_id)
        old, new = occurrence_rows(read), occurrence_rows(now)

        def apply(txn: Txn) -> bool:
            if _decoded(txn, Table.OCCURRENCES, codec.OCCURRENCE, key) != read:
                return False
            _swap(txn, old, new)
            return True

        return self._environment.write(apply)

    def schedule(self, schedule_id: str) -> Schedule | None:
        key = keys.part(schedule_id)
        return self._one(Table.SCHEDULES, codec.SCHEDULE, key)

    def schedules(self, limit: int = 1_000) -> tuple[Schedule, ...]:
        def all_of(txn: Txn) -> Iterator[bytes]:
            return (key for key, _ in islice(txn.forward(Table.SCHEDULES), limit))

        return self._named(Table.SCHEDULES, codec.SCHEDULE, all_of)

    def due(self, now_ms: int, limit: int = 100) -> tuple[Schedule, ...]:
        after_now = keys.number(max(now_ms + 1, 0))

        def until_now(txn: Txn) -> Iterator[bytes]:
            rows = takewhile(lambda row: row[0] < after_now, txn.forward(Table.SCHEDULES_DUE))
            return (keys.after_number(key) for key, _ in islice(rows, limit))

        return self._named(Table.SCHEDULES, codec.SCHEDULE, until_now)

    def occurrence(self, occurrence_id: str) -> Occurrence | None:
        key = keys.part(occurrence_id)
        return self._one(Table.OCCURRENCES, codec.OCCURRENCE, key)

    def occurrences(self, schedule_id: str, limit: int = 100) -> tuple[Occurrence, ...]:
        prefix = keys.run_prefix(schedule_id)

        def newest(txn: Txn) -> Iterator[bytes]:
            rows = txn.backward(Table.OCCURRENCES_OF, keys.after_prefix(prefix))
            within = takewhile(lambda row: row[0].startswith(prefix), rows)
            found = islice(within, limit)
            return (keys.after_number(key.removeprefix(prefix)) for key, _ in found)

        return self._named(Table.OCCURRENCES, codec.OCCURRENCE, newest)

    def stored_occurrences(self) -> tuple[bytes, ...]:
        rows = self._environment.read(lambda txn: list(txn.forward(Table.OCCURRENCES)))
        return tuple(codec.stored_json(codec.OCCURRENCE, key, row) for key, row in rows)

    def pending(self, limit: int = 100) -> tuple[Occurrence, ...]:
        def oldest(txn: Txn) -> Iterator[bytes]:
            rows = islice(txn.forward(Table.OCCURRENCES_PENDING), limit)
            return (keys.after_number(key) for key, _ in rows)

        return self._named(Table.OCCURRENCES, codec.OCCURRENCE, oldest)

    def _one(self, table: Table, schema: Schema[T], key: bytes) -> T | None:
        return self._environment.read(lambda txn: _decoded(txn, table, schema, key))

    def _named(
        self, table: Table, schema: Schema[T], find: Callable[[Txn], Iterable[bytes]]
    ) -> tuple[T, ...]:
        """Return the rows whose keys an index gives; both are read in one transaction."""

        def rows(txn: Txn) -> list[tuple[bytes, bytes | None]]:
            return [(key, txn.get(table, key)) for key in find(txn)]

        found = self._environment.read(rows)
        return tuple(codec.decode(schema, key, row) for key, row in found if row is not None)


def _decoded(txn: Txn, table: Table, schema: Schema[T], key: bytes) -> T | None:
    row = txn.get(table, key)
    return codec.decode(schema, key, row) if row is not None else None


def _put_receipt(txn: Txn, change: ScheduleChange) -> None:
    if change.receipt is None:
        return
    key = keys.receipt(change.receipt.scope, change.receipt.command_id)
    if not txn.add(Table.RECEIPTS, key, codec.encode(codec.RECEIPT, key, change.receipt)):
        raise ReceiptConflictError(f"command {change.receipt.command_id!r} was answered meanwhile")


def _add(txn: Txn, rows: TableRows) -> bool:
    (own,) = (key for table, key in rows if table is Table.OCCURRENCES)
    if txn.get(Table.OCCURRENCES, own) is not None:
        return False
    for (table, key), row in rows.items():
        txn.put(table, key, row)
    return True


def _swap(txn: Txn, old: TableRows, new: TableRows) -> None:
    for table, key in old.keys() - new.keys():
        txn.delete(table, key)
    for (table, key), row in new.items():
        txn.put(table, key, row)
