"""Goal: SQL that anybody may have written reads the history, and does nothing else.

Method: hostile statements on a real history beside a secret file; each is refused or bounded, and
the history answers as before.
"""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from duckdb import DuckDBPyConnection

from pointsman.graph.run import Run
from pointsman.storage.history.errors import SqlFailedError, SqlRefusedError, SqlTooLongError
from pointsman.storage.history.history import History
from pointsman.storage.history.limits import STATEMENT_CHARS_MAX, Limits
from pointsman.storage.history.memory import bounded_memory
from pointsman.storage.history.sandbox import ask
from pointsman.storage.history.tables import TABLES
from pointsman.storage.history.views import VIEWS
from pointsman.storage.memory_journal import MemoryJournal
from tests.harness.history import ToldProcess, commit, everything

SECRET = "a secret of this machine"
SHORT = Limits(seconds_max=0.5, rows_max=10)

REFUSED = (
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE runs",
    "",
    "-- nothing but a comment",
    "COPY runs TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{folder}/out.parquet' (FORMAT parquet)",
    "COPY runs FROM '{secret}'",
    "ATTACH '{folder}/other.duckdb'",
    "ATTACH '{folder}/other.duckdb' AS other (READ_ONLY)",
    "DETACH history",
    "USE memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '100GB'",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "PRAGMA database_list",
    "PRAGMA enable_profiling",
    "CALL pragma_version()",
    "EXPORT DATABASE '{folder}/all'",
    "IMPORT DATABASE '{folder}/all'",
    "CREATE TABLE t (a INTEGER)",
    "CREATE TEMP TABLE t AS SELECT 1",
    "CREATE OR REPLACE VIEW runs AS SELECT 1",
    "CREATE MACRO f() AS TABLE SELECT 1",
    "CREATE SECRET s (TYPE s3)",
    "INSERT INTO runs SELECT * FROM runs",
    "UPDATE runs SET state = 'completed'",
    "DELETE FROM runs",
    "TRUNCATE runs",
    "DROP TABLE runs",
    "ALTER TABLE runs ADD COLUMN mine INTEGER",
    "BEGIN TRANSACTION",
    "CHECKPOINT",
    "VACUUM",
    "PREPARE q AS SELECT 1",
    "EXECUTE q",
    "EXPLAIN ANALYZE DELETE FROM runs",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{secret}')",
    "SELECT * FROM read_json_auto('{secret}')",
    "SELECT * FROM read_parquet('{secret}')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM parquet_metadata('{secret}')",
    "SELECT * FROM glob('/etc/*')",
    "FROM '{secret}'",
    'SELECT * FROM "{secret}"',
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM pragma_table_info('runs')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('cursors')",
    "SELECT * FROM json_execute_serialized_sql('x')",
    "SELECT * FROM cursors",
    "SELECT * FROM main.runs",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM pg_catalog.pg_tables",
    "SELECT * FROM sqlite_master",
    "SHOW TABLES",
    "WITH mine AS (SELECT * FROM read_csv('{secret}')) SELECT * FROM mine",
    "WITH gone AS (DELETE FROM runs RETURNING 1) FROM gone",
    "WITH new AS (UPDATE runs SET state = 'failed' RETURNING 1) FROM new",
    "WITH more AS (INSERT INTO cursors VALUES ('0', 7) RETURNING 1) FROM more",
    "WITH more AS (INSERT INTO runs (run_id) VALUES ('r') RETURNING 1) FROM more",
    "SELECT * FROM (WITH gone AS (DELETE FROM runs RETURNING 1) FROM gone)",
    "SELECT 1 WHERE 1 IN (WITH gone AS (DELETE FROM runs RETURNING 1) FROM gone)",
    "WITH out AS (COPY runs TO '{folder}/out.csv') SELECT 1",
    "SELECT (SELECT count(*) FROM glob('/*'))",
    "SELECT * FROM runs WHERE run_id IN (SELECT content FROM read_text('{secret}'))",
    "SELECT * FROM cursors, (WITH cursors AS (SELECT 1 AS a) SELECT a FROM cursors) t",
    "SELECT * FROM sqlite_master, (WITH sqlite_master AS (SELECT 1) FROM sqlite_master) t",
    "SELECT * FROM Pragma_Database_List, (WITH pragma_database_list AS (SELECT 1) SELECT 2) t",
    "WITH a AS (FROM duckdb_views), duckdb_views AS (SELECT 1) SELECT count(*) FROM a",
    "SELECT * FROM history",
    "SELECT json_serialize_plan('SELECT current_setting(''memory_limit'')', optimize := true)",
    "SELECT getenv('HOME')",
    "SELECT current_setting('memory_limit')",
    "SELECT repeat('x', 10000000000)",
    "SELECT " + "1 + " * STATEMENT_CHARS_MAX + "1",
)
# What is refused, and a word of what to do instead.
INSTEAD = (
    ("PIVOT runs ON state USING count(*)", "PIVOT without its values is refused", "ON state IN"),
    ("/* all */ pivot runs ON state", "PIVOT without its values is refused", "ON state IN"),
    ("COPY runs TO 'runs.csv'", "COPY is refused", "history export"),
    ("EXPLAIN SELECT 1", "EXPLAIN is refused", "ask the statement itself"),
    ("SET threads = 1", "SET is refused", "a DuckDB of your own"),
    ("-- soon\nCHECKPOINT", "CHECKPOINT is refused", "a DuckDB of your own"),
    ("CREATE TABLE t (a INTEGER)", "CREATE is refused", "with WITH"),
    ("WITH a AS (FROM runs) DELETE FROM runs", "DELETE is refused", "with WITH"),
    ("WITH a AS (DELETE FROM runs) SELECT 1", "DELETE is refused", "in WITH too"),
    ("SHOW TABLES", "the tables are listed", "pointsman sql --schema"),
)
FAILED = (
    "SELEC 1",
    "SELECT no_such_column FROM runs",
    "SELECT no_such_function(1)",
    "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    "SELECT list(range) FROM range(10000000000)",
    "SELECT run_id::INTEGER FROM runs",
    "SELECT \x00 FROM runs",
)
ENDLESS = (
    "SELECT sum(a.range * b.range) FROM range(1000000000) a, range(100000) b",
    "WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM t) SELECT max(a) FROM t",
    "SELECT count(*) FROM range(1000000000000)",
)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    journal, process = MemoryJournal(), ToldProcess()
    process.work(data={"risk": "low"})
    after: Run | None = None
    for events in process.transitions:
        after = commit(journal, after, events)
    made = History.open(tmp_path / "history.duckdb", memory_max_mb=128)
    made.take("0", journal)
    yield made
    made.close()


