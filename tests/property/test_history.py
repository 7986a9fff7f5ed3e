"""Goal: the SQL tables are what an independent fold of the journal says, however it was copied.

Method: hypothesis tells a run, with reviewers or without; a second run tells the same story, with
its transitions between those of the first. The log is taken in batches of random sizes, by one
historian after the other. Then whole simulated worlds, with all that goes wrong in them, are taken
in the same way.
"""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointsman.graph.run import Run
from pointsman.graph.schedule import OccurrenceState
from pointsman.graph.work import ReceiptStatus
from pointsman.storage.history.history import History, rebuild
from pointsman.storage.history.tables import TABLES
from pointsman.storage.journal import Journal
from pointsman.storage.memory_journal import MemoryJournal
from pointsman.storage.schedules import ScheduleChange
from tests.harness.acts import ACTS, JOURNEYS
from tests.harness.core import RUN_ID
from tests.harness.fake_clock import FakeClock
from tests.harness.history import ToldProcess, ToldReview, commit, renamed
from tests.harness.history_fold import folded
from tests.harness.history_rows import Tables, found
from tests.harness.history_story import told_by_hand
from tests.harness.reviews import reviewed
from tests.harness.schedules import Counting, a_schedule, a_scheduler
from tests.simulation.chance import Chance
from tests.simulation.run import unawaited
from tests.simulation.world import World

OTHER = RUN_ID[:-1] + "y"
SEEDS = range(1, 11)
# What the host says to these is no fact of its own: nothing more is owed, whatever it was.
ANSWERED_EITHER_WAY = {
    "release_workspace",
    "interrupt_execution",
    "cancel_check",
    "answer_request",
}


class Taking:
    """A history of one shard that is taken by one historian after the other."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self.path = folder / "history.duckdb"
        self.journal = journal
        self.history = History.open(self.path)

    def some(self, events_max: int, *, ended: bool) -> int:
        """Take a batch; the historian that did it may be ended then."""
        taken = self.history.take("0", self.journal, events_max)
        if ended:
            self.begin_again()
        return taken

    def begin_again(self) -> None:
        self.history.close()
        self.history = History.open(self.path)

    def rebuilt(self) -> Tables:
        """Return the tables of a rebuild in its place."""
        self.history.close()
        rebuild(self.path, {"0": self.journal})
        self.history = History.open(self.path)
        return found(self.history)


def assert_same(tables: Tables, expected: Tables) -> None:
    for name, rows in expected.items():
        assert tables[name] == rows, name


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    steps=JOURNEYS,
    reviews=st.booleans(),
    batches=st.lists(st.tuples(st.integers(1, 40), st.booleans()), min_size=1, max_size=4),
)
def test_the_tables_are_a_fold_of_the_journal_however_it_was_taken(
    steps: list[tuple[str, int]], reviews: bool, batches: list[tuple[int, bool]]
) -> None:
    process = ToldReview(reviewed()) if reviews else ToldProcess()
    for act, pick in steps:
        ACTS[act](process, pick)
    journal = MemoryJournal()
    with tempfile.TemporaryDirectory(prefix="pointsman-history-") as folder:
        taking = Taking(Path(folder), journal)
        one: Run | None = None
        two: Run | None = None
        again = renamed(process.transitions, OTHER)
        for number, (first, second) in enumerate(zip(process.transitions, again, strict=True)):
            one, two = commit(journal, one, first), commit(journal, two, second)
            if number % 5 == 0:
                size, ended = batches[number // 5 % len(batches)]
                taking.some(size, ended=ended)
        while taking.some(batches[0][0], ended=False):
            pass
        assert taking.history.behind("0", journal) == 0
        tables = found(taking.history)
        assert_same(tables, folded({"0": journal}))
        assert_orders(tables, journal, process.answered)
        assert_same(taking.rebuilt(), tables)
        taking.history.close()


def assert_orders(tables: Tables, journal: Journal, answered: dict[str, ReceiptStatus]) -> None:
    """Compare what is owed with the outbox, and what became of the rest with the host's answers."""
    for run in tables["runs"]:
        of_run = [each for each in tables["intents"] if each["run_id"] == run["run_id"]]
        owed = sorted(each["intent_id"] for each in of_run if each["closed_at"] is None)
        assert owed == [each.intent_id for each in journal.outbox(run["run_id"])]
    closed = {e["intent_id"]: e for e in tables["intents"] if e["outcome"] in ("done", "refused")}
    for intent_id, status in answered.items():
        row = closed[intent_id]
        done = status is ReceiptStatus.ACCEPTED or row["kind"] in ANSWERED_EITHER_WAY
        assert row["outcome"] == ("done" if done else "refused"), intent_id


def scheduled(folder: Path, journal: MemoryJournal) -> None:
    """Let a schedule start a run, fail to start one, and wish for another."""
    clock, file = FakeClock("2026-12-01T01:00+00:00"), folder / "change.yaml"
    file.write_text(
        "{pointsman: 1, id: change, name: Change, entry: done, nodes: {done: {kind: end}}}"
    )
    schedule = a_schedule(clock.now_ms(), workflow=str(file), repository=str(folder))
    wish = schedule.wish.model_copy(update={"inputs": {}})
    schedule = schedule.model_copy(update={"wish": wish})
    journal.schedules.change(ScheduleChange("s", 0, schedule))
    for day in ("2026-12-01", "2026-12-02"):
        clock.set(f"{day}T02:00+00:00")
        asyncio.run(a_scheduler(journal, Counting(), clock).tick())
        file.unlink(missing_ok=True)
    (first, *_) = journal.schedules.occurrences("s")
    asked = {"occurrence_id": "more", "state": OccurrenceState.PENDING}
    journal.schedules.add(first.model_copy(update=asked))


def simulated(seed: str) -> MemoryJournal:
    """Return the journal of a whole simulated world."""
    with unawaited():
        world = World(seed)
        assert world.run().violations == []
        journal = world.journal
        del world  # here, where what it leaves half-done is let be
    return journal


def columns_told(tables: Tables) -> set[tuple[str, str]]:
    return {
        (name, column)
        for name, rows in tables.items()
        for row in rows
        for column, value in row.items()
        if value is not None
    }


@pytest.mark.slow
def test_the_tables_of_simulated_worlds_are_folds_and_every_column_is_told_by_one(
    tmp_path: Path,
) -> None:
    told: set[tuple[str, str]] = set()
    for number, journal in enumerate([told_by_hand(), *map(simulated, map(str, SEEDS))]):
        draw, folder = Chance(f"history {number}"), tmp_path / str(number)
        folder.mkdir()
        scheduled(folder, journal)
        taking = Taking(folder, journal)
        while taking.some(draw.count(40, 400), ended=draw.happens(0.3)):
            pass
        tables = found(taking.history)
        assert_same(tables, folded({"0": journal}))
        assert_orders(tables, journal, {})
        assert_same(taking.rebuilt(), tables)
        taking.history.close()
        told |= columns_told(tables)
    untold = {(table.name, each.name) for table in TABLES for each in table.columns} - told
    assert untold == set()
