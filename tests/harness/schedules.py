"""Schedules without a server: a start that only counts, and a store that a test lets fail."""

from collections.abc import Callable

from pointsman.actors.clock import Clock
from pointsman.graph.schedule import MissedSlots, Occurrence, Overlap, Schedule, StartWish
from pointsman.runtime.scheduling.dispatch import Dispatcher
from pointsman.runtime.scheduling.scheduler import Scheduler
from pointsman.runtime.scheduling.slots import Slots
from pointsman.runtime.wire.requests import StartReply, StartRequest
from pointsman.storage.journal import Journal
from pointsman.storage.schedules import ScheduleChange, ScheduleStore


class Counting:
    """A start that counts: the same command id is the same run, as with the real one."""

    def __init__(self) -> None:
        self.runs: dict[str, str] = {}
        self.asked: list[StartRequest] = []
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None

    async def __call__(self, request: StartRequest) -> StartReply:
        self.asked.append(request)
        self.before()
        known = request.command_id in self.runs
        run_id = self.runs.setdefault(request.command_id, f"run-{len(self.runs)}")
        self.after()
        return StartReply(run_id=run_id, duplicate=known)


class FailingStore:
    """A store whose writes may fail: what ``before`` raises comes before anything is written."""

    def __init__(self, inner: ScheduleStore) -> None:
        self._inner = inner
        self.schedule, self.schedules, self.due = inner.schedule, inner.schedules, inner.due
        self.occurrence, self.occurrences = inner.occurrence, inner.occurrences
        self.pending, self.stored_occurrences = inner.pending, inner.stored_occurrences
        self.before: Callable[[str], None] = lambda act: None

    def change(self, change: ScheduleChange) -> None:
        self.before("change")
        self._inner.change(change)

    def add(self, occurrence: Occurrence) -> bool:
        self.before("add")
        return self._inner.add(occurrence)

    def replace(self, read: Occurrence, now: Occurrence) -> bool:
        self.before("replace")
        return self._inner.replace(read, now)


def a_schedule(
    now_ms: int,
    cron: str = "0 2 * * *",
    zone: str = "UTC",
    missed: MissedSlots = MissedSlots.LATEST,
    workflow: str = "change-any-repository",
    repository: str = "/",
) -> Schedule:
    """Return a new schedule, named ``s``, of a packaged workflow."""
    return Schedule(
        schedule_id="s",
        wish=StartWish(workflow=workflow, repository=repository, inputs={"task": "greet"}),
        cron=cron,
        zone=zone,
        missed=missed,
        overlap=Overlap.ALLOW,
        enabled=True,
        created_by="ann",
        created_at_ms=now_ms,
        changed_by="ann",
        changed_at_ms=now_ms,
        revision=1,
        version=1,
        considered_ms=now_ms,
        next_ms=Slots(cron, zone).next_after(now_ms),
        passed_over=0,
    )


def a_scheduler(journal: Journal, start: Counting, clock: Clock) -> Scheduler:
    """Return a new scheduler, as a server that has just begun has one."""
    return Scheduler(journal, Dispatcher(journal, start, clock), clock)