def answered(connection: DuckDBPyConnection, statement: str) -> list[dict[str, object]]:
    return list(ask(connection, statement).table.to_pylist())


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    made = tmp_path / "secret.csv"
    made.write_text(SECRET)
    return made


@pytest.mark.parametrize("statement", REFUSED, ids=lambda each: each[:40])
def test_what_is_no_reading_of_the_history_is_refused(
    history: History, secret: Path, statement: str
) -> None:
    before = everything(history)
    files = set(secret.parent.iterdir())
    asked = statement.replace("{secret}", str(secret)).replace("{folder}", str(secret.parent))
    with pytest.raises((SqlRefusedError, SqlFailedError)) as refused:
        ask(history.connection(), asked, SHORT)
    assert SECRET not in str(refused.value)
    assert everything(history) == before
    assert set(secret.parent.iterdir()) == files


@pytest.mark.parametrize("statement, refused, instead", INSTEAD, ids=lambda each: each[:40])
def test_a_refusal_says_what_was_refused_and_what_to_do_instead(
    history: History, statement: str, refused: str, instead: str
) -> None:
    with pytest.raises(SqlRefusedError) as told:
        ask(history.connection(), statement, SHORT)
    assert str(told.value).startswith(refused)
    assert instead in str(told.value)


@pytest.mark.parametrize(
    "statement",
    [
        "PIVOT runs ON state IN ('running', 'failed') USING count(*)",
        "UNPIVOT runs ON state",
        "SUMMARIZE runs",
        "VALUES (1)",
        "WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM t WHERE a < 3) FROM t",
        "(FROM runs) UNION ALL (FROM runs)",
    ],
)
def test_what_only_reads_is_answered_however_it_begins(history: History, statement: str) -> None:
    assert answered(history.connection(), statement)


