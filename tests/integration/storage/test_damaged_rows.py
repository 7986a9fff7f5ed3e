"""Goal: a damaged row that follows from a run's events costs nothing, and no other run anything.

Method: two real runs in LMDB; behind the journal's back rows of one table are overwritten, and all
that the port tells is compared with what it told before.
"""

from pathlib import Path

import lmdb
import pytest

from pointsman.graph import commands as cmd
from pointsman.graph.evolve import fold
from pointsman.graph.projection import AttentionItem, AttentionKind
from pointsman.graph.work import NativeRequest, RequestKind, WorkPhase
from pointsman.storage.history.history import History
from pointsman.storage.history.sandbox import ask
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import JournalCorruptError
from pointsman.storage.keys import Table
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.harness.core import agent, workflow
from tests.harness.history import ToldProcess, commit, renamed

ONE, OTHER = (f"r0-{number:026d}" for number in (1, 2))
LATER_MS = 1 << 50
DERIVED = [Table.CHECKPOINTS, Table.RUNS, Table.OUTBOX, Table.DUE, Table.ATTENTION]


def asking() -> ToldProcess:
    """Return a run whose agent asks twice: one answer is on its way, the other is waited for."""
    step = agent("done", answer_within="4h")
    process = ToldProcess(workflow(entry="work", nodes={"work": step, "done": {"kind": "end"}}))
    process.launch()
    asked = tuple(
        NativeRequest(
            request_id=name, kind=RequestKind.APPROVAL, question="May I?", answerable="live"
        )
        for name in ("one", "two")
    )
    process.observe(pending_requests=asked, phase=WorkPhase.WAITING_INPUT)
    process.send(
        cmd.AnswerNativeRequest(
            attempt_id=process.attempt.attempt_id, request_id="one", allow=True, answered_by="ann"
        )
    )
    return process


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    journal = LmdbJournal.open(tmp_path)
    for run_id in (ONE, OTHER):
        after = None
        for events in renamed(asking().transitions, run_id):
            after = commit(journal, after, events)
    journal.close()
    return tmp_path


def overwrite(folder: Path, table: Table, wanted: str) -> int:
    """Overwrite a table's rows of a run; return how many there were."""
    with lmdb.open(str(folder), max_dbs=len(Table)) as env:
        handle = env.open_db(table.encode())
        with env.begin(write=True, db=handle) as txn:
            found = [key for key, _ in txn.cursor() if wanted.encode() in key]
            for key in found:
                txn.put(key, b"rot")
            return len(found)


def trouble(run_id: str) -> AttentionItem:
    return AttentionItem(
        item_id=f"{run_id}:trouble",
        run_id=run_id,
        kind=AttentionKind.RUN_IN_TROUBLE,
        node="",
        title="Pointsman cannot go on with this run",
        detail="It raises.",
        since_ms=1,
    )


def told(journal: Journal, run_id: str) -> list[object]:
    """Return all that a journal tells of a run by itself."""
    of_run = (journal.run(run_id), journal.summary(run_id), journal.outbox(run_id))
    return [*of_run, journal.events(run_id)]


def listed(journal: Journal) -> list[object]:
    """Return all that a journal tells of all runs."""
    lists = (journal.runs(), journal.attention(), journal.due(LATER_MS), journal.active_runs())
    return [*lists, journal.next_deadline_ms()]


@pytest.mark.parametrize("table", DERIVED)
def test_a_damaged_row_that_follows_from_events_is_read_from_them(
    folder: Path, table: Table
) -> None:
    journal = LmdbJournal.open(folder)
    before = [*told(journal, ONE), *listed(journal)]
    journal.close()
    assert overwrite(folder, table, ONE)
    journal = LmdbJournal.open(folder)
    assert [*told(journal, ONE), *listed(journal)] == before
    assert journal.damaged_rows()
    journal.close()


@pytest.mark.parametrize("table", DERIVED)
def test_the_next_commit_writes_what_was_damaged_anew(folder: Path, table: Table) -> None:
    overwrite(folder, table, ONE)
    journal = LmdbJournal.open(folder)
    run = journal.run(ONE)
    process = asking()
    process.cancel()
    further = renamed(process.transitions, ONE)
    for events in further:
        if run is not None and events[0].sequence >= run.version:
            run = commit(journal, run, events)
    assert journal.damaged_rows() == ()
    assert journal.run(ONE) == fold(journal.events(ONE))
    journal.close()


def test_a_run_whose_events_are_damaged_too_hides_no_other(folder: Path) -> None:
    for table in (*DERIVED, Table.EVENTS):
        assert overwrite(folder, table, ONE)
    journal = LmdbJournal.open(folder)
    for read in (journal.run, journal.summary, journal.outbox, journal.events):
        with pytest.raises(JournalCorruptError):
            read(ONE)
    assert {each.run_id for each in journal.runs()} == {OTHER}
    assert {each.run_id for each in journal.attention()} == {OTHER}
    assert {each.run_id for each in journal.due(LATER_MS)} == {OTHER}
    journal.close()


def test_a_damaged_trouble_keeps_nobody_from_the_others_and_is_told_anew(folder: Path) -> None:
    journal = LmdbJournal.open(folder)
    items = [trouble(run_id) for run_id in (ONE, OTHER)]
    for item in items:
        journal.note_trouble(item)
    journal.close()
    assert overwrite(folder, Table.TROUBLES, ONE)
    journal = LmdbJournal.open(folder)
    assert journal.troubles() == (items[1],)
    journal.note_trouble(items[0])
    assert journal.troubles() == tuple(items)
    assert journal.damaged_rows() == ()
    journal.close()


def test_a_damaged_event_stands_in_the_history_as_one_and_hides_no_other(
    folder: Path, tmp_path: Path
) -> None:
    damaged = overwrite(folder, Table.EVENTS, ONE)
    journal = LmdbJournal.open(folder)
    history = History.open(tmp_path / "history.duckdb")
    history.take("0", journal)
    query = "SELECT run_id, kind = 'damaged' AS damaged, count(*) AS n FROM events GROUP BY ALL"
    told = ask(history.connection(), f"{query} ORDER BY run_id").table.to_pylist()
    assert told == [
        {"run_id": ONE, "damaged": True, "n": damaged},
        {"run_id": OTHER, "damaged": False, "n": damaged},
    ]
    runs = ask(history.connection(), "SELECT run_id FROM visits").table.to_pylist()
    assert runs == [{"run_id": OTHER}]
    history.close()
    journal.close()
