"""Goal: a process that is killed while it copies the journal into the history changes nothing.

Method: real processes copy a real journal in small batches; each is killed after a few of them, in
the midst of the next, until all is copied; the result must be what one undisturbed copy gives. Then
the historian of a real server is killed while runs go on: when it is just there, after a statement,
and in the midst of one.
"""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random  # noqa: TID251  seeded

import pytest

from pointsman.graph.run import Run
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.trace import trace_signature
from pointsman.storage.history.history import History, rebuild
from pointsman.storage.history.tables import TABLES
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.harness.history import Rows, ToldProcess, ToldReview, commit, everything, renamed
from tests.harness.hosts import wait_until
from tests.harness.processes import of_kind
from tests.harness.server import Server

SEED = 4_711
SLOW = "SELECT sum(a.range * b.range) FROM range(100000000) a, range(10000) b"


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


def is_answered(server: Server, statement: str = "SELECT count(*) AS events FROM events") -> bool:
    """Ask once; there is an answer, or the historian is told to be unavailable."""
    try:
        with server.client() as client:
            client.sql(statement)
    except PointsmanError as error:
        if error.code != "history_unavailable":
            raise
        return False
    return True


def tables_of(server: Server) -> dict[str, Rows]:
    with server.client() as client:
        asked = {each.name: client.sql(f"FROM {each.name}", rows_max=10_000) for each in TABLES}
    return {
        name: sorted((tuple(row.values()) for row in answer.table.to_pylist()), key=repr)
        for name, answer in asked.items()
    }


def kill_the_historian(server: Server, already: set[int]) -> None:
    """Kill the one that lives once the earlier ones are gone."""
    wait_until(lambda: set(of_kind("historian", server.data.path)) - already)
    for pid in of_kind("historian", server.data.path):
        os.kill(pid, signal.SIGKILL)
        already.add(pid)


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(600)
def test_a_server_works_on_while_its_historian_is_killed_and_its_tables_are_whole(
    tmp_path: Path,
) -> None:
    with Server(tmp_path) as server, ThreadPoolExecutor(1) as beside:
        runs, killed = [server.begin("undisturbed")], set[int]()
        server.until(runs[0], "awaiting_review")
        runs += [server.begin(f"disturbed-{number}") for number in range(3)]
        kill_the_historian(server, killed)
        for _ in range(2):
            wait_until(lambda: is_answered(server))
            kill_the_historian(server, killed)
            is_answered(server)
        for _ in range(2):
            wait_until(lambda: is_answered(server))
            under_way = beside.submit(is_answered, server, SLOW)
            wait_until(lambda: server.actors("_HistorianActor.call"))
            kill_the_historian(server, killed)
            assert not under_way.result()
        assert len(killed) == 5
        for run_id in runs:
            server.until(run_id, "awaiting_review")
            assert server.launches(run_id) == 4
        with server.client() as client:
            told = [trace_signature(client.trace(run_id)) for run_id in runs]
        assert told == [told[0]] * len(runs)
        wait_until(lambda: is_answered(server))
        before = tables_of(server)
        assert len(before["runs"]) == len(runs)
        with server.client() as client:
            client.rebuild_history()
        assert tables_of(server) == before
        assert "worker" not in server.said()
