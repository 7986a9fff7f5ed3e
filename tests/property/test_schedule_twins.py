"""Goal: the two stores of schedules cannot be told apart by any order of calls.

Method: as with the journals themselves, random changes, good and bad, go to LMDB with its indexes
and to its twin without any, and every answer and every list is compared.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pointsman.graph.schedule import Occurrence, OccurrenceState
from pointsman.storage.journal_errors import JournalError
from pointsman.storage.lmdb_journal import LmdbJournal
from pointsman.storage.memory_journal import MemoryDisk, MemoryJournal
from pointsman.storage.receipts import CommandReceipt
from pointsman.storage.schedules import ScheduleChange, ScheduleStore
from tests.contract.test_schedule_store import a_schedule, an_occurrence

NAMES = st.sampled_from(["a", "ab", "a.b", "b"])
SMALL = st.integers(0, 3)
OCCURRENCES = st.builds(an_occurrence, SMALL, st.none() | NAMES, SMALL)
LIMITS = st.integers(0, 5)


def receipt_of(command: int) -> CommandReceipt:
    return CommandReceipt("schedule", f"command {command}", "digest", "", b"{}")


class ScheduleTwins(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="pointsman-schedules-"))
        self.disk = MemoryDisk()
        self.lmdb = LmdbJournal.open(self.folder)
        self.twin = MemoryJournal(self.disk)

    def both(self, call: Callable[[ScheduleStore], Any]) -> Any:
        """Return the one answer of both; a refusal counts by its type."""
        answers = [_answer(call, each.schedules) for each in (self.lmdb, self.twin)]
        assert answers[0] == answers[1]
        return answers[0]

    @rule()
    def open_again(self) -> None:
        self.lmdb.close()
        self.twin.close()
        self.lmdb, self.twin = LmdbJournal.open(self.folder), MemoryJournal(self.disk)

    @rule(
        name=NAMES,
        off=st.sampled_from([0, 0, 0, 1, -1]),
        next_ms=st.none() | SMALL,
        removed=st.sampled_from([False, False, True]),
        numbers=st.sets(SMALL, max_size=3),
        command=st.none() | SMALL,
    )
    def change(
        self,
        name: str,
        off: int,
        next_ms: int | None,
        removed: bool,
        numbers: set[int],
        command: int | None,
    ) -> None:
        known = self.twin.schedules.schedule(name)
        version = max(0, (known.version if known is not None else 0) + off)
        change = ScheduleChange(
            name,
            version,
            None if removed else a_schedule(name, version + 1, next_ms),
            tuple(an_occurrence(number, name) for number in sorted(numbers)),
            None if command is None else receipt_of(command),
        )
        self.both(lambda store: store.change(change))

    @rule(occurrence=OCCURRENCES)
    def add(self, occurrence: Occurrence) -> None:
        self.both(lambda store: store.add(occurrence))

    @rule(occurrence=OCCURRENCES, state=st.sampled_from(OccurrenceState), stale=st.booleans())
    def replace(self, occurrence: Occurrence, state: OccurrenceState, stale: bool) -> None:
        read = self.twin.schedules.occurrence(occurrence.occurrence_id)
        read = occurrence if read is None or stale else read
        now = read.model_copy(update={"state": state, "created_at_ms": occurrence.created_at_ms})
        self.both(lambda store: store.replace(read, now))

    @rule(name=NAMES, limit=LIMITS, now_ms=SMALL)
    def list_some(self, name: str, limit: int, now_ms: int) -> None:
        self.both(lambda store: store.occurrences(name, limit))
        self.both(lambda store: store.pending(limit))
        self.both(lambda store: store.schedules(limit))
        self.both(lambda store: store.due(now_ms, limit))

    @invariant()
    def all_lists_agree(self) -> None:
        self.both(lambda store: (store.schedules(), store.due(10), store.pending()))
        for name in ("a", "ab", "a.b", "b"):
            self.both(lambda store, name=name: store.occurrences(name))  # type: ignore[misc]

    def teardown(self) -> None:
        self.lmdb.close()
        shutil.rmtree(self.folder)


def _answer(call: Callable[[ScheduleStore], Any], store: ScheduleStore) -> Any:
    try:
        return call(store)
    except JournalError as error:
        return type(error)


TestScheduleTwins = ScheduleTwins.TestCase
TestScheduleTwins.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow],
)
