"""Schedules over HTTP, and the scheduler that belongs to a server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import APIRouter, Query

from pointsman.actors.clock import Clock
from pointsman.runtime.scheduling.dispatch import Dispatcher, Start
from pointsman.runtime.scheduling.schedule_views import (
    HostOccurrence,
    OccurrenceReply,
    OccurrencesPage,
    OccurrenceView,
    PutSchedule,
    RemoveSchedule,
    RunSchedule,
    ScheduleReply,
    SchedulesPage,
    ScheduleView,
)
from pointsman.runtime.scheduling.scheduler import Scheduler
from pointsman.runtime.scheduling.schedules import Schedules
from pointsman.storage.journal import Journal

Limit = Annotated[int, Query(ge=1, le=1_000)]


class Scheduling:
    """The schedules of a server. ``fires`` says whether it starts what comes due.

    Manual starts of schedules and occurrences of hosts are taken either way.
    """

    def __init__(self, journal: Journal, start: Start, clock: Clock, *, fires: bool) -> None:
        self.schedules = Schedules(journal, clock)
        self.dispatcher = Dispatcher(journal, start, clock)
        self.scheduler = Scheduler(journal, self.dispatcher, clock)
        self._fires = fires

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Fire schedules, if this server does, until the context ends."""
        if not self._fires:
            yield
            return
        async with self.scheduler.running():
            yield

    def page(self) -> SchedulesPage:
        """Return all schedules, and whether they fire."""
        return SchedulesPage(
            schedules=self.schedules.all(),
            firing=self.scheduler.firing,
            trouble=self.scheduler.trouble,
        )


def routes(scheduling: Scheduling) -> APIRouter:
    """Schedules and occurrences; every mutation may be repeated under its id."""
    router = APIRouter(prefix="/api")
    schedules = scheduling.schedules

    # Not async: these read and write files and the journal, in a thread of their own.
    @router.get("/schedules")
    def list_schedules() -> SchedulesPage:
        return scheduling.page()

    @router.get("/schedules/{name}")
    def get_schedule(name: str) -> ScheduleView:
        return schedules.get(name)

    @router.put("/schedules/{name}")
    def put_schedule(name: str, body: PutSchedule) -> ScheduleReply:
        return schedules.put(name, body)

    @router.delete("/schedules/{name}")
    def remove_schedule(name: str, body: RemoveSchedule) -> ScheduleReply:
        return schedules.remove(name, body)

    @router.get("/schedules/{name}/occurrences")
    def list_occurrences(name: str, limit: Limit = 100) -> OccurrencesPage:
        return OccurrencesPage(occurrences=schedules.occurrences(name, limit))

    @router.post("/schedules/{name}/run")
    async def run_schedule(name: str, body: RunSchedule) -> OccurrenceReply:
        return await scheduling.dispatcher.run_now(name, body)

    @router.post("/occurrences")
    async def take_occurrence(body: HostOccurrence) -> OccurrenceReply:
        return await scheduling.dispatcher.take(body)

    @router.get("/occurrences/{occurrence_id}")
    def get_occurrence(occurrence_id: str) -> OccurrenceView:
        return schedules.occurrence(occurrence_id)

    return router
