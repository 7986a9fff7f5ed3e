"""Goal: states are those of the moment, and each event of the journal's log is counted once."""

from pathlib import Path

import pytest
from prometheus_client import Metric

from pointsman.actors.metric_labels import WorktreeRole
from pointsman.actors.shared_counts import counting
from pointsman.graph.projection import AttentionKind
from pointsman.graph.run import RunState
from pointsman.runtime.views.measures import LATE_MS, Measures, Status
from pointsman.runtime.worktrees.counted import worktrees_on_disk
from pointsman.storage.journal import StoredEvent
from pointsman.storage.journal_errors import JournalCorruptError
from pointsman.storage.memory_journal import MemoryJournal
from tests.harness.fake_clock import FakeClock
from tests.harness.journals import a_deadline, a_transition, an_intent, an_item, run_id, start

HOUR_MS = 3_600_000
NOW = "2026-12-01T12:00:00+00:00"


class Watched:
    """The measures of a journal at a set time."""

    def __init__(self, folder: Path, journal: MemoryJournal | None = None) -> None:
        self.journal = journal or MemoryJournal()
        self.clock = FakeClock(NOW)
        self.counts = folder / "counts"
        trees = folder / "workspaces"
        self.measures = Measures(
            self.journal, self.clock, self.counts, lambda: worktrees_on_disk(trees)
        )

    def families(self, status: Status | None = None) -> dict[str, Metric]:
        with counting(self.counts):
            return {each.name: each for each in self.measures.families(status)}

    def __call__(self, name: str, status: Status | None = None, **labels: str) -> float:
        family = self.families(status)[f"pointsman_{name}"]
        (found,) = [each.value for each in family.samples if each.labels == labels]
        return found


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


@pytest.mark.parametrize(
    "hours, age",
    [(-1, "minutes"), (0, "minutes"), (1, "hours"), (23.9, "hours"), (24, "days"), (168, "weeks")],
)
def test_what_waits_is_told_by_kind_and_age(watched: Watched, hours: float, age: str) -> None:
    since_ms = watched.clock.now_ms() - round(hours * HOUR_MS)
    start(watched.journal, run_id(1), attention=[an_item(run_id(1), since_ms)])
    kind = AttentionKind.AWAITING_REVIEW
    assert watched("attention_items", kind=kind, age=age) == 1
    total = sum(s.value for s in watched.families()["pointsman_attention_items"].samples)
    assert total == 1
    oldest = watched("attention_oldest_seconds", kind=kind)
    assert oldest == pytest.approx(max(hours, 0) * 3600)


def test_deadlines_are_ahead_due_or_late(watched: Watched) -> None:
    now_ms = watched.clock.now_ms()
    dues = (now_ms + 1, now_ms, now_ms - LATE_MS, now_ms - LATE_MS - 1)
    deadlines = [a_deadline(run_id(1), due, number) for number, due in enumerate(dues)]
    start(watched.journal, run_id(1), deadlines=deadlines, outbox=[an_intent(run_id(1), 1)])
    assert watched("deadlines") == 1
    assert watched("deadlines_due") == 3
    assert watched("deadlines_late") == 1
    assert watched("outbox_depth") == 1


def test_runs_that_nobody_holds_are_passivated_and_ended_ones_are_not(watched: Watched) -> None:
    states = (RunState.RUNNING, RunState.AWAITING_REVIEW, RunState.UNRESOLVED, RunState.FAILED)
    for number, state in enumerate(states, start=1):
        start(watched.journal, run_id(number), state=state)
    status = {"runs_leased": 1, "workers_lent": 1, "workers_idle": 2}
    assert watched("run_actors", status, place="leased") == 1
    assert watched("run_actors", status, place="pooled") == 2
    assert watched("run_actors", status, place="passivated") == 2
    assert watched("supervisor_up", status) == 1
    assert watched("supervisor_up") == 0


def test_events_are_counted_from_when_the_server_began_and_each_once(tmp_path: Path) -> None:
    journal = MemoryJournal()
    token = start(journal, run_id(1))
    watched = Watched(tmp_path, journal)
    assert watched("events", event="run_started") == 0
    journal.commit(a_transition(run_id(1), 1, token=token, count=2))
    for _ in range(2):
        assert watched("events", event="route_taken") == 2
    start(journal, run_id(2))
    assert watched("events", event="run_started") == 1
    assert watched("journal_transitions") == 3


def test_damage_of_an_event_hides_no_other_number(tmp_path: Path) -> None:
    class Damaged(MemoryJournal):
        def stored_events(self, after: int, events_max: int) -> tuple[StoredEvent, ...]:
            raise JournalCorruptError("a row is damaged")

    watched = Watched(tmp_path, Damaged())
    start(watched.journal, run_id(1))
    assert watched("runs", state=RunState.RUNNING) == 1
    assert watched("events", event="run_started") == 0


def test_worktrees_are_counted_by_their_folders(watched: Watched, tmp_path: Path) -> None:
    assert watched("worktrees", role=WorktreeRole.PRIMARY) == 0
    for name in ("wf_3ar0-1_3aprimary", "wf_3ar0-1.reviewers.1.ux", "wf_3ar0-2.reviewers.1.ux"):
        (tmp_path / "workspaces" / name).mkdir(parents=True)
    (tmp_path / "workspaces" / "a-file").touch()
    assert watched("worktrees", role=WorktreeRole.PRIMARY) == 1
    assert watched("worktrees", role=WorktreeRole.REVIEWER) == 2
