"""Which instants a cron expression names in a time zone, and which of them are to be started.

cronsim reads the expression as Debian's cron does. With the clocks going forward, a slot at a
fixed time that does not exist is the first instant after the gap; with the clocks going back, it
is the first of the two. A slot of every minute or of every hour (``*`` or ``*/n`` in that field)
follows the elapsed time instead. All here is pure but for the zones' own tables.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import islice, takewhile
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from pointsman.graph import limits
from pointsman.graph.problem import nearest
from pointsman.graph.schedule import MissedSlots

# A slot this old was missed: no server fired schedules when it came.
LATE_MS: Final = 60_000
_FIELDS: Final = 5
# Slots are looked for from here on backwards, ever further, until there are enough of them.
_WINDOWS_MS: Final = tuple(60_000 * minutes for minutes in (60, 24 * 60, 40 * 24 * 60))
# Begun within a fold of the clocks, a search would take the wrong one of two times.
_LEAD_MS: Final = 3 * 60 * 60_000
_DAY_MS: Final = 24 * 60 * 60_000


class SlotError(ValueError):
    """The expression or the zone cannot be read; the message says how to mend it."""


class Due(NamedTuple):
    """Slots to start, the oldest first, and how many the policy let go (at least that many)."""

    slots: tuple[int, ...]
    passed_over: int


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by its IANA name."""
    if name in _zones():
        return ZoneInfo(name)
    close = nearest(name, _zones())
    hint = f"did you mean {close!r}?" if close else "use a name such as 'Europe/Berlin' or 'UTC'"
    raise SlotError(f"there is no time zone {name[:80]!r}; {hint}")


@cache
def _zones() -> frozenset[str]:
    """Return the zones by name; finding them reads hundreds of files."""
    # "localtime" is another zone on another machine.
    return frozenset(available_timezones() - {"localtime"})


class Slots:
    """The slots of one expression in one zone. Instants are whole minutes, in milliseconds."""

    def __init__(self, cron: str, zone: str) -> None:
        self._cron = cron
        self._zone = zone_of(zone)
        if len(cron.split()) != _FIELDS or len(cron) > limits.CRON_CHARS_MAX:
            raise SlotError(
                f"{cron[:80]!r} has not five fields: minute hour day-of-month month day-of-week,"
                " as in '0 2 * * 1-5'"
            )
        try:
            CronSim(cron, datetime.fromtimestamp(0, UTC))
        except CronSimError as error:
            raise SlotError(f"{cron[:80]!r} is no cron expression: {error}") from error

    def after(self, at_ms: int) -> Iterator[int]:
        """Yield the slots after an instant, in order and without an end.

        Which they are does not depend on where the search begins.
        """
        last, day = at_ms, at_ms // _DAY_MS
        while True:
            # A search that runs on across a change of the clocks may miss a slot after it: each
            # day is searched anew, and so always from the same place.
            for slot in self._search(day * _DAY_MS):
                if slot >= (day + 1) * _DAY_MS:
                    break
                if slot > last and slot >= day * _DAY_MS:
                    yield slot
                    last = slot
            else:
                return
            day = slot // _DAY_MS

    def _search(self, at_ms: int) -> Iterator[int]:
        """Yield slots from some time before an instant on, as cronsim finds them."""
        begin = datetime.fromtimestamp(max(0, at_ms - _LEAD_MS) / 1000, UTC)
        for found in CronSim(self._cron, begin.astimezone(self._zone)):
            yield round(found.astimezone(UTC).timestamp()) * 1000

    def next_after(self, at_ms: int) -> int | None:
        """Return the next slot after an instant; ``None`` if no day will ever fit."""
        return next(self.after(at_ms), None)

    def newest_until(self, now_ms: int, after_ms: int, count: int) -> tuple[int, ...]:
        """Return the newest slots after one instant and until another, at most ``count``.

        Looked for backwards in windows: a machine that slept for a year has missed half a
        million minutes, and nobody needs them all.
        """
        for window_ms in _WINDOWS_MS:
            begin = max(after_ms, now_ms - window_ms)
            found = self._until(now_ms, begin)
            if begin == after_ms or len(found) >= count:
                return found[-count:]
        return self._until(now_ms, after_ms)[-count:]

    def _until(self, now_ms: int, after_ms: int) -> tuple[int, ...]:
        return tuple(takewhile(lambda slot: slot <= now_ms, self.after(after_ms)))


def due(slots: Slots, missed: MissedSlots, considered_ms: int, now_ms: int) -> Due:
    """Return what to start of the slots after ``considered_ms`` and until now.

    A slot of the last minute is on time. Of older ones ``skip`` starts none, ``all`` the newest
    ``limits.CATCH_UP_SLOTS_MAX``, and ``latest`` one at most, for all that came meanwhile.
    """
    newest = slots.newest_until(now_ms, considered_ms, limits.CATCH_UP_SLOTS_MAX + 1)
    match missed:
        case MissedSlots.SKIP:
            chosen = tuple(slot for slot in newest if now_ms - slot < LATE_MS)
        case MissedSlots.LATEST:
            chosen = newest[-1:]
        case MissedSlots.ALL:
            chosen = newest[-limits.CATCH_UP_SLOTS_MAX :]
    return Due(chosen, len(newest) - len(chosen))


def upcoming(slots: Slots, after_ms: int, count: int) -> tuple[int, ...]:
    """Return the next slots after an instant."""
    return tuple(islice(slots.after(after_ms), count))
