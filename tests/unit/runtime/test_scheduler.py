"""Goal: between an occurrence, its start and its receipt nothing is lost and nothing done twice.

Method: the real scheduler on the journal's twin, ended at every place in between by an error that
nothing catches, as a crash would, and begun again.
"""

import asyncio
import contextlib
from pathlib import Path

import pytest

from pointsman.graph.schedule import Occurrence, OccurrenceState
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.scheduling.dispatch import Dispatcher
from pointsman.runtime.scheduling.scheduler import Scheduler
from pointsman.runtime.wire.requests import StartReply, StartRequest
from pointsman.storage.journal_errors import JournalFullError
from pointsman.storage.memory_journal import MemoryJournal
from pointsman.storage.schedules import ScheduleChange
from tests.harness.fake_clock import FakeClock
from tests.harness.schedules import Counting, FailingStore, a_schedule, a_scheduler

TEXT = """
pointsman: 1
id: change
name: Change
inputs: {task: {type: string, required: true}}
entry: done
nodes: {done: {kind: end}}
"""


class Crash(BaseException):
    """Ends a scheduler as the death of its process does."""


def crash(_act: str = "") -> None:
    raise Crash


class Bench:
    """A journal that outlives its schedulers; each ``tick`` is that of a new one."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock("2026-12-01T01:00+00:00")
        self.journal, self.start = MemoryJournal(), Counting()
        self.store = FailingStore(self.journal.schedules)
        self.journal.schedules = self.store
        self.file = folder / "change.yaml"
        self.file.write_text(TEXT)
        schedule = a_schedule(self.clock.now_ms(), workflow=str(self.file), repository=str(folder))
        self.store.change(ScheduleChange("s", 0, schedule))
        self.clock.set("2026-12-01T02:00+00:00")

    def scheduler(self) -> Scheduler:
        return a_scheduler(self.journal, self.start, self.clock)

    def ticks_until_asked(self, scheduler: Scheduler, times: int) -> None:
        """Let a scheduler look until it has asked for the start so often."""
        for _ in range(10):
            if len(self.start.asked) < times:
                self.tick(scheduler)
        assert len(self.start.asked) == times

    def tick(self, scheduler: Scheduler | None = None) -> None:
        """Let a scheduler look once; a crash ends it silently."""
        with contextlib.suppress(Crash):
            asyncio.run((scheduler or self.scheduler()).tick())

    @property
    def occurrence(self) -> Occurrence:
        (found,) = self.store.occurrences("s")
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_crash_before_the_occurrence_is_written_leaves_the_slot_due(bench: Bench) -> None:
    bench.store.before = crash
    bench.tick()
    assert bench.store.occurrences("s") == ()
    assert bench.start.asked == []
    bench.store.before = lambda act: None
    bench.tick()
    assert bench.occurrence.state is OccurrenceState.DISPATCHED


def test_a_crash_between_occurrence_and_start_starts_the_same_occurrence_with_its_definition(
    bench: Bench,
) -> None:
    bench.start.before = crash
    bench.tick()
    assert bench.occurrence.state is OccurrenceState.PENDING
    bench.file.write_text(TEXT.replace("name: Change", "name: Another"))
    bench.start.before = lambda: None
    bench.tick()
    assert list(bench.start.runs) == ["s@2026-12-01T02:00Z"]
    assert [each.definition for each in bench.start.asked] == [TEXT, TEXT]
    assert bench.occurrence.run_id == "run-0"


def test_a_crash_between_start_and_receipt_gets_the_same_run(bench: Bench) -> None:
    bench.start.after = crash
    bench.tick()
    assert (len(bench.start.runs), bench.occurrence.state) == (1, OccurrenceState.PENDING)
    bench.start.after = lambda: None
    bench.clock.advance(days=3)
    bench.tick()
    assert bench.start.asked[0] == bench.start.asked[1]
    bench_runs = {each.occurrence_id: each.run_id for each in bench.store.occurrences("s")}
    assert bench_runs == bench.start.runs
    assert set(bench_runs) == {"s@2026-12-01T02:00Z", "s@2026-12-04T02:00Z"}


def test_a_receipt_that_cannot_be_written_is_written_later(bench: Bench) -> None:
    def full(act: str) -> None:
        if act == "replace":
            raise JournalFullError("full")

    bench.store.before = full
    bench.tick()
    assert bench.occurrence.state is OccurrenceState.PENDING
    bench.store.before = lambda act: None
    bench.tick()
    assert (bench.occurrence.run_id, len(bench.start.runs)) == ("run-0", 1)


def test_a_full_disk_is_told_and_the_slot_is_started_when_there_is_room(bench: Bench) -> None:
    def full(act: str) -> None:
        raise JournalFullError("the disk is full")

    scheduler = bench.scheduler()
    bench.store.before = full
    bench.tick(scheduler)
    assert (scheduler.trouble or "").startswith("journal_full")
    bench.store.before = lambda act: None
    bench.tick(scheduler)
    assert scheduler.trouble is None
    assert bench.occurrence.state is OccurrenceState.DISPATCHED


def test_schedulers_beside_one_another_start_a_slot_once(bench: Bench) -> None:
    async def all_at_once() -> None:
        schedulers = [bench.scheduler() for _ in range(6)]
        await asyncio.gather(*(each.tick() for each in schedulers))

    for _ in range(5):
        asyncio.run(all_at_once())
        bench.clock.advance(days=1)
    assert len(bench.start.runs) == 5
    found = bench.store.occurrences("s")
    assert {each.occurrence_id: each.run_id for each in found} == bench.start.runs


def test_a_start_that_nobody_could_judge_is_asked_for_again_and_given_up_in_the_end(
    bench: Bench,
) -> None:
    def no_host() -> None:
        raise PointsmanError("host_unavailable", "the host did not answer")

    bench.start.before = no_host
    scheduler = bench.scheduler()
    for _ in range(40):
        bench.tick(scheduler)
        assert bench.occurrence.state is OccurrenceState.PENDING
    assert 4 <= len(bench.start.asked) <= 8  # at ever longer intervals
    bench.clock.advance(minutes=16)
    for _ in range(64):
        bench.tick(scheduler)
    assert bench.occurrence.state is OccurrenceState.REFUSED
    assert bench.occurrence.reason is not None
    assert bench.occurrence.reason.code == "host_unavailable"


def test_a_start_that_may_be_on_its_way_is_never_given_up(bench: Bench) -> None:
    def nobody_answers() -> None:
        bench.clock.advance(minutes=16)  # as on a machine that was asleep
        raise PointsmanError("worker_lost", "whoever was asked may still do it")

    scheduler = bench.scheduler()
    bench.start.before = nobody_answers
    bench.tick(scheduler)
    assert bench.occurrence.state is OccurrenceState.PENDING
    bench.start.before, bench.start.after = lambda: None, nobody_answers  # it was begun at last
    bench.ticks_until_asked(scheduler, 2)
    assert bench.occurrence.state is OccurrenceState.PENDING
    bench.start.after = lambda: None
    bench.ticks_until_asked(scheduler, 3)
    dispatched = bench.occurrence
    assert dispatched.state is OccurrenceState.DISPATCHED
    assert list(bench.start.runs.values()) == [dispatched.run_id]


def test_a_defect_in_one_start_keeps_no_other_from_its_run(bench: Bench) -> None:
    def defect() -> None:
        if len(bench.start.asked) == 1:
            raise ZeroDivisionError

    bench.start.before = defect
    scheduler = bench.scheduler()
    bench.tick(scheduler)
    bench.clock.advance(days=1)
    for _ in range(4):
        bench.tick(scheduler)
    assert {each.state for each in bench.store.occurrences("s")} == {OccurrenceState.DISPATCHED}


def test_the_text_of_a_definition_is_kept_only_until_its_run_keeps_it(bench: Bench) -> None:
    bench.start.before = crash
    bench.tick()
    snapshot = bench.occurrence.snapshot
    assert snapshot is not None
    assert (snapshot.text, snapshot.source) == (TEXT, str(bench.file))
    bench.start.before = lambda: None
    bench.tick()
    assert bench.occurrence.snapshot == snapshot.model_copy(update={"text": None})


def test_a_running_scheduler_fires_by_itself_and_goes_on_after_a_defect(bench: Bench) -> None:
    async def until_started() -> None:
        started = asyncio.Event()
        bench.start.after = started.set
        defects = iter([ZeroDivisionError])

        def defect(_act: str) -> None:
            for each in defects:
                raise each

        bench.store.before = defect
        scheduler = bench.scheduler()
        async with scheduler.running(tick_s=0.001):
            assert scheduler.firing
            await asyncio.wait_for(started.wait(), 20)
        assert not scheduler.firing

    asyncio.run(until_started())
    assert list(bench.start.runs) == ["s@2026-12-01T02:00Z"]


def test_a_start_that_takes_long_makes_no_other_slot_late(bench: Bench) -> None:
    async def until_both_are_made() -> None:
        blocked, looked = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        count = bench.start

        async def slow(request: StartRequest) -> StartReply:
            bench.clock.advance(days=1)
            await blocked.wait()
            return await count(request)

        def told(act: str) -> None:
            if act == "change" and bench.store.occurrences("s"):
                loop.call_soon_threadsafe(looked.set)

        bench.store.before = told
        dispatcher = Dispatcher(bench.journal, slow, bench.clock)
        async with Scheduler(bench.journal, dispatcher, bench.clock).running(tick_s=0.001):
            await asyncio.wait_for(looked.wait(), 20)
            blocked.set()

    asyncio.run(until_both_are_made())
    assert len(bench.store.occurrences("s")) == 2