@pytest.mark.parametrize("statement", FAILED, ids=lambda each: each[:40])
def test_what_cannot_be_answered_fails_with_the_reason_and_harms_nothing(
    history: History, statement: str
) -> None:
    connection = history.connection()
    with pytest.raises((SqlFailedError, SqlTooLongError)):
        ask(connection, statement, SHORT)
    assert answered(connection, "SELECT count(*) AS n FROM runs") == [{"n": 1}]


@pytest.mark.parametrize("statement", ENDLESS, ids=lambda each: each[:40])
def test_what_would_not_end_is_ended_and_the_next_is_answered(
    history: History, statement: str
) -> None:
    connection = history.connection()
    with pytest.raises(SqlTooLongError, match="longer than"):
        ask(connection, statement, SHORT)
    assert answered(connection, "SELECT count(*) AS n FROM runs") == [{"n": 1}]


def test_an_answer_without_end_is_cut_and_says_so(history: History) -> None:
    answer = ask(history.connection(), "SELECT * FROM range(1000000000000)", SHORT)
    assert (answer.table.num_rows, answer.cut) == (SHORT.rows_max, True)


def test_as_many_rows_as_may_be_are_no_cut(history: History) -> None:
    answer = ask(history.connection(), f"FROM range({SHORT.rows_max})", SHORT)
    assert (answer.table.num_rows, answer.cut) == (SHORT.rows_max, False)


def test_an_answer_of_large_texts_is_cut_at_its_bytes(history: History) -> None:
    query = "SELECT printf('%1000d', i) AS text FROM range(100) AS t(i)"
    answer = ask(history.connection(), query, Limits(bytes_max=20_000))
    assert answer.cut
    assert 5 <= answer.table.num_rows <= 20
    with pytest.raises(SqlFailedError, match="one row alone has more than 100 bytes"):
        ask(history.connection(), query, Limits(bytes_max=100))


def test_columns_of_one_name_are_told_apart(history: History) -> None:
    answer = ask(history.connection(), "SELECT 1 AS n, 2 AS n")
    assert answer.table.to_pylist() == [{"n": 1, "n (2)": 2}]


@pytest.mark.parametrize("name", [each.name for each in (*TABLES, *VIEWS)])
def test_every_table_and_view_can_be_read_and_described(history: History, name: str) -> None:
    (described,) = [each for each in (*TABLES, *VIEWS) if each.name == name]
    columns = tuple(column for column, _ in described.meanings)
    assert tuple(ask(history.connection(), f"FROM {name}").table.column_names) == columns
    assert answered(history.connection(), f"DESCRIBE {name}")


def test_a_statement_may_name_its_own_parts(history: History) -> None:
    query = "WITH mine AS (FROM runs) SELECT m.state, u FROM mine m, unnest([1, 2]) AS t(u)"
    assert len(answered(history.connection(), query)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "printf('%2000000000d', 1)",
        "format('{:>2000000000}', 1)",
        "replace(printf('%100000d', 1), ' ', printf('%100000d', 1))",
    ],
)
def test_a_text_of_gigabytes_fails_at_once_where_memory_is_bounded(
    history: History, text: str
) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with bounded_memory():
        with pytest.raises(SqlFailedError):
            ask(history.connection(), f"SELECT length({text}) AS n")
        assert answered(history.connection(), "SELECT count(*) AS n FROM runs") == [{"n": 1}]
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
