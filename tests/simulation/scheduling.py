"""Runs that a schedule starts: the servers that fire it, and the person who keeps it.

The schedule, its occurrences and their dispatch are the real ones, and so is the start.
"""

import itertools
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

from pointsman.actors.workers import WorkerLostError
from pointsman.graph import ids
from pointsman.graph.schedule import MissedSlots, Overlap, Schedule
from pointsman.runtime.gateway.operations import Operations
from pointsman.runtime.gateway.scheduling import Scheduling
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.scheduling.schedule_views import PutSchedule
from pointsman.storage.journal import Journal
from tests.simulation.chance import Chance
from tests.simulation.checkers.slots import PERIODS
from tests.simulation.cluster import Cluster
from tests.simulation.loop import Process, pause
from tests.simulation.people import People

_HOUR_S: Final = 3600.0
# No other pause of a server is of this length: the loop tells its ticks by it.
_TICK_S: Final = 0.7
_NAME: Final = "nightly"
_PATIENCE_S: Final = 120.0


class Servers:
    """One server that fires schedules, or two beside one another; each is begun again."""

    def __init__(self, cluster: Cluster, count: int) -> None:
        self._cluster = cluster
        self._numbers = itertools.count(1)
        self._serving: list[tuple[Process, Scheduling]] = []
        # Kept: whoever is killed leaves no context, and a collected one would be left.
        self._firing: list[AbstractAsyncContextManager[None]] = []
        for _ in range(count):
            self._begin()

    def _begin(self) -> None:
        cluster = self._cluster
        process = cluster.process("server")
        process.tick_s = _TICK_S
        journal = cluster.journal(process)
        supervisor, host = cluster.supervisor_handle(), cluster.host_handle()
        operations = Operations(journal, supervisor, host, self._mint, home=Path("/nonexistent"))
        made = Scheduling(journal, operations.start, cluster.clock, fires=True)
        self._serving = [each for each in self._serving if each[0].alive]
        self._serving.append((process, made))
        process.on_death.append(lambda: cluster.later(5, self._begin))
        self._firing.append(made.scheduler.running(_TICK_S))
        process.spawn(self._firing[-1].__aenter__())

    def _mint(self) -> str:
        return ids.run_id(0, f"9{next(self._numbers):025d}")

    async def put(self, request: PutSchedule) -> int | None:
        """Put the schedule at some server; ``None`` if no answer came."""
        process, scheduling = self._serving[-1]

        async def work() -> int | None:
            return scheduling.schedules.put(_NAME, request).revision

        try:
            return await self._cluster.network.call(process, work, WorkerLostError, _PATIENCE_S)
        except (WorkerLostError, PointsmanError):
            return None


class Keeper:
    """Puts a schedule, and pauses it once it has made enough; ``done`` when it is paused."""

    def __init__(self, cluster: Cluster, people: People, journal: Journal, chance: Chance) -> None:
        self._cluster = cluster
        self._people = people
        self._journal = journal
        self._chance = chance
        self._missed = chance.pick(tuple(MissedSlots))
        # A day that the clock leaps over must not start a run for each of its hours.
        crons = list(PERIODS)[1:] if self._missed is MissedSlots.ALL else list(PERIODS)
        self._cron = chance.pick(crons)
        self._overlap = chance.pick((Overlap.ALLOW, Overlap.ALLOW, Overlap.SKIP))
        self._followed: set[str] = set()
        self._commands = 0
        self.done = False

    async def keep(self) -> None:
        """Have the schedule fire a few times."""
        await pause(self._chance.spread(1, 4 * _HOUR_S))
        servers = Servers(self._cluster, self._chance.count(1, 2))
        await self._insist(servers, enabled=True)
        enough = self._chance.count(1, 6)
        while not self._people.tired and self._count() < enough:
            await pause(_HOUR_S)
            self._follow()
        if self._people.tired:
            await self._demand_firing()
        await self._insist(servers, enabled=False)
        self._follow()
        self.done = True

    def _count(self) -> int:
        return len(self._journal.schedules.occurrences(_NAME))

    def _follow(self) -> None:
        """Have somebody look after what was started."""
        for run_id, run in self._cluster.chronicle.latest.items():
            if run.started_by == f"schedule:{_NAME}" and run_id not in self._followed:
                self._followed.add(run_id)
                self._cluster.loop.outside.spawn(self._people.follow(run_id))

    async def _demand_firing(self) -> None:
        """Find the schedule to be looked at now that nothing goes wrong any more."""
        await pause(_HOUR_S)
        schedule, now_ms = self._schedule(), self._cluster.clock.now_ms()
        if schedule is not None and schedule.next_ms is not None and schedule.next_ms < now_ms:
            told = f"{_NAME}: nobody looks; its slot of {now_ms - schedule.next_ms} ms ago is due"
            self._cluster.chronicle.violations.append(told)

    def _schedule(self) -> Schedule | None:
        return self._journal.schedules.schedule(_NAME)

    async def _insist(self, servers: Servers, *, enabled: bool) -> None:
        found = self._schedule()
        self._commands += 1
        request = PutSchedule(
            command_id=f"schedule-{self._commands}",
            workflow="change-any-repository",
            repository="/",
            inputs={"task": "greet"},
            cron=self._cron,
            missed=self._missed.value,
            overlap=self._overlap.value,
            enabled=enabled,
            requested_by="ann",
            expected_revision=found.revision if found is not None else None,
        )
        while (revision := await servers.put(request)) is None:
            await pause(self._chance.spread(1, 600))
        wanted = 1 if found is None else found.revision + 1
        if revision != wanted:
            told = f"{_NAME}: its change made revision {revision}, not {wanted}"
            self._cluster.chronicle.violations.append(told)
