"""Goal: the history is asked from the command line, and answered for people and for programs.

Method: the command line runs in this process on a real journal with one run that waits at its gate.
"""

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pointsman.graph.run import Run
from pointsman.runtime import history
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.sql_prompt import prompt
from pointsman.runtime.cli.terminal import Terminal
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.problems import PointsmanError
from pointsman.storage.history.tables import TABLES
from pointsman.storage.history.views import VIEWS
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.harness.core import RUN_ID
from tests.harness.history import ToldProcess, commit
from tests.harness.shell import Shell

USAGE, UNAVAILABLE = 2, 6


class Asked(Shell):
    """A shell on a journal with one run, which goes on when it is told."""

    def __init__(self, capsys: pytest.CaptureFixture[str], data: Path) -> None:
        super().__init__(capsys, data)
        self.directory = DataDirectory(data)
        self.process = ToldProcess()
        self._told: Run | None = None

    def rows(self, statement: str) -> list[dict[str, Any]]:
        assert self("sql", statement, "--json") == 0
        return [json.loads(line) for line in self.out.splitlines()]

    def tell(self) -> None:
        """Commit what the run has done since."""
        journal = LmdbJournal.open(self.directory.journal)
        done = self._told.version if self._told is not None else 0
        for events in self.process.transitions:
            if events[0].sequence >= done:
                self._told = commit(journal, self._told, events)
        journal.close()


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Asked:
    made = Asked(capsys, tmp_path / "data")
    made.process.work(data={"risk": "low"}).run_check(exit_code=0)
    made.tell()
    return made


def test_a_statement_sees_what_was_committed_before_it_was_asked(shell: Asked) -> None:
    state = "SELECT run_id, state FROM runs"
    assert shell.rows(state) == [{"run_id": RUN_ID, "state": "awaiting_review"}]
    shell.process.decide_gate()
    shell.tell()
    assert shell.rows(state) == [{"run_id": RUN_ID, "state": "completed"}]


def test_people_get_a_table_and_spreadsheets_a_csv(shell: Asked) -> None:
    statement = "SELECT node, number, NULL AS nothing FROM visits ORDER BY entered_at, visit_id"
    assert shell("sql", statement) == 0
    assert shell.out.splitlines()[0].split() == ["node", "number", "nothing"]
    assert shell.out.splitlines()[1].split() == ["implement", "1"]
    assert shell("sql", statement, "--format", "csv") == 0
    head, first, *_ = csv.reader(shell.out.splitlines())
    assert (head, first) == (["node", "number", "nothing"], ["implement", "1", ""])


def test_a_statement_may_stand_in_a_file(shell: Asked, tmp_path: Path) -> None:
    file = tmp_path / "query.sql"
    file.write_text("SELECT outcome FROM reports")
    assert shell("sql", "--file", str(file), "--json") == 0
    assert json.loads(shell.out) == {"outcome": "completed"}


def test_more_rows_than_asked_for_are_cut_and_that_is_said(shell: Asked) -> None:
    assert shell("sql", "FROM events", "--rows", "2", "--json") == 0
    assert len(shell.out.splitlines()) == 2
    assert "first 2 rows" in shell.err


def test_numbers_that_json_has_no_word_for_are_told_as_text(shell: Asked) -> None:
    told = shell.rows(
        "SELECT 2::HUGEINT ** 100 AS f, 9223372036854775808 AS big, 1.5::DECIMAL AS d"
    )
    assert told[0]["big"] == "9223372036854775808"
    assert told[0]["d"] == "1.500"


@pytest.mark.parametrize(
    "statement, code",
    [("DROP TABLE runs", "sql_refused"), ("SELEC", "sql_failed"), ("FROM secrets", "sql_refused")],
)
def test_what_is_not_answered_says_why_and_what_to_do(
    shell: Asked, statement: str, code: str
) -> None:
    assert shell("sql", statement) == USAGE
    assert code in shell.err
    assert "What to do" in shell.err
    assert "Traceback" not in shell.err


def test_one_thing_is_asked_at_a_time(shell: Asked) -> None:
    assert shell("sql", "SELECT 1", "--schema", "all") == USAGE
    assert "give one of a statement, --file and --schema" in shell.err


def test_a_statement_may_come_from_another_program(
    shell: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT state FROM runs"))
    assert shell("sql", "--json") == 0
    assert json.loads(shell.out) == {"state": "awaiting_review"}


def test_in_a_terminal_statements_are_asked_one_after_the_other(
    shell: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(
        shell,
        "SELECT state",
        "FROM runs;",
        "SELECT nothing;",
        r"\d visits",
        r"\help",
        KeyboardInterrupt(),
        ";",
        "SELECT 40 + 2 AS answer;",
    )
    out, err = capsys.readouterr()
    assert [word for word in ("awaiting_review", "entered_at", "42") if word not in out] == []
    assert "sql_failed" in err
    assert err.count("ended with a semicolon") == 2


@pytest.mark.parametrize("last", [r"\q", EOFError()])
def test_the_prompt_ends_when_it_is_told_to(shell: Asked, last: str | EOFError) -> None:
    assert typed(shell, "SELECT", last)


def typed(shell: Asked, *lines: str | BaseException) -> bool:
    """Type lines at the prompt; tell whether it took them all and ended well."""
    left = [*lines, EOFError()]

    def read(_: str) -> str:
        line = left.pop(0)
        if isinstance(line, BaseException):
            raise line
        return line

    call = Invocation(shell.directory, Terminal(json=False))
    return prompt(call, 100, read) == 0 and len(left) <= 1


def test_the_schema_documents_every_table_and_view(shell: Asked) -> None:
    assert shell("sql", "--schema", "all", "--json") == 0
    told = {each["name"]: each for each in map(json.loads, shell.out.splitlines())}
    assert set(told) == {each.name for each in (*TABLES, *VIEWS)}
    assert all(each["doc"] and each["columns"] for each in told.values())
    assert shell("sql", "--schema", "runs") == 0
    assert "definition_digest" in shell.out


def test_a_directory_without_any_run_has_an_empty_history(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert Asked(capsys, tmp_path / "new").rows("SELECT count(*) AS runs FROM runs") == [
        {"runs": 0}
    ]


def test_a_history_that_is_made_again_is_the_same(shell: Asked) -> None:
    before = shell.rows("FROM events ORDER BY sequence")
    assert shell("history", "rebuild") == 0
    assert shell.rows("FROM events ORDER BY sequence") == before


def test_a_damaged_history_is_replaced_without_a_word(shell: Asked) -> None:
    before = shell.rows("FROM runs")
    shell.directory.history.write_bytes(b"torn" * 10_000)
    assert shell.rows("FROM runs") == before


def test_an_export_beside_other_files_is_refused(shell: Asked, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    assert shell("history", "export", str(tmp_path / "mine")) != 0
    assert "history_refused" in shell.err
    assert shell("history", "export", str(tmp_path / "parquet")) == 0
    assert list((tmp_path / "parquet" / "runs").glob("**/*.parquet"))


def test_who_finds_the_history_in_use_for_long_is_told(
    shell: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_PATIENCE_S", 0.0)
    with history.opened(shell.directory):
        assert shell("sql", "FROM runs") != 0
        assert "history_in_use" in shell.err
        with pytest.raises(PointsmanError), history.opened(shell.directory):
            pass
    assert shell("sql", "FROM runs") == 0
