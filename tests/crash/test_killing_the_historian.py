"""Goal: a process that is killed while it copies the journal into the history changes nothing.

Method: real processes copy a real journal in small batches; each is killed after a few of them, in
the midst of the next, until all is copied; the result must be what one undisturbed copy gives.
"""

import subprocess
import sys
from pathlib import Path
from random import Random  # noqa: TID251  seeded

from pointsman.graph.run import Run
from pointsman.storage.history.history import History, rebuild
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.harness.history import ToldProcess, ToldReview, commit, everything, renamed

SEED = 4_711


def told(folder: Path) -> LmdbJournal:
    """Return a journal of a few runs, with and without reviewers."""
    journal = LmdbJournal.open(folder)
    process, review = ToldProcess(), ToldReview()
    process.work(data={"risk": "low"}).run_check(exit_code=1)
    review.to_the_gate()
    for number in range(6):
        story = process if number % 2 else review
        after: Run | None = None
        for events in renamed(story.transitions, f"r0-{number:026d}"):
            after = commit(journal, after, events)
    return journal


def test_a_historian_that_is_killed_again_and_again_loses_and_doubles_nothing(
    tmp_path: Path,
) -> None:
    draw = Random(SEED)
    journal = told(tmp_path / "journal")
    copied = tmp_path / "history.duckdb"
    program = [sys.executable, "-m", "tests.harness.history_process"]
    command = [*program, str(tmp_path / "journal"), str(copied)]
    kills = 0
    while True:
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            heard = [process.stdout.readline() for _ in range(draw.randrange(1, 8))]
            process.kill()
        if not all(heard):
            break
        kills += 1
    assert kills > 3
    history = History.open(copied)
    assert history.behind("0", journal) == 0
    rebuild(tmp_path / "whole.duckdb", {"0": journal})
    whole = History.open(tmp_path / "whole.duckdb")
    assert everything(history) == everything(whole)
    history.close()
    whole.close()
    journal.close()
