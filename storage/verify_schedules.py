"""What is wrong with the rows of schedules: each index must list exactly what the rows say."""

from collections.abc import Iterator
from typing import Final

from pointsman.graph.schedule import OccurrenceState, Schedule
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import JournalCorruptError
from pointsman.storage.schedules import ScheduleStore

_ROWS_MAX: Final = 1 << 31
_END_OF_TIME_MS: Final = (1 << 63) - 1
_READINGS_MAX: Final = 3


def schedule_problems(journal: Journal) -> Iterator[tuple[str | None, str]]:
    """Yield what is wrong, each with the schedule it concerns.

    A difference that is gone at the next reading was a change amid the first.
    """
    found: list[tuple[str | None, str]] = []
    for _ in range(_READINGS_MAX):
        try:
            found = list(_problems(journal.schedules))
        except JournalCorruptError as error:
            found = [(None, str(error))]
        if not found:
            return
    yield from found


def _problems(store: ScheduleStore) -> Iterator[tuple[str | None, str]]:
    schedules = store.schedules(_ROWS_MAX)
    due = store.due(_END_OF_TIME_MS, _ROWS_MAX)
    expected = sorted((each for each in schedules if each.next_ms is not None), key=_place)
    if [each.schedule_id for each in due] != [each.schedule_id for each in expected]:
        yield None, "the list of schedules that come due is not what the schedules say"
    pending = {each.occurrence_id: each for each in store.pending(_ROWS_MAX)}
    for each in pending.values():
        if each.state is not OccurrenceState.PENDING:
            yield each.schedule_id, f"the occurrence {each.occurrence_id} is listed as pending"
    for schedule in schedules:
        for occurrence in store.occurrences(schedule.schedule_id, _ROWS_MAX):
            if occurrence.schedule_id != schedule.schedule_id:
                text = f"the occurrence {occurrence.occurrence_id} is another schedule's"
                yield schedule.schedule_id, text
            is_pending = occurrence.state is OccurrenceState.PENDING
            if is_pending and occurrence.occurrence_id not in pending:
                text = f"the occurrence {occurrence.occurrence_id} is not listed as pending"
                yield schedule.schedule_id, text


def _place(schedule: Schedule) -> tuple[int, str]:
    assert schedule.next_ms is not None, schedule.schedule_id
    return schedule.next_ms, schedule.schedule_id
