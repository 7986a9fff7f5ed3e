"""The journal of a simulated process: the twin in memory on a disk that fails as disks do.

What was committed survives every crash; a transition that a crash cuts short leaves nothing, as
LMDB drops pages that no synced meta page names.
"""

from collections.abc import Callable

from pointsman.actors.crash_points import CrashPoint, CrashPoints
from pointsman.graph.schedule import Occurrence
from pointsman.storage.journal import Transition
from pointsman.storage.journal_errors import JournalFullError
from pointsman.storage.memory_journal import MemoryDisk, MemoryJournal
from pointsman.storage.memory_schedules import MemorySchedules, MemoryTables
from pointsman.storage.schedules import ScheduleChange
from tests.simulation.chance import Chance
from tests.simulation.chronicle import Chronicle
from tests.simulation.faults import Faults
from tests.simulation.loop import Process, ProcessDiedError, SimulatedLoop

_SLOW_COMMIT_MAX_S = 90.0


class SimulatedDisk(MemoryDisk):
    """The disk of the machine, which may be full, or busy with one commit, for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.full_until_s = 0.0
        self.busy_until_s = 0.0


class Writes:
    """What may become of what one process writes."""

    def __init__(
        self,
        disk: SimulatedDisk,
        process: Process,
        loop: SimulatedLoop,
        chance: Chance,
        faults: Faults,
        chronicle: Chronicle,
    ) -> None:
        self.disk = disk
        self.chronicle = chronicle
        self._process = process
        self._loop = loop
        self._chance = chance
        self._faults = faults

    def before(self, subject: str) -> None:
        """Refuse a write, or cut it short."""
        self.demand_space()
        if self._chance.happens(self._faults.crash_at_commit / 4):
            self.chronicle.count("crashes in a commit")
            self._process.kill()
            raise ProcessDiedError(f"{subject}: cut short")

    def after(self) -> None:
        """Let a write take long, and whoever writes meanwhile wait for it as well."""
        disk, now_s = self.disk, self._loop.time()
        if self._chance.happens(self._faults.slow_commit):
            slow_s = self._chance.spread(0.01, _SLOW_COMMIT_MAX_S)
            disk.busy_until_s = max(disk.busy_until_s, now_s) + slow_s
            self.chronicle.count("slow commits")
        if disk.busy_until_s > now_s:
            self._process.stalled_until = max(self._process.stalled_until, disk.busy_until_s)

    def crash(self) -> None:
        """Die right after a write, now and then: nobody has heard of it."""
        if self._chance.happens(self._faults.crash_at_commit):
            self.chronicle.count("crashes after a schedule's commit")
            self._process.kill()
            raise ProcessDiedError("after a commit")

    def demand_space(self) -> None:
        self._process.demand_alive()
        if self._loop.time() < self.disk.full_until_s:
            self.chronicle.count("refusals of a full disk")
            raise JournalFullError("the simulated disk is full")


class SimulatedJournal(MemoryJournal):
    """One process's handle on the journal."""

    def __init__(self, writes: Writes) -> None:
        super().__init__(writes.disk, before_commit=self._before, after_commit=self._after)
        self._writes = writes
        self._chronicle = writes.chronicle
        self.schedules = SimulatedSchedules(self._open_tables, writes)

    def lease(self, run_id: str) -> int:
        self._writes.demand_space()
        token = super().lease(run_id)
        if token <= self._chronicle.leases.get(run_id, 0):
            self._chronicle.violations.append(f"{run_id}: token {token} was given twice")
        self._chronicle.leases[run_id] = token
        self._chronicle.count("leases")
        self._writes.after()
        return token

    def _before(self, transition: Transition) -> None:
        self._writes.before(transition.run_id)

    def _after(self, transition: Transition) -> None:
        self._chronicle.committed(transition)
        self._writes.after()


class SimulatedSchedules(MemorySchedules):
    """The schedules of one process's handle."""

    def __init__(self, tables: Callable[[], MemoryTables], writes: Writes) -> None:
        super().__init__(tables, writes.disk.lock)
        self._writes = writes

    def change(self, change: ScheduleChange) -> None:
        self._writes.before(change.schedule_id)
        before = self.schedule(change.schedule_id)
        super().change(change)
        self._writes.chronicle.scheduled(before, change)
        self._told()

    def replace(self, read: Occurrence, now: Occurrence) -> bool:
        self._writes.before(read.occurrence_id)
        written = super().replace(read, now)
        if written:
            self._writes.chronicle.dispatched(now)
            self._told()
        return written

    def _told(self) -> None:
        self._writes.after()
        self._writes.crash()


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
