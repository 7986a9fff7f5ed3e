"""The scheduler: makes slots that came due into occurrences, each of them once.

All slots until now are decided in one transaction with the occurrences that come of them. What has
an occurrence already is made no second one, whatever the clock does and whoever else looks.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from pointsman.actors.clock import Clock
from pointsman.graph.run import RunState
from pointsman.graph.schedule import (
    Occurrence,
    OccurrenceState,
    Overlap,
    Reason,
    Schedule,
    Trigger,
    slot_occurrence_id,
)
from pointsman.runtime.scheduling.dispatch import Dispatcher
from pointsman.runtime.scheduling.slots import SlotError, Slots, due
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import JournalError, JournalFullError
from pointsman.storage.schedules import ScheduleChange, ScheduleConflictError

log = structlog.get_logger()

TICK_S: Final = 1.0
_DUE_AT_ONCE_MAX: Final = 1_000
_LOOKED_AT_FOR_OVERLAP_MAX: Final = 50
_ENDED: Final = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELED})


class Scheduler:
    """Fires schedules while it is ``running``; ``trouble`` is what keeps it from doing so."""

    def __init__(self, journal: Journal, dispatcher: Dispatcher, clock: Clock) -> None:
        self._journal = journal
        self._store = journal.schedules
        self._dispatcher = dispatcher
        self._clock = clock
        self._seen_ms: int | None = None
        self.firing = False
        self.trouble: str | None = None

    @asynccontextmanager
    async def running(self, tick_s: float = TICK_S) -> AsyncIterator[None]:
        """Fire schedules as long as the context lasts.

        Looking does not wait for starts: a slow one would make the slots of others late.
        """
        acts = (self._look, self._dispatcher.dispatch_pending)
        tasks = [asyncio.create_task(self._repeat(act, tick_s)) for act in acts]
        self.firing = True
        try:
            yield
        finally:
            self.firing = False
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _repeat(self, act: Callable[[], Awaitable[None]], tick_s: float) -> None:
        while True:
            try:
                await act()
            except Exception:
                # The next one decides anew from the journal; ending here would end all schedules.
                log.exception("scheduler_tick_failed")
            await asyncio.sleep(tick_s)

    async def tick(self) -> None:
        """Look once at what has come due, and start what is pending."""
        await self._look()
        await self._dispatcher.dispatch_pending()

    async def _look(self) -> None:
        try:
            self.trouble = await asyncio.to_thread(self._make_due)
        except JournalError as error:
            code = "journal_full" if isinstance(error, JournalFullError) else "journal_corrupt"
            self.trouble = f"{code}: {error}"
            log.error("scheduler_in_trouble", error=str(error))

    def _make_due(self) -> str | None:
        """Make occurrences of what came due; return what kept a schedule from it."""
        now = self._clock.now_ms()
        if self._seen_ms is None or now < self._seen_ms:
            self._turn_back(now)
        self._seen_ms = now
        trouble = None
        for schedule in self._store.due(now, _DUE_AT_ONCE_MAX):
            try:
                self._consider(schedule, now)
            except ScheduleConflictError:
                continue  # somebody else changed or considered it: the next tick reads it again
            except SlotError as error:
                # Valid when it was put: the machine's time zones have changed.
                trouble = f"schedule_invalid: {schedule.schedule_id}: {error}"
                log.error("schedule_unreadable", schedule=schedule.schedule_id, error=str(error))
            except JournalError:
                raise
            except Exception:
                # A defect met with one schedule must not keep the others.
                trouble = f"internal_error: {schedule.schedule_id}: see server.log"
                log.exception("schedule_in_trouble", schedule=schedule.schedule_id)
        return trouble

    def _turn_back(self, now: int) -> None:
        """Consider again what was considered at a time that is now to come.

        Without it a clock that was far ahead once would silence a schedule for as long. What has
        an occurrence is started no second time.
        """
        for schedule in self._store.schedules():
            if schedule.considered_ms <= now or schedule.next_ms is None:
                continue
            with suppress(ScheduleConflictError, SlotError):
                self._advance(schedule, now, (), 0)

    def _consider(self, schedule: Schedule, now: int) -> None:
        """Decide every slot until now, in one transaction with the occurrences that come of it."""
        slots = Slots(schedule.cron, schedule.zone)
        found = due(slots, schedule.missed, schedule.considered_ms, now)
        made: list[Occurrence] = []
        skips = schedule.overlap is Overlap.SKIP
        earlier = self._going_on(schedule.schedule_id) if skips else None
        for slot_ms in found.slots:
            occurrence_id = slot_occurrence_id(schedule.schedule_id, slot_ms)
            if self._store.occurrence(occurrence_id) is not None:
                continue
            each = self._of_slot(schedule, occurrence_id, slot_ms, earlier)
            made.append(each)
            if skips and each.state is OccurrenceState.PENDING:
                earlier = each
        self._advance(schedule, now, tuple(made), found.passed_over)
        for each in made:
            log.info("occurrence_made", occurrence=each.occurrence_id, state=each.state.value)

    def _advance(
        self, schedule: Schedule, now: int, made: tuple[Occurrence, ...], passed_over: int
    ) -> None:
        changed = schedule.model_copy(
            update={
                "version": schedule.version + 1,
                "considered_ms": now,
                "next_ms": Slots(schedule.cron, schedule.zone).next_after(now),
                "passed_over": schedule.passed_over + passed_over,
            }
        )
        self._store.change(ScheduleChange(schedule.schedule_id, schedule.version, changed, made))

    def _of_slot(
        self, schedule: Schedule, occurrence_id: str, slot_ms: int, earlier: Occurrence | None
    ) -> Occurrence:
        asked = Occurrence(
            occurrence_id=occurrence_id,
            schedule_id=schedule.schedule_id,
            trigger=Trigger.SLOT,
            slot_ms=slot_ms,
            wish=schedule.wish,
            asked_by=f"schedule:{schedule.schedule_id}",
            created_at_ms=self._clock.now_ms(),
            state=OccurrenceState.PENDING,
        )
        if earlier is None:
            return self._dispatcher.with_definition(asked)
        reason = Reason(code="overlap", message=f"{earlier.occurrence_id} still goes on")
        asked = asked.model_copy(update={"held_back_by": earlier.occurrence_id})
        return self._dispatcher.settled(asked, OccurrenceState.SKIPPED, reason)

    def _going_on(self, schedule_id: str) -> Occurrence | None:
        """Return an earlier occurrence that goes on.

        Skipped ones lead to what held them back, so it is found however many they are.
        """
        for each in self._store.occurrences(schedule_id, _LOOKED_AT_FOR_OVERLAP_MAX):
            held_back_by = each.held_back_by
            found = self._store.occurrence(held_back_by) if held_back_by is not None else each
            if found is not None and self._goes_on(found):
                return found
        return None

    def _goes_on(self, occurrence: Occurrence) -> bool:
        """Whether an occurrence may still start a run, or its run has not ended."""
        if occurrence.state is OccurrenceState.PENDING:
            return True
        run_id = occurrence.run_id
        run = self._journal.summary(run_id) if run_id is not None else None
        return run is not None and run.state not in _ENDED
