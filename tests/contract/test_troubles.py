"""Goal: a run's trouble is kept beside the run, in both journals, and disturbs nothing of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pointsman.graph.projection import AttentionItem, AttentionKind
from tests.harness.journals import OpenJournal, a_transition, lmdb_opener, memory_opener, run_id

ONE, TWO = run_id(1), run_id(2)


def trouble(of: str, detail: str = "raises") -> AttentionItem:
    return AttentionItem(
        item_id=f"{of}:trouble",
        run_id=of,
        kind=AttentionKind.RUN_IN_TROUBLE,
        node="",
        title="In trouble",
        detail=detail,
        since_ms=1,
    )


@pytest.mark.parametrize("opener", [memory_opener, lmdb_opener], ids=["memory", "lmdb"])
def test_troubles_outlive_the_process_until_they_are_ended(
    opener: Callable[[Path], OpenJournal], tmp_path: Path
) -> None:
    open_again = opener(tmp_path)
    journal = open_again()
    journal.commit(a_transition(ONE, token=journal.lease(ONE)))
    before, shown = journal.run(ONE), journal.attention()
    journal.note_trouble(trouble(TWO))
    journal.note_trouble(trouble(ONE, "first"))
    journal.note_trouble(trouble(ONE, "then"))
    journal.close()
    journal = open_again()
    assert journal.troubles() == (trouble(ONE, "then"), trouble(TWO))
    assert (journal.run(ONE), journal.attention()) == (before, shown)
    journal.end_trouble(ONE)
    journal.end_trouble(ONE)
    assert journal.troubles() == (trouble(TWO),)
    journal.close()
