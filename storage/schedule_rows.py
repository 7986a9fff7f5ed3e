"""Which rows a schedule and an occurrence have, encoded. Pure."""

from pointsman.graph.schedule import Occurrence, OccurrenceState, Schedule
from pointsman.storage import codec, keys
from pointsman.storage.keys import Table
from pointsman.storage.rows import TableRows


def schedule_rows(schedule: Schedule) -> TableRows:
    """Return a schedule's row, and its place among those that come due."""
    key = keys.part(schedule.schedule_id)
    rows = {(Table.SCHEDULES, key): codec.encode(codec.SCHEDULE, key, schedule)}
    if schedule.next_ms is not None:
        rows[Table.SCHEDULES_DUE, keys.number(schedule.next_ms) + key] = b""
    return rows


def occurrence_rows(occurrence: Occurrence) -> TableRows:
    """Return an occurrence's row, and its places in its schedule's list and among the pending."""
    key = keys.part(occurrence.occurrence_id)
    rows = {(Table.OCCURRENCES, key): codec.encode(codec.OCCURRENCE, key, occurrence)}
    in_time = keys.number(occurrence.created_at_ms) + key
    if occurrence.schedule_id is not None:
        rows[Table.OCCURRENCES_OF, keys.run_prefix(occurrence.schedule_id) + in_time] = b""
    if occurrence.state is OccurrenceState.PENDING:
        rows[Table.OCCURRENCES_PENDING, in_time] = b""
    return rows
