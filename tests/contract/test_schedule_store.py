"""Goal: both journals keep every promise about schedules and occurrences.

Method: as with the journal's own contract, each test is written once and runs on both.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.graph.schedule import (
    MissedSlots,
    Occurrence,
    OccurrenceState,
    Overlap,
    Schedule,
    StartWish,
    Trigger,
)
from pointsman.storage.journal_errors import JournalError, ReceiptConflictError
from pointsman.storage.receipts import CommandReceipt
from pointsman.storage.schedules import ScheduleChange, ScheduleConflictError
from tests.harness.journals import DumpingJournal, OpenJournal, lmdb_opener, memory_opener

WISH = StartWish(workflow="change", repository="/repo", inputs={"task": "greet", "n": 1})


@pytest.fixture(params=[memory_opener, lmdb_opener], ids=["memory", "lmdb"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenJournal]:
    open_again = request.param(tmp_path)
    journals: list[DumpingJournal] = []

    def open_one() -> DumpingJournal:
        journals.append(open_again())
        return journals[-1]

    yield open_one
    for each in journals:
        each.close()


@pytest.fixture
def journal(opened: OpenJournal) -> DumpingJournal:
    return opened()


def a_schedule(name: str = "nightly", version: int = 1, next_ms: int | None = 60_000) -> Schedule:
    return Schedule(
        schedule_id=name,
        wish=WISH,
        cron="0 2 * * *",
        zone="UTC",
        missed=MissedSlots.LATEST,
        overlap=Overlap.ALLOW,
        enabled=next_ms is not None,
        created_by="ann",
        created_at_ms=1,
        changed_by="ann",
        changed_at_ms=version,
        revision=1,
        version=version,
        considered_ms=0,
        next_ms=next_ms,
        passed_over=0,
    )


def an_occurrence(number: int, schedule: str | None = "nightly", at_ms: int = 5) -> Occurrence:
    return Occurrence(
        occurrence_id=f"{schedule}@{number}",
        schedule_id=schedule,
        trigger=Trigger.SLOT,
        slot_ms=60_000 * number,
        wish=WISH,
        asked_by="schedule:nightly",
        created_at_ms=at_ms + number,
        state=OccurrenceState.PENDING,
    )


def put(journal: DumpingJournal, schedule: Schedule, *occurrences: Occurrence) -> None:
    change = ScheduleChange(
        schedule.schedule_id, schedule.version - 1, schedule, occurrences=occurrences
    )
    journal.schedules.change(change)


def a_receipt(command_id: str) -> CommandReceipt:
    return CommandReceipt("schedule:nightly", command_id, "digest", "", b"{}")


def settled(occurrence: Occurrence) -> Occurrence:
    return occurrence.model_copy(
        update={"state": OccurrenceState.DISPATCHED, "run_id": "r0-1", "settled_at_ms": 9}
    )


def test_a_schedule_comes_back_whole_also_after_the_journal_is_opened_again(
    opened: OpenJournal,
) -> None:
    journal = opened()
    put(journal, a_schedule(), an_occurrence(1))
    journal.close()
    journal = opened()
    assert journal.schedules.schedule("nightly") == a_schedule()
    assert journal.schedules.schedules() == (a_schedule(),)
    assert journal.schedules.occurrence("nightly@1") == an_occurrence(1)


def test_what_is_not_there_is_none_or_empty(journal: DumpingJournal) -> None:
    for strange in ("", "\0", "x" * 5_000, "nightly"):
        assert journal.schedules.schedule(strange) is None
        assert journal.schedules.occurrence(strange) is None
        assert journal.schedules.occurrences(strange) == ()
    assert journal.schedules.schedules() == ()
    assert journal.schedules.due(10**15) == ()
    assert journal.schedules.pending() == ()


def test_schedules_come_due_in_the_order_of_their_slots_and_paused_ones_never(
    journal: DumpingJournal,
) -> None:
    for name, next_ms in (("a", 300), ("b", 100), ("c", None), ("d", 200), ("e", 100)):
        put(journal, a_schedule(name, next_ms=next_ms))
    assert [each.schedule_id for each in journal.schedules.due(200)] == ["b", "e", "d"]
    assert [each.schedule_id for each in journal.schedules.due(10**12, limit=1)] == ["b"]
    assert journal.schedules.due(99) == ()
    put(journal, a_schedule("b", version=2, next_ms=900))
    assert [each.schedule_id for each in journal.schedules.due(200)] == ["e", "d"]
    assert [each.schedule_id for each in journal.schedules.schedules()] == list("abcde")


def test_a_change_of_another_version_than_it_was_read_at_writes_nothing(
    journal: DumpingJournal,
) -> None:
    put(journal, a_schedule(), an_occurrence(1))
    before = journal.dump()
    late = ScheduleChange("nightly", 0, a_schedule(), (an_occurrence(2),), a_receipt("late"))
    with pytest.raises(ScheduleConflictError):
        journal.schedules.change(late)
    ahead = ScheduleChange("nightly", 2, a_schedule(version=3), (an_occurrence(2),))
    with pytest.raises(ScheduleConflictError):
        journal.schedules.change(ahead)
    with pytest.raises(ScheduleConflictError):
        journal.schedules.change(ScheduleChange("nightly", 2, None))
    assert journal.dump() == before


def test_a_command_that_was_answered_writes_nothing_again(journal: DumpingJournal) -> None:
    first = ScheduleChange("nightly", 0, a_schedule(), receipt=a_receipt("put"))
    journal.schedules.change(first)
    assert journal.receipt("schedule:nightly", "put") == a_receipt("put")
    before = journal.dump()
    again = ScheduleChange("nightly", 1, a_schedule(version=2), receipt=a_receipt("put"))
    with pytest.raises(ReceiptConflictError):
        journal.schedules.change(again)
    assert journal.dump() == before


def test_a_removed_schedule_is_due_no_more_and_its_occurrences_stay(
    journal: DumpingJournal,
) -> None:
    put(journal, a_schedule(), an_occurrence(1))
    journal.schedules.change(ScheduleChange("nightly", 1, None))
    assert journal.schedules.schedules() == ()
    assert journal.schedules.due(10**12) == ()
    assert journal.schedules.occurrences("nightly") == (an_occurrence(1),)
    put(journal, a_schedule())


def test_an_occurrence_is_written_once_whoever_writes_it(journal: DumpingJournal) -> None:
    put(journal, a_schedule(), an_occurrence(1))
    done = settled(an_occurrence(1))
    assert journal.schedules.replace(an_occurrence(1), done)
    put(journal, a_schedule(version=2), an_occurrence(1), an_occurrence(2))
    assert not journal.schedules.add(an_occurrence(1, at_ms=900))
    assert journal.schedules.occurrences("nightly") == (an_occurrence(2), done)


def test_only_what_was_read_is_replaced_and_what_is_settled_is_pending_no_more(
    journal: DumpingJournal,
) -> None:
    assert journal.schedules.add(an_occurrence(1))
    assert journal.schedules.add(an_occurrence(2, None, at_ms=0))
    assert journal.schedules.pending() == (an_occurrence(2, None, at_ms=0), an_occurrence(1))
    assert journal.schedules.pending(limit=1) == (an_occurrence(2, None, at_ms=0),)
    done = settled(an_occurrence(1))
    assert journal.schedules.replace(an_occurrence(1), done)
    assert not journal.schedules.replace(an_occurrence(1), done)
    assert not journal.schedules.replace(an_occurrence(3), settled(an_occurrence(3)))
    assert journal.schedules.pending() == (an_occurrence(2, None, at_ms=0),)
    assert journal.schedules.occurrence("nightly@1") == done
    assert journal.schedules.occurrence("nightly@3") is None


def test_occurrences_are_listed_newest_first_and_only_of_their_schedule(
    journal: DumpingJournal,
) -> None:
    put(journal, a_schedule(), *(an_occurrence(number) for number in (3, 1, 300)))
    journal.schedules.add(an_occurrence(7, "nightly2"))
    journal.schedules.add(an_occurrence(8, "night"))
    listed = journal.schedules.occurrences("nightly")
    assert [each.slot_ms for each in listed] == [18_000_000, 180_000, 60_000]
    assert journal.schedules.occurrences("nightly", limit=1) == (an_occurrence(300),)


def test_runs_and_their_log_know_nothing_of_schedules(journal: DumpingJournal) -> None:
    put(journal, a_schedule(), an_occurrence(1))
    assert journal.log(0, 10) == ()
    assert journal.runs() == ()
    assert journal.next_deadline_ms() is None


def test_a_closed_journal_has_no_schedules(journal: DumpingJournal) -> None:
    journal.close()
    with pytest.raises(JournalError):
        journal.schedules.schedules()
