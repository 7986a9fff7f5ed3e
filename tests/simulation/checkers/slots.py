"""Schedules: each slot that came due is one occurrence, and each occurrence one run.

Which slots there are is worked out from the schedule's period, not by the code under test.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from pointsman.actors.messages import START_SCOPE
from pointsman.graph.limits import CATCH_UP_SLOTS_MAX
from pointsman.graph.schedule import (
    MissedSlots,
    Occurrence,
    OccurrenceState,
    Overlap,
    Schedule,
)
from pointsman.storage.journal import Journal
from pointsman.storage.schedules import ScheduleChange
from tests.simulation.chronicle import Checker, Chronicle

_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 60 * _MINUTE_MS
# Cron expressions in UTC, with the period and the first slot of a day.
PERIODS: Final = {
    "15 * * * *": (_HOUR_MS, 15 * _MINUTE_MS),
    "0 */6 * * *": (6 * _HOUR_MS, 0),
    "30 2 * * *": (24 * _HOUR_MS, 2 * _HOUR_MS + 30 * _MINUTE_MS),
}


class Occurrences(Checker):
    """What came due is made into occurrences by the schedule's policy, once and none left out;
    each of them starts one run, and each scheduled run is of one of them.
    """

    def __init__(self, chronicle: Chronicle) -> None:
        self._chronicle = chronicle
        self._known: dict[str, Occurrence] = {}
        self._runs: dict[str, str] = {}

    def scheduled(self, before: Schedule | None, change: ScheduleChange) -> Iterator[str]:
        after, made = change.schedule, [each.occurrence_id for each in change.occurrences]
        if after is None or before is None or after.revision != before.revision:
            if made:
                yield f"{made}: were made by a person's change"
            return
        wanted, passed_over = _due(before, after.considered_ms)
        new = [each for each in wanted if each not in self._known]
        if made != new:
            yield f"{change.schedule_id}: made {made}, and {new} had come due"
        counted = after.passed_over - before.passed_over
        if counted != passed_over:
            yield f"{change.schedule_id}: passed over {counted}, and it were {passed_over}"
        for each in change.occurrences:
            if before.overlap is Overlap.SKIP:
                yield from self._overlap(each)
            self._known[each.occurrence_id] = each

    def _overlap(self, made: Occurrence) -> Iterator[str]:
        going_on = [each.occurrence_id for each in self._known.values() if self._goes_on(each)]
        skipped = made.state is OccurrenceState.SKIPPED
        if skipped and made.held_back_by not in going_on:
            yield f"{made.occurrence_id}: was held back by {made.held_back_by}, which is over"
        if not skipped and going_on:
            yield f"{made.occurrence_id}: was made though {going_on} went on"

    def _goes_on(self, occurrence: Occurrence) -> bool:
        if occurrence.state is OccurrenceState.PENDING:
            return True
        run = self._chronicle.latest.get(occurrence.run_id or "")
        return run is not None and not run.ended

    def dispatched(self, occurrence: Occurrence) -> Iterator[str]:
        name, run_id = occurrence.occurrence_id, occurrence.run_id
        before = self._known[name]
        if before.state is not OccurrenceState.PENDING:
            yield f"{name}: was settled twice"
        self._known[name] = occurrence
        if occurrence.state is OccurrenceState.DISPATCHED:
            run = self._chronicle.latest.get(run_id or "")
            if run is None or run.started_by != occurrence.asked_by:
                yield f"{name}: its run {run_id} is none of it"
            if self._runs.setdefault(run_id or "", name) != name:
                yield f"{name}: {run_id} is the run of {self._runs[run_id or '']}"

    def at_end(self, journal: Journal) -> Iterator[str]:
        for each in self._known.values():
            name = each.occurrence_id
            if journal.schedules.occurrence(name) != each:
                yield f"{name}: is not what was written last"
            if each.state is OccurrenceState.PENDING:
                yield f"{name}: was never dispatched"
            refused = each.state is OccurrenceState.REFUSED
            if refused and journal.receipt(START_SCOPE, name) is not None:
                yield f"{name}: was given up, and its run was started"
        for run in self._chronicle.latest.values():
            if run.started_by.startswith("schedule:") and run.run_id not in self._runs:
                yield f"{run.run_id}: was started for no occurrence"


def _due(schedule: Schedule, now_ms: int) -> tuple[list[str], int]:
    """Return the occurrences to be there by now, and how many slots the policy lets go."""
    if schedule.next_ms is None:
        return [], 0
    period_ms, first_ms = PERIODS[schedule.cron]
    next_ms = schedule.considered_ms + 1
    begin_ms = next_ms + (first_ms - next_ms) % period_ms
    slots = list(range(begin_ms, now_ms + 1, period_ms))[-CATCH_UP_SLOTS_MAX - 1 :]
    match schedule.missed:
        case MissedSlots.SKIP:
            chosen = [slot for slot in slots if now_ms - slot < _MINUTE_MS]
        case MissedSlots.LATEST:
            chosen = slots[-1:]
        case MissedSlots.ALL:
            chosen = slots[-CATCH_UP_SLOTS_MAX:]
    names = [f"{schedule.schedule_id}@{_in_words(slot)}" for slot in chosen]
    return names, len(slots) - len(chosen)


def _in_words(slot_ms: int) -> str:
    day = datetime.fromtimestamp(slot_ms / 1000, UTC)
    return day.strftime("%Y-%m-%dT%H:%MZ")
