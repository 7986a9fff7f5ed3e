"""What commits and the lists cost on this machine. Printed, not judged: disks differ too much.

``pytest -s tests/integration/storage/test_commit_cost.py`` shows the figures.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pytest

from pointsman.graph.run import RunState
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.harness.journals import Json, a_deadline, a_transition, an_intent, an_item, run_id, start

COMMITS = 300
RUNS = 1_000
CHECKPOINT: Json = {"instructions": "x" * 18_000}


def _told(what: str, took_s: float, count: int) -> None:
    sys.stdout.write(f"\n{what}: {took_s / count * 1_000:.2f} ms each, {count / took_s:.0f}/s")


def _took_s(call: Callable[[], object]) -> float:
    before = perf_counter()
    call()
    return perf_counter() - before


@pytest.mark.slow
def test_the_cost_of_commits_and_lists_is_told(tmp_path: Path) -> None:
    journal = LmdbJournal.open(tmp_path)
    token = start(journal, run_id(0))
    made = [
        a_transition(
            run_id(0), 1 + 3 * n, token=token, count=3, outbox=[an_intent(run_id(0), n)],
            inputs=CHECKPOINT,
        )
        for n in range(COMMITS)
    ]  # fmt: skip
    took_s = _took_s(lambda: [journal.commit(each) for each in made])
    _told("a commit of 3 events, an intent and a 20 KB checkpoint", took_s, COMMITS)
    _told("a run folded from its checkpoint", _took_s(lambda: journal.run(run_id(0))), 1)
    for number in range(1, RUNS):
        run = run_id(number)
        start(
            journal,
            run,
            state=RunState.AWAITING_REVIEW,
            attention=[an_item(run, number)],
            deadlines=[a_deadline(run, number)],
        )
    lists: dict[str, Callable[[], object]] = {
        "the newest 100 waiting": lambda: journal.runs(frozenset({RunState.AWAITING_REVIEW})),
        "the first 100 for a person": journal.attention,
        "the first 100 due": lambda: journal.due(RUNS),
        "the active": journal.active_runs,
    }
    for name, read in lists.items():
        _told(f"{name} of {RUNS} runs", _took_s(read), 1)
    journal.close()
