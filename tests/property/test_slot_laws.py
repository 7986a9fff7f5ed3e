"""Goal: whatever the cron, the zone and the clock, no slot is started twice and the policy holds.

Method: the real scheduler on the journal's twin, with a start that only counts. The clock is set
anywhere near changes of the clocks, forwards and backwards; schedulers come and go.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Final
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from pointsman.graph import limits
from pointsman.graph.schedule import MissedSlots, OccurrenceState
from pointsman.runtime.scheduling.slots import LATE_MS, Slots, due
from pointsman.storage.memory_journal import MemoryJournal
from pointsman.storage.schedules import ScheduleChange
from tests.harness.schedules import Counting, a_schedule, a_scheduler

MINUTE_MS: Final = 60_000
ZONES: Final = (
    *("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"),
    *("America/Sao_Paulo", "Asia/Beirut", "Pacific/Apia", "Africa/Casablanca", "America/Havana"),
)


def field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high).map(str)
    return st.one_of(
        st.just("*"),
        number,
        st.integers(2, 20).map(lambda step: f"*/{step}"),
        st.tuples(number, number).map(",".join),
    )


CRONS: Final = st.tuples(
    field(0, 59), field(0, 4), st.just("*"), st.just("*"), st.sampled_from(["*", "0", "1-5"])
).map(" ".join)


@st.composite
def instants(draw: st.DrawFn, zone: str) -> int:
    """An instant within two days of some change of the zone's clocks, of 2008 to 2026."""
    at = datetime(2008, 1, 1, tzinfo=UTC) + timedelta(days=draw(st.integers(0, 18 * 365)))
    tz = ZoneInfo(zone)
    for _ in range(400):
        if at.astimezone(tz).utcoffset() != (at + timedelta(days=1)).astimezone(tz).utcoffset():
            break
        at += timedelta(days=1)
    at += timedelta(minutes=draw(st.integers(-24 * 60, 48 * 60)))
    return round(at.timestamp()) * 1000


def test_a_change_of_the_clocks_by_half_an_hour_hides_no_slot_of_the_next_day() -> None:
    slots, before = Slots("* 0 * * *", "Australia/Lord_Howe"), 1_207_359_000_000
    midnight = 1_207_488_600_000
    assert midnight in takewhile(lambda slot: slot <= midnight, slots.after(before))


@settings(max_examples=60)
@given(st.data(), CRONS, st.sampled_from(ZONES))
def test_which_slots_there_are_does_not_depend_on_where_one_begins_to_look(
    data: st.DataObject, cron: str, zone: str
) -> None:
    slots, begin = Slots(cron, zone), data.draw(instants(zone))
    end = begin + 36 * 60 * MINUTE_MS
    whole = list(takewhile(lambda slot: slot <= end, slots.after(begin)))
    later = begin + data.draw(st.integers(0, 36 * 60)) * MINUTE_MS
    assert list(takewhile(lambda slot: slot <= end, slots.after(later))) == [
        slot for slot in whole if slot > later
    ]
    assert whole == sorted(set(whole))
    assert all(slot % MINUTE_MS == 0 for slot in whole)


@settings(max_examples=60)
@given(st.data(), CRONS, st.sampled_from(ZONES), st.sampled_from(MissedSlots))
def test_a_policy_starts_what_it_says(
    data: st.DataObject, cron: str, zone: str, missed: MissedSlots
) -> None:
    slots, now = Slots(cron, zone), data.draw(instants(zone))
    considered = now - data.draw(st.integers(0, 40 * 60)) * MINUTE_MS
    every = tuple(takewhile(lambda slot: slot <= now, slots.after(considered)))
    chosen = due(slots, missed, considered, now).slots
    expected = {
        MissedSlots.SKIP: tuple(slot for slot in every if now - slot < LATE_MS),
        MissedSlots.LATEST: every[-1:],
        MissedSlots.ALL: every[-limits.CATCH_UP_SLOTS_MAX :],
    }
    assert chosen == expected[missed]


class SetClock:
    def __init__(self, at_ms: int) -> None:
        self.at_ms = at_ms

    def now_ms(self) -> int:
        return self.at_ms


@settings(max_examples=40)
@given(
    st.data(),
    CRONS,
    st.sampled_from(ZONES),
    st.sampled_from(MissedSlots),
    st.lists(st.tuples(st.integers(-90, 180), st.booleans()), max_size=12),
)
def test_no_slot_is_started_twice_whatever_the_clock_does(
    data: st.DataObject,
    cron: str,
    zone: str,
    missed: MissedSlots,
    jumps: list[tuple[int, bool]],
) -> None:
    clock = SetClock(data.draw(instants(zone)))
    journal, start = MemoryJournal(), Counting()
    journal.schedules.change(ScheduleChange("s", 0, a_schedule(clock.now_ms(), cron, zone, missed)))

    scheduler, newest = a_scheduler(journal, start, clock), clock.now_ms()
    for minutes, restarted in jumps:
        clock.at_ms += minutes * MINUTE_MS
        newest = max(newest, clock.at_ms)
        scheduler = a_scheduler(journal, start, clock) if restarted else scheduler
        asyncio.run(scheduler.tick())
        schedule = journal.schedules.schedule("s")
        assert schedule is not None
        # Whatever came before, the next slot is the next one from now on.
        assert schedule.next_ms == Slots(cron, zone).next_after(clock.at_ms)
    assert len(start.asked) == len({each.command_id for each in start.asked})
    occurrences = journal.schedules.occurrences("s", 10_000)
    assert len(occurrences) == len(start.runs)
    assert len({each.slot_ms for each in occurrences}) == len(occurrences)
    assert {each.state for each in occurrences} <= {OccurrenceState.DISPATCHED}
    assert all(each.slot_ms is not None and each.slot_ms <= newest for each in occurrences)
