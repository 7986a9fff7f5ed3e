"""Counting what an LMDB journal holds, from its indexes: no run's own rows are read."""

from contextlib import suppress
from itertools import takewhile
from typing import Final

import orjson

from pointsman.graph.projection import AttentionItem, AttentionKind
from pointsman.graph.run import RunState
from pointsman.storage import codec, keys
from pointsman.storage.codec import Schema
from pointsman.storage.journal_errors import JournalCorruptError
from pointsman.storage.keys import Table
from pointsman.storage.lmdb_environment import Environment, Txn
from pointsman.storage.tally import Tally, Waiting

# Where most runs end up: what is left of all runs when the others are counted.
_MOST: Final[RunState] = RunState.COMPLETED
_ITEMS: Final = ((Table.ATTENTION, codec.ATTENTION), (Table.TROUBLES, codec.TROUBLE))


def tally(environment: Environment, now_ms: int, late_ms: int) -> Tally:
    """Count everything in one read transaction; ``late_ms`` after its instant a deadline is late.

    A damaged row is not counted among what waits.
    """
    size = environment.size()
    found, rows = environment.read(lambda txn: (_counted(txn, now_ms, late_ms), _rows(txn)))
    waiting = tuple(each for row in rows for each in _waiting(*row))
    return found._replace(waiting=waiting, size=size)


def _counted(txn: Txn, now_ms: int, late_ms: int) -> Tally:
    runs: dict[RunState, int] = {
        state: _in_state(txn, state) for state in RunState if state is not _MOST
    }
    runs[_MOST] = txn.count(Table.BY_STATE) - sum(runs.values())
    due = _until(txn, now_ms)
    last = next(txn.backward(Table.LOG), None)
    return Tally(
        runs=runs,
        waiting=(),
        outbox=txn.count(Table.OUTBOX),
        deadlines=txn.count(Table.DUE) - due,
        due=due,
        late=_until(txn, now_ms - late_ms - 1),
        position=keys.number_of(last[0]) if last is not None else 0,
        size=None,
    )


def _in_state(txn: Txn, state: RunState) -> int:
    prefix = keys.state_prefix(state)
    rows = txn.forward(Table.BY_STATE, prefix)
    return sum(1 for _ in takewhile(lambda row: row[0].startswith(prefix), rows))


def _until(txn: Txn, now_ms: int) -> int:
    after_now = keys.number(max(now_ms + 1, 0))
    return sum(1 for _ in takewhile(lambda row: row[0] < after_now, txn.forward(Table.DUE)))


def _rows(txn: Txn) -> list[tuple[Schema[AttentionItem], bytes, bytes]]:
    return [(schema, *row) for table, schema in _ITEMS for row in txn.forward(table)]


def _waiting(schema: Schema[AttentionItem], key: bytes, row: bytes) -> tuple[Waiting, ...]:
    with suppress(JournalCorruptError):
        item = orjson.loads(codec.stored_json(schema, key, row))
        return (Waiting(AttentionKind(item["kind"]), item["since_ms"]),)
    return ()
