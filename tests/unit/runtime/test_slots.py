"""Goal: slots are what Debian's cron would start, told as instants, also when the clocks change."""

from datetime import datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from pointsman.graph import limits
from pointsman.graph.schedule import MissedSlots
from pointsman.runtime.scheduling.slots import SlotError, Slots, due, upcoming

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def ms(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def told(cron: str, zone: str, after: str, count: int) -> list[str]:
    """The next slots after a UTC instant, in UTC."""
    found = islice(Slots(cron, zone).after(ms(after)), count)
    utc = ZoneInfo("UTC")
    return [f"{datetime.fromtimestamp(each / 1000, utc):%m-%d %H:%M}" for each in found]


def test_a_slot_is_an_instant_of_its_zone() -> None:
    assert told("30 9 * * 1-5", "Asia/Kathmandu", "2026-12-04T00:00", 2) == [
        "12-04 03:45",
        "12-07 03:45",
    ]
    assert told("0 9 * * *", "Europe/Berlin", "2026-10-24T00:00", 2) == [
        "10-24 07:00",
        "10-25 08:00",
    ]


def test_a_time_that_the_clocks_jump_over_is_the_first_instant_after_the_gap() -> None:
    spring = "2026-03-28T12:00"
    assert told("30 2 * * *", "Europe/Berlin", spring, 2) == ["03-29 01:00", "03-30 00:30"]
    assert told("0,30 2,3 * * *", "Europe/Berlin", spring, 3) == [
        "03-29 01:00",
        "03-29 01:30",
        "03-30 00:00",
    ]


def test_a_time_that_comes_twice_is_started_the_first_time() -> None:
    autumn = "2026-10-24T12:00"
    assert told("30 2 * * *", "Europe/Berlin", autumn, 2) == ["10-25 00:30", "10-26 01:30"]
    # Looked at anew between the two: the second is none.
    assert told("30 2 * * *", "Europe/Berlin", "2026-10-25T00:45", 1) == ["10-26 01:30"]


def test_what_comes_every_hour_follows_the_elapsed_time() -> None:
    assert told("30 * * * *", "Europe/Berlin", "2026-10-25T00:00", 3) == [
        "10-25 00:30",
        "10-25 01:30",
        "10-25 02:30",
    ]
    assert told("30 * * * *", "Europe/Berlin", "2026-03-29T00:00", 3) == [
        "03-29 00:30",
        "03-29 01:30",
        "03-29 02:30",
    ]


@pytest.mark.parametrize(
    "cron", ["", "* * * *", "0 0 * * * *", "@daily", "60 * * * *", "a * * * *", "* " * 200]
)
def test_what_is_no_expression_of_five_fields_is_refused(cron: str) -> None:
    with pytest.raises(SlotError):
        Slots(cron, "UTC")


@pytest.mark.parametrize("zone", ["", "Berlin", "../../etc/passwd", "europe/berlin", "localtime"])
def test_a_zone_is_one_of_the_known_names(zone: str) -> None:
    with pytest.raises(SlotError, match="time zone"):
        Slots("0 0 * * *", zone)


def test_a_rare_day_is_found_and_one_that_never_comes_is_refused() -> None:
    assert Slots("0 0 29 2 *", "UTC").next_after(ms("2026-03-01")) == ms("2028-02-29")
    with pytest.raises(SlotError, match="day-of-month"):
        Slots("0 0 30 2 *", "UTC")


def test_policies_choose_among_missed_slots() -> None:
    hourly, considered, now = (
        Slots("0 * * * *", "UTC"),
        ms("2026-01-01T00:00"),
        ms("2026-01-01T05:30"),
    )
    hours = tuple(ms(f"2026-01-01T0{hour}:00") for hour in (1, 2, 3, 4, 5))
    assert due(hourly, MissedSlots.SKIP, considered, now) == ((), 5)
    assert due(hourly, MissedSlots.LATEST, considered, now) == (hours[-1:], 4)
    assert due(hourly, MissedSlots.ALL, considered, now) == (hours, 0)
    for policy in MissedSlots:
        assert due(hourly, policy, now, now) == ((), 0)
        assert due(hourly, policy, now, considered) == ((), 0)


def test_the_slot_of_this_minute_is_on_time_and_of_an_earlier_one_missed() -> None:
    minutely, now = Slots("* * * * *", "UTC"), ms("2026-01-01T05:30") + 59_999
    assert due(minutely, MissedSlots.SKIP, now - HOUR_MS, now).slots == (ms("2026-01-01T05:30"),)
    late = due(Slots("30 5 * * *", "UTC"), MissedSlots.SKIP, now - HOUR_MS, now + 1)
    assert late == ((), 1)


def test_a_machine_that_slept_for_years_catches_up_the_newest_and_quickly() -> None:
    now = ms("2036-01-01T00:00")
    minutely = due(Slots("* * * * *", "UTC"), MissedSlots.ALL, now - 3650 * DAY_MS, now)
    assert len(minutely.slots) == limits.CATCH_UP_SLOTS_MAX
    assert minutely.slots[-1] == now
    assert minutely.passed_over >= 1
    yearly = due(Slots("0 0 1 1 *", "UTC"), MissedSlots.ALL, now - 3650 * DAY_MS, now)
    assert len(yearly.slots) == 10


def test_upcoming_slots_begin_with_the_next() -> None:
    assert upcoming(Slots("0 0 * * *", "UTC"), ms("2026-01-01"), 2) == (
        ms("2026-01-02"),
        ms("2026-01-03"),
    )
