"""The journal of a simulated process: the twin in memory on a disk that fails as disks do.

What was committed survives every crash; a transition that a crash cuts short leaves nothing, as
LMDB drops pages that no synced meta page names.
"""

from collections.abc import Callable

from pointsman.actors.crash_points import CrashPoint, CrashPoints
from pointsman.storage.journal import JournalFullError, Transition
from pointsman.storage.memory_journal import MemoryDisk, MemoryJournal
from tests.simulation.chance import Chance
from tests.simulation.chronicle import Chronicle
from tests.simulation.faults import Faults
from tests.simulation.loop import Process, ProcessDiedError, SimulatedLoop

_SLOW_COMMIT_MAX_S = 90.0


class SimulatedDisk(MemoryDisk):
    """The disk of the machine, which may be full for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.full_until_s = 0.0


class SimulatedJournal(MemoryJournal):
    """One process's handle on the journal."""

    def __init__(
        self,
        disk: SimulatedDisk,
        process: Process,
        loop: SimulatedLoop,
        chance: Chance,
        faults: Faults,
        chronicle: Chronicle,
    ) -> None:
        super().__init__(disk, before_commit=self._before, after_commit=self._after)
        self._simulated = disk
        self._process = process
        self._loop = loop
        self._chance = chance
        self._faults = faults
        self._chronicle = chronicle

    def lease(self, run_id: str) -> int:
        self._process.demand_alive()
        self._demand_space()
        token = super().lease(run_id)
        if token <= self._chronicle.leases.get(run_id, 0):
            self._chronicle.violations.append(f"{run_id}: token {token} was given twice")
        self._chronicle.leases[run_id] = token
        self._chronicle.count("leases")
        return token

    def _before(self, transition: Transition) -> None:
        self._process.demand_alive()
        self._demand_space()
        if self._chance.happens(self._faults.crash_at_commit / 4):
            self._chronicle.count("crashes in a commit")
            self._process.kill()
            raise ProcessDiedError(f"{transition.run_id}: cut short")

    def _after(self, transition: Transition) -> None:
        self._chronicle.committed(transition)
        if self._chance.happens(self._faults.slow_commit):
            slow_s = self._chance.spread(0.01, _SLOW_COMMIT_MAX_S)
            self._process.stalled_until = self._loop.time() + slow_s

    def _demand_space(self) -> None:
        if self._loop.time() < self._simulated.full_until_s:
            self._chronicle.count("refusals of a full disk")
            raise JournalFullError("the simulated disk is full")


class SimulatedCrashes(CrashPoints):
    """Crash points that kill the simulated process, now and then."""

    def __init__(
        self, process: Process, chance: Chance, faults: Faults, told: Callable[[str], None]
    ) -> None:
        super().__init__()
        self._process = process
        self._chance = chance
        self._faults = faults
        self._told = told

    def here(self, place: CrashPoint) -> None:
        self._process.demand_alive()
        acting = place in (CrashPoint.BEFORE_ACT, CrashPoint.AFTER_ACT)
        faults = self._faults
        if self._chance.happens(faults.crash_at_act if acting else faults.crash_at_commit):
            self._told(f"crashes {place.value}")
            self._process.kill()
            raise ProcessDiedError(place.value)
