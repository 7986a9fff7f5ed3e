"""Which rows one transition writes, encoded ahead of the write transaction. Pure.

Encoding happens before the journal's write lock is taken: processes of the whole node queue
behind that lock, and a value that does not encode must fail before anything is touched.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pointsman.graph.projection import Projection
from pointsman.graph.run import Run
from pointsman.storage import codec, keys
from pointsman.storage.journal import Transition
from pointsman.storage.keys import Table

TableRows: TypeAlias = Mapping[tuple[Table, bytes], bytes]


@dataclass(frozen=True, slots=True)
class TransitionRows:
    """The encoded rows of one transition, by how they are written.

    ``added`` must not exist yet; ``replaced`` overwrite what is there; ``outbox`` and ``index``
    replace the run's earlier rows as sets.
    """

    added: TableRows
    replaced: TableRows
    outbox: TableRows
    index: TableRows


def transition_rows(transition: Transition) -> TransitionRows:
    """Encode everything a transition writes but its place in the log."""
    row = run_row(transition.projection)
    return TransitionRows(
        added=_added(transition),
        replaced=_own_rows(transition.run, row),
        outbox=_outbox_rows(transition.projection),
        index=index_rows(row),
    )


def derived_rows(run: Run, projection: Projection) -> TableRows:
    """Return every row that follows from a run's events."""
    row = run_row(projection)
    return {**_own_rows(run, row), **_outbox_rows(projection), **index_rows(row)}


def _own_rows(run: Run, row: codec.RunRow) -> TableRows:
    run_key = keys.part(run.run_id)
    return {
        (Table.CHECKPOINTS, run_key): codec.encode(codec.CHECKPOINT, run_key, run),
        (Table.RUNS, run_key): codec.encode(codec.RUN_ROW, run_key, row),
    }


def _outbox_rows(projection: Projection) -> TableRows:
    return {
        (Table.OUTBOX, key): codec.encode(codec.INTENT, key, each)
        for each in projection.outbox
        for key in (keys.intent(each.run_id, each.intent_id),)
    }


def run_row(projection: Projection) -> codec.RunRow:
    """Return the run's row in the table of runs."""
    return codec.RunRow(
        summary=projection.summary,
        active=bool(projection.outbox or projection.summary.open_work),
        deadlines=projection.deadlines,
        attention=projection.attention,
    )


def index_rows(row: codec.RunRow) -> TableRows:
    """Return the rows of a run in the indexes over all runs."""
    summary = row.summary
    run_key = keys.part(summary.run_id)
    rows = {(Table.BY_STATE, keys.state_prefix(summary.state) + run_key): b""}
    if row.active:
        rows[Table.ACTIVE, run_key] = b""
    for deadline in row.deadlines:
        key = keys.timed(deadline.due_at_ms, deadline.run_id, deadline.deadline_id)
        rows[Table.DUE, key] = codec.encode(codec.DEADLINE, key, deadline)
    for item in row.attention:
        key = keys.timed(item.since_ms, item.run_id, item.item_id)
        rows[Table.ATTENTION, key] = codec.encode(codec.ATTENTION, key, item)
    return rows


def _added(transition: Transition) -> TableRows:
    rows = {
        (Table.EVENTS, key): codec.encode(codec.EVENT, key, each)
        for each in transition.events
        for key in (keys.event(each.run_id, each.sequence),)
    }
    if transition.receipt is not None:
        key = keys.receipt(transition.receipt.scope, transition.receipt.command_id)
        rows[Table.RECEIPTS, key] = codec.encode(codec.RECEIPT, key, transition.receipt)
    for binding in transition.tokens:
        key = keys.part(binding.token_digest)
        row = codec.TokenRow(attempt_id=binding.attempt_id)
        rows[Table.TOKENS, key] = codec.encode(codec.TOKEN, key, row)
    return rows
