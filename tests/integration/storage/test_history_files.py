"""Goal: the history's file may be lost or foreign, and its export is read by a plain DuckDB."""

from pathlib import Path

import duckdb
import pytest

from pointsman.graph.run import Run
from pointsman.storage.history.errors import HistoryError
from pointsman.storage.history.export import export
from pointsman.storage.history.history import History
from pointsman.storage.history.tables import TABLES
from pointsman.storage.memory_journal import MemoryJournal
from tests.harness.history import ToldProcess, commit, everything


@pytest.fixture
def journal() -> MemoryJournal:
    made = MemoryJournal()
    process = ToldProcess()
    process.work(data={"risk": "low"})
    process.run_check()
    after: Run | None = None
    for events in process.transitions:
        after = commit(made, after, events)
    return made


def test_a_file_that_is_no_history_is_replaced_and_filled_again(
    journal: MemoryJournal, tmp_path: Path
) -> None:
    whole = History.open(tmp_path / "whole.duckdb")
    whole.take("0", journal)
    (tmp_path / "foreign.duckdb").write_bytes(b"no database" * 1000)
    again = History.open(tmp_path / "foreign.duckdb")
    assert again.behind("0", journal) == journal.last_position()
    again.take("0", journal)
    assert again.take("0", journal) == 0
    assert everything(again) == everything(whole)
    whole.close()
    again.close()


def test_an_export_is_read_by_a_plain_duckdb_while_the_history_is_open(
    journal: MemoryJournal, tmp_path: Path
) -> None:
    history = History.open(tmp_path / "history.duckdb")
    taken = history.take("0", journal)
    for _ in range(2):
        export(history, tmp_path / "out")
        query = f"SELECT count(*) FROM '{tmp_path}/out/events/*/*.parquet'"
        assert duckdb.connect().execute(query).fetchall() == [(taken,)]
    history.close()


def test_an_export_has_every_table_also_those_without_rows(
    journal: MemoryJournal, tmp_path: Path
) -> None:
    history = History.open(tmp_path / "history.duckdb")
    history.take("0", journal)
    export(history, tmp_path / "out")
    for table in TABLES:
        query = f"FROM read_parquet('{tmp_path}/out/{table.name}/**/*.parquet')"
        found = {each[0] for each in duckdb.connect().execute(query).description or ()}
        assert {each.name for each in table.columns} <= found
    history.close()


def test_an_export_leaves_a_folder_with_other_files_alone(
    journal: MemoryJournal, tmp_path: Path
) -> None:
    history = History.open(tmp_path / "history.duckdb")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter.txt").write_text("mine")
    with pytest.raises(HistoryError, match="other files"):
        export(history, tmp_path / "out")
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["letter.txt"]
    history.close()
