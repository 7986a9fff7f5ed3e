"""Migration: bringing the journal of an older version to today's format, in one transaction.

Killed anywhere it has not happened, and is begun again; whatever raises leaves all as it was.
What a step changes of rows that nothing else can give is a pure function of each row; what follows
from the events is written anew by today's fold and projection, whatever it was before.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final, TypeAlias

from pointsman.graph.events import RecordedEvent
from pointsman.graph.evolve import fold
from pointsman.graph.project import project
from pointsman.storage import codec, keys
from pointsman.storage.journal_errors import JournalCorruptError
from pointsman.storage.keys import Table
from pointsman.storage.lmdb_environment import MAP_SIZE_BYTES, Environment, Txn
from pointsman.storage.rows import derived_rows

ChangeRow: TypeAlias = Callable[[bytes, bytes], tuple[bytes, bytes]]

_DERIVED_TABLES: Final = (
    *(Table.CHECKPOINTS, Table.RUNS, Table.OUTBOX),
    *(Table.BY_STATE, Table.ACTIVE, Table.DUE, Table.ATTENTION),
)
_SEQUENCE_BYTES: Final = len(keys.number(0))


@dataclass(frozen=True, slots=True)
class Step:
    """From one format to the next. ``rows`` are pure functions from a stored row to the next."""

    derives_anew: bool
    rows: Mapping[Table, ChangeRow] = field(default_factory=dict)


# format -> the step to the next one. Never deleted: the journals of every version stay readable.
STEPS: Final[Mapping[int, Step]] = {
    # Parallel reviews: the shapes of checkpoints, intents, deadlines and attention items changed.
    1: Step(derives_anew=True),
    # Checkpoints name the route that was taken last.
    2: Step(derives_anew=True),
}


def format_of(folder: Path) -> int | None:
    """Return the format of the journal in a folder; ``None`` when there is none yet.

    It is opened as writers do, which also finishes one whose making was cut short. Raises
    ``JournalFormatError`` for a newer one, or what is none of ours.
    """
    if not folder.exists():
        return None
    environment = Environment.open(folder, MAP_SIZE_BYTES, read_only=False, any_format=True)
    try:
        return environment.format
    finally:
        environment.close()


def migrate(folder: Path, *, derive_anew: bool = False) -> int:
    """Bring a journal to today's format; return how many runs were derived anew.

    Nobody else may have it open for writing. Raises ``JournalCorruptError`` when the events of a
    run do not fold, and ``JournalFullError``; nothing was changed then.
    """
    environment = Environment.open(folder, MAP_SIZE_BYTES, read_only=False, any_format=True)
    try:
        found = environment.format
        return environment.write(lambda txn: _migrated(txn, found, derive_anew))
    finally:
        environment.close()


def _migrated(txn: Txn, found: int, derive_anew: bool) -> int:
    steps = [STEPS[version] for version in range(found, codec.LAYOUT_VERSION)]
    for step in steps:
        for table, change in step.rows.items():
            _change(txn, table, change)
    derived = 0
    if derive_anew or any(step.derives_anew for step in steps):
        derived = _derive(txn)
    row = codec.FormatRow(format=codec.LAYOUT_VERSION)
    txn.put(Table.META, keys.FORMAT_KEY, codec.encode(codec.FORMAT, keys.FORMAT_KEY, row))
    return derived


def _change(txn: Txn, table: Table, change: ChangeRow) -> None:
    changed = [change(key, row) for key, row in txn.forward(table)]
    txn.clear(table)
    for key, row in changed:
        txn.put(table, key, row)


def _derive(txn: Txn) -> int:
    for table in _DERIVED_TABLES:
        txn.clear(table)
    count = 0
    for events in _runs(txn):
        run_id = events[0].run_id
        try:
            run = fold(events)
            assert run is not None, run_id
            rows = derived_rows(run, project(run))
        except AssertionError as error:
            raise JournalCorruptError(f"{run_id}: its events do not fold: {error}") from error
        for (table, key), row in rows.items():
            txn.put(table, key, row)
        count += 1
    return count


def _runs(txn: Txn) -> Iterator[list[RecordedEvent]]:
    """Yield the events of each run, in order; a run's keys differ in their sequence alone."""
    rows = txn.forward(Table.EVENTS)
    for _, of_run in groupby(rows, key=lambda row: row[0][:-_SEQUENCE_BYTES]):
        yield [codec.decode(codec.EVENT, key, row) for key, row in of_run]
