"""Goal: the two journals cannot be told apart by any order of calls.

Method: a stateful machine sends the same random transitions, good and bad, to the LMDB journal and
to its twin, which keeps no indexes, and compares every answer and every list.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pointsman.graph.run import RunState
from pointsman.storage.journal import Journal, TokenBinding, Transition
from pointsman.storage.journal_errors import JournalError
from pointsman.storage.lmdb_journal import LmdbJournal
from pointsman.storage.memory_journal import MemoryDisk, MemoryJournal
from tests.harness.journals import a_deadline, a_receipt, a_transition, an_intent, an_item, run_id

RUNS = st.integers(0, 4).map(run_id)
SMALL = st.integers(0, 3)
STATES = st.sampled_from(RunState)
LIMITS = st.integers(0, 6)


@st.composite
def transitions(draw: st.DrawFn, run: str, sequence: int, token: int) -> Transition:
    """A transition that mostly fits, and now and then states the wrong place or token."""
    numbers = st.sets(SMALL, max_size=3)
    texts = st.sampled_from(["one", "two"])
    command = draw(st.none() | SMALL)
    return a_transition(
        run,
        max(0, sequence + draw(st.sampled_from([0, 0, 0, 0, 0, 1, -1]))),
        token=max(0, token + draw(st.sampled_from([0, 0, 0, 0, 0, -1, 1]))),
        count=draw(st.integers(1, 3)),
        state=draw(STATES),
        open_work=draw(st.sampled_from([(), ("attempt",)])),
        outbox=[an_intent(run, number, draw(texts)) for number in draw(numbers)],
        deadlines=[a_deadline(run, draw(SMALL), number) for number in draw(numbers)],
        attention=[an_item(run, draw(SMALL), number, draw(texts)) for number in draw(numbers)],
        receipt=None if command is None else a_receipt(run, f"command {command}"),
        tokens=draw(st.sampled_from([(), (TokenBinding(f"token of {run}", f"{run}.1"),)])),
    )


class JournalTwins(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="pointsman-twins-"))
        self.disk = MemoryDisk()
        self.lmdb: Journal = LmdbJournal.open(self.folder)
        self.twin: Journal = MemoryJournal(self.disk)
        self.sequences: dict[str, int] = {}
        self.tokens: dict[str, int] = {}

    def both(self, call: Callable[[Journal], Any]) -> Any:
        """Return the one answer of both journals; a refusal counts by its type."""
        answers = [_answer(call, journal) for journal in (self.lmdb, self.twin)]
        assert answers[0] == answers[1]
        return answers[0]

    @rule(run=RUNS)
    def lease(self, run: str) -> None:
        self.tokens[run] = self.both(lambda journal: journal.lease(run))

    @rule(run=RUNS, choices=st.data())
    def commit(self, run: str, choices: st.DataObject) -> None:
        if run not in self.tokens:
            self.lease(run)
        sequence, token = self.sequences.get(run, 0), self.tokens[run]
        made = choices.draw(transitions(run, sequence, token))
        if isinstance(self.both(lambda journal: journal.commit(made)), int):
            self.sequences[run] = made.run.version

    @rule()
    def open_again(self) -> None:
        self.lmdb.close()
        self.twin.close()
        self.lmdb, self.twin = LmdbJournal.open(self.folder), MemoryJournal(self.disk)

    @rule(run=RUNS, after=st.integers(-1, 5), limit=LIMITS | st.none())
    def read_events(self, run: str, after: int, limit: int | None) -> None:
        self.both(lambda journal: journal.events(run, after, limit))

    @rule(states=st.none() | st.frozensets(STATES), limit=LIMITS)
    def list_runs(self, states: frozenset[RunState] | None, limit: int) -> None:
        self.both(lambda journal: journal.runs(states, limit))

    @rule(after=SMALL, limit=LIMITS)
    def read_log(self, after: int, limit: int) -> None:
        self.both(lambda journal: journal.log(after, limit))

    @rule(run=RUNS, number=SMALL)
    def read_answers(self, run: str, number: int) -> None:
        self.both(lambda journal: journal.receipt(run, f"command {number}"))
        self.both(lambda journal: journal.attempt_of_token(f"token of {run}"))

    @rule(now_ms=SMALL, limit=LIMITS)
    def ask_what_is_due(self, now_ms: int, limit: int) -> None:
        self.both(lambda journal: journal.due(now_ms, limit))
        self.both(lambda journal: journal.attention(limit))

    @invariant()
    def all_lists_agree(self) -> None:
        self.both(lambda journal: journal.runs())
        self.both(lambda journal: journal.attention())
        self.both(lambda journal: journal.due(10))
        self.both(lambda journal: journal.next_deadline_ms())
        self.both(lambda journal: journal.active_runs())
        for run in self.sequences:
            self.run_agrees(run)

    def run_agrees(self, run: str) -> None:
        self.both(lambda journal: (journal.run(run), journal.summary(run)))
        self.both(lambda journal: (journal.outbox(run), journal.events(run)))

    def teardown(self) -> None:
        self.lmdb.close()
        shutil.rmtree(self.folder)


def _answer(call: Callable[[Journal], Any], journal: Journal) -> Any:
    try:
        return call(journal)
    except JournalError as error:
        return type(error)


TestJournalTwins = JournalTwins.TestCase
TestJournalTwins.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow],
)
