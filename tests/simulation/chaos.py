"""What goes wrong in a simulated world at times of its own, beside what goes wrong in a call."""

import asyncio
from collections.abc import Callable
from typing import Final

from pointsman.graph import ids
from pointsman.graph.run import RunState
from tests.simulation.chance import Chance
from tests.simulation.cluster import Cluster
from tests.simulation.host_state import place_of
from tests.simulation.loop import Process, pause

_AT_GATE: Final = RunState.AWAITING_REVIEW
_DAY_MS: Final = 24 * 3600 * 1000


class Chaos:
    """Kills, stalls, full disks, jumps of the clock, and a second supervisor, until it ends."""

    def __init__(self, cluster: Cluster, chance: Chance) -> None:
        self._cluster = cluster
        self._chance = chance
        self._steps_left = 0
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        cluster, faults = self._cluster, self._cluster.faults
        if faults.kill_every_steps:
            self._steps_left = self._next_kill()
            cluster.loop.before_step = self._before_step
        for every_s, act in (
            (faults.kill_all_every_s, self._kill_all),
            (faults.stall_every_s, self._stall),
            (faults.disk_full_every_s, self._fill_disk),
            (faults.clock_jump_every_s, self._jump),
            (faults.second_supervisor_every_s, self._second_supervisor),
            (faults.head_moved_every_s, self._move_head),
        ):
            if every_s:
                self._tasks.append(cluster.loop.outside.spawn(self._now_and_then(every_s, act)))

    def end(self) -> None:
        """Let nothing go wrong any more, and mend what time does not mend by itself."""
        cluster = self._cluster
        cluster.faults.end()
        cluster.loop.before_step = lambda process: None
        for task in self._tasks:
            task.cancel()
        cluster.disk.full_until_s = 0.0
        cluster.clock.off_ms = max(0, cluster.clock.off_ms)
        for process, _ in cluster.supervisors[:-1]:
            cluster.kill(process)

    async def _now_and_then(self, every_s: float, act: Callable[[], None]) -> None:
        while True:
            await pause(self._chance.spread(every_s / 5, every_s * 2))
            act()

    def _next_kill(self) -> int:
        every = self._cluster.faults.kill_every_steps
        return int(self._chance.spread(every / 10, every * 2)) + 1

    def _before_step(self, process: Process) -> None:
        """Kill whoever's turn it is, before the step: at any await there is."""
        self._steps_left -= 1
        if self._steps_left <= 0 and process is not self._cluster.loop.outside:
            self._steps_left = self._next_kill()
            self._cluster.kill(process)

    def _kill_all(self) -> None:
        for process in list(self._cluster.processes):
            self._cluster.kill(process)

    def _stall(self) -> None:
        alive = [each for each in self._cluster.processes if each.alive]
        if alive:
            stalled = self._chance.pick(alive)
            stalled.stalled_until = self._cluster.loop.time() + self._chance.spread(1, 300)
            self._cluster.chronicle.count("stalls")

    def _fill_disk(self) -> None:
        cluster = self._cluster
        cluster.disk.full_until_s = cluster.loop.time() + self._chance.spread(1, 3600)

    def _jump(self) -> None:
        clock = self._cluster.clock
        clock.off_ms = int(self._chance.uniform(-_DAY_MS, _DAY_MS))
        self._cluster.chronicle.count("jumps of the clock")

    def _move_head(self) -> None:
        """Commit by hand to what some run reviews, best while somebody is to approve it."""
        machine, runs = self._cluster.machine, self._cluster.chronicle.latest.values()
        own = [(run, ids.workspace_key(run.run_id)) for run in runs]
        reviewed = [
            (run, place_of(review.change)) for run in runs for review in run.reviews.values()
        ]
        there = [place for _, place in (*own, *reviewed) if place in machine.heads]
        at_gate = [place for run, place in reviewed if run.state is _AT_GATE]
        if there:
            machine.commit(self._chance.pick(at_gate or there))
            self._cluster.chronicle.count("moves of a head")

    def _second_supervisor(self) -> None:
        """Begin another supervisor while the first still believes to be the one."""
        cluster = self._cluster
        if len(cluster.supervisors) == 1:
            first, _ = cluster.supervisors[0]
            cluster.chronicle.count("second supervisors")
            cluster.begin_supervisor()
            cluster.kill_later(first, 900)
