"""Goal: a tally counts the same from the indexes of LMDB as from all projections."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pointsman.graph.projection import AttentionKind
from pointsman.graph.run import RunState
from pointsman.storage.journal import Journal
from tests.harness.journals import (
    OpenJournal,
    a_deadline,
    a_transition,
    an_intent,
    an_item,
    lmdb_opener,
    memory_opener,
    run_id,
    start,
)

ONE, TWO, THREE = run_id(1), run_id(2), run_id(3)


@pytest.fixture(params=[memory_opener, lmdb_opener], ids=["memory", "lmdb"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    opener: Callable[[Path], OpenJournal] = request.param
    opened = opener(tmp_path)()
    yield opened
    opened.close()


def test_a_tally_counts_runs_what_waits_intents_and_deadlines(journal: Journal) -> None:
    token = start(
        journal,
        ONE,
        outbox=[an_intent(ONE, 1), an_intent(ONE, 2)],
        deadlines=[a_deadline(ONE, 10, 1), a_deadline(ONE, 19, 2), a_deadline(ONE, 20, 3)],
    )
    start(journal, TWO, state=RunState.AWAITING_REVIEW, attention=[an_item(TWO, 7)])
    start(journal, THREE, state=RunState.COMPLETED)
    trouble = an_item(ONE, 5).model_copy(update={"kind": AttentionKind.RUN_IN_TROUBLE})
    journal.note_trouble(trouble)
    found = journal.tally(now_ms=19, late_ms=8)
    counted = {state.value: count for state, count in found.runs.items() if count}
    assert counted == {"running": 1, "awaiting_review": 1, "completed": 1}
    assert set(found.runs) == set(RunState)
    assert found.waiting == (
        (AttentionKind.AWAITING_REVIEW, 7),
        (AttentionKind.RUN_IN_TROUBLE, 5),
    )
    assert (found.outbox, found.position) == (2, 3)
    assert (found.deadlines, found.due, found.late) == (1, 2, 1)
    journal.commit(a_transition(ONE, 1, token=token))
    after = journal.tally(now_ms=19, late_ms=8)
    assert (after.outbox, after.deadlines, after.due, after.position) == (0, 0, 0, 4)


def test_a_tally_of_an_empty_journal_is_all_zeros(journal: Journal) -> None:
    found = journal.tally(now_ms=0, late_ms=10)
    assert set(found.runs.values()) == {0}
    assert found.waiting == ()
    assert (found.outbox, found.deadlines, found.due, found.late, found.position) == (0,) * 5
