"""Asking the history in SQL that anybody may have written: one statement that only reads.

Three fences stand one behind the other. DuckDB itself reaches no file, loads no extension and takes
no setting, as the history was opened that way and locked. Each statement runs in a transaction that
cannot write. And before it runs, it is parsed by DuckDB's own parser and refused unless it is a
single SELECT over the history's tables and views: an allow-list, since what a later DuckDB can do
beyond reading is not known today.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import duckdb
import pyarrow as pa

from pointsman.storage.history.answer import Answer
from pointsman.storage.history.errors import SqlFailedError, SqlRefusedError, SqlTooLongError
from pointsman.storage.history.instead import ONLY_READ, refusal
from pointsman.storage.history.limits import STATEMENT_CHARS_MAX, Limits
from pointsman.storage.history.tables import TABLES
from pointsman.storage.history.views import VIEWS

_ROWS_AT_ONCE: Final = 1_000
_READABLE: Final = frozenset(each.name for each in (*TABLES, *VIEWS))
# What a query may be made of: a WITH may also write.
_QUERIES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
# Make rows of what the statement itself says, and of nothing outside it.
_TABLE_FUNCTIONS: Final = frozenset(
    {"unnest", "range", "generate_series", "json_each", "json_tree"}
)
# Tell of the process and its settings, keep something beyond the statement, or make one text of
# any size, which no limit of memory counts.
_FORBIDDEN_FUNCTIONS: Final = frozenset(
    {"current_setting", "getenv", "getvariable", "nextval", "currval", "write_log"}
    | {"json_serialize_plan", "repeat", "lpad", "rpad"}
)


def ask(
    connection: duckdb.DuckDBPyConnection, statement: str, limits: Limits | None = None
) -> Answer:
    """Answer one statement on a connection of its own.

    Raises ``SqlRefusedError``, ``SqlFailedError`` or ``SqlTooLongError``; the history is as it was
    then, and the connection can be asked again.
    """
    limits = limits or Limits()
    demand_readable(connection, statement)
    with _bounded(connection, limits.seconds_max) as bound, _only_reading(connection):
        try:
            with connection.sql(statement).to_arrow_reader(_ROWS_AT_ONCE) as reader:
                return _taken(reader, limits)
        except duckdb.InterruptException as error:
            raise _too_long(limits) from error
        except (duckdb.Error, pa.ArrowException, OSError, MemoryError) as error:
            if bound.is_over:
                raise _too_long(limits) from error
            raise SqlFailedError(str(error) or "out of memory") from error


def _taken(reader: pa.RecordBatchReader, limits: Limits) -> Answer:
    """Take rows until there are no more, or as many as may be answered."""
    batches, rows, size, cut = list[pa.RecordBatch](), 0, 0, False
    for batch in reader:
        within = batch.slice(0, limits.rows_max - rows)
        while within.num_rows and size + within.nbytes > limits.bytes_max:
            within = within.slice(0, within.num_rows // 2)
        batches.append(within)
        rows, size = rows + within.num_rows, size + within.nbytes
        if cut := within.num_rows < batch.num_rows:
            break
    if cut and not rows:
        raise SqlFailedError(f"one row alone has more than {limits.bytes_max} bytes")
    table = pa.Table.from_batches(batches, reader.schema)
    return Answer(table.rename_columns(_told_apart(table.column_names)), cut)


def _told_apart(columns: Sequence[str]) -> list[str]:
    """Number what a statement names twice: a heading each."""
    return [
        name if name not in columns[:place] else f"{name} ({place + 1})"
        for place, name in enumerate(columns)
    ]


def demand_readable(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Refuse everything but one SELECT over the history's own tables and views."""
    if len(statement) > STATEMENT_CHARS_MAX:
        raise SqlRefusedError(f"the statement is longer than {STATEMENT_CHARS_MAX} characters")
    try:
        found = duckdb.extract_statements(statement)
        if len(found) != 1:
            raise SqlRefusedError(f"one statement is asked at a time, and these are {len(found)}")
        if found[0].type is not duckdb.StatementType.SELECT:
            raise SqlRefusedError(refusal(statement, found[0].type))
        parsed = _parsed(connection, statement)
    except duckdb.Error as error:
        raise SqlFailedError(str(error)) from error
    names = {entry["key"].lower() for node in _nodes(parsed) for entry in _named_queries(node)}
    # Elsewhere in the statement the same name would still mean what DuckDB itself has under it.
    if hidden := names & (_relations(connection) - _READABLE):
        raise SqlRefusedError(f"WITH may not name {min(hidden)!r}: choose another name")
    for node in _nodes(parsed):
        _demand_of_node(node, _READABLE | names)


def _relations(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the names of all tables and views that there are, DuckDB's own among them."""
    query = "SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views()"
    return {str(name).lower() for (name,) in connection.execute(query).fetchall()}


def _parsed(connection: duckdb.DuckDBPyConnection, statement: str) -> Any:
    row = connection.execute("SELECT json_serialize_sql(?)", [statement]).fetchone()
    assert row is not None, "a SELECT without FROM has one row"
    parsed = json.loads(row[0])
    if parsed["error"]:
        raise SqlRefusedError(parsed["error_message"])
    return parsed["statements"]


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a parsed statement; a loop, as a statement may be nested deeply."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            yield node
            left.extend(node.values())
        elif isinstance(node, list):
            left.extend(node)


def _named_queries(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a WITH clause names; such a name may stand where a table's may."""
    named = node.get("cte_map")
    return named["map"] if isinstance(named, dict) else []


def _demand_of_node(node: dict[str, Any], readable: frozenset[str]) -> None:
    match node:
        case {"type": str(kind), "cte_map": _} if kind not in _QUERIES:
            raise SqlRefusedError(f"{kind.partition('_')[0]} is refused, in WITH too: {ONLY_READ}")
        case {"type": "BASE_TABLE", "qualified_name": {"path": path}}:
            # Without a schema in front: elsewhere, a table of ours might be another one.
            if len(path) != 1 or path[0].lower() not in readable:
                raise SqlRefusedError(f"there is no table {'.'.join(path)!r} in the history")
        case {"type": "SHOW_REF", "query": None}:
            raise SqlRefusedError("the tables are listed by `pointsman sql --schema`")
        case {"type": "TABLE_FUNCTION", "function": {"function_name": name}}:
            if name.lower() not in _TABLE_FUNCTIONS:
                raise SqlRefusedError(f"the table function {name!r} is not answered")
        case {"class": "FUNCTION", "function_name": str(name)}:
            if name.lower() in _FORBIDDEN_FUNCTIONS:
                raise SqlRefusedError(f"the function {name!r} is not answered")
        case _:
            return


@contextmanager
def _only_reading(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let nothing that is asked on the connection change the history."""
    connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        yield
    finally:
        connection.rollback()


class _Bound:
    """Whether a statement's time is over."""

    is_over = False


@contextmanager
def _bounded(connection: duckdb.DuckDBPyConnection, seconds_max: float) -> Iterator[_Bound]:
    """Interrupt what the connection does when its time is over."""
    bound, done = _Bound(), threading.Event()

    def watch() -> None:
        if done.wait(seconds_max):
            return
        bound.is_over = True
        # Again and again: between two batches of rows there is nothing to interrupt.
        while not done.wait(0.05):
            connection.interrupt()

    watcher = threading.Thread(target=watch, name="sql-time", daemon=True)
    watcher.start()
    try:
        yield bound
    finally:
        done.set()
        watcher.join()


def _too_long(limits: Limits) -> SqlTooLongError:
    return SqlTooLongError(f"the statement took longer than {limits.seconds_max:g} seconds")
