"""Goal: a journal of before there were schedules is read, and gets them when it is written."""

from pathlib import Path

import lmdb

from pointsman.storage.keys import Table
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.contract.test_schedule_store import a_schedule, put
from tests.harness.journals import run_id, start

ONE = run_id(1)
LATER_TABLES = [table for table in Table if table.startswith(("schedules", "occurrences"))]


def an_older_journal(folder: Path) -> None:
    journal = LmdbJournal.open(folder)
    start(journal, ONE)
    journal.close()
    with lmdb.open(str(folder), max_dbs=len(Table)) as env:
        for table in LATER_TABLES:
            opened = env.open_db(table.encode(), create=False)
            with env.begin(write=True) as txn:
                txn.drop(opened)


def test_an_older_journal_is_read_without_being_changed(tmp_path: Path) -> None:
    an_older_journal(tmp_path)
    before = (tmp_path / "data.mdb").read_bytes()
    journal = LmdbJournal.open(tmp_path, read_only=True)
    assert journal.run(ONE) is not None
    assert journal.schedules.schedules() == ()
    assert journal.schedules.occurrences("nightly") == ()
    assert journal.schedules.pending() == ()
    assert journal.schedules.due(10**15) == ()
    journal.close()
    assert (tmp_path / "data.mdb").read_bytes() == before


def test_an_older_journal_keeps_schedules_once_it_is_written(tmp_path: Path) -> None:
    an_older_journal(tmp_path)
    journal = LmdbJournal.open(tmp_path)
    put(journal, a_schedule())
    journal.close()
    journal = LmdbJournal.open(tmp_path)
    assert journal.schedules.schedules() == (a_schedule(),)
    assert journal.run(ONE) is not None
    journal.close()
