"""``sql`` and ``history``: rows for people, for spreadsheets and for programs."""

import csv
import sys
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from pointsman.runtime import history
from pointsman.runtime.cli.exit_codes import ExitCode
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.terminal import table
from pointsman.runtime.problems import PointsmanError
from pointsman.storage.history.export import export as write_parquet
from pointsman.storage.history.sandbox import Limits
from pointsman.storage.history.sandbox import ask as ask_history
from pointsman.storage.history.tables import TABLES
from pointsman.storage.history.views import VIEWS

_ALL: Final = "all"
_INTEGER_MAX: Final = 2**63


def statement_of(file: Path) -> str:
    """Read a statement; raises ``sql_refused`` for what is no text."""
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PointsmanError("sql_refused", f"{file} cannot be read: {error}") from error


def ask(call: Invocation, statement: str, rows_max: int, *, as_csv: bool) -> int:
    """Answer one statement; programs get an object a row, one a line."""
    with history.opened(call.data) as opened:
        answer = ask_history(opened.connection(), statement, Limits(rows_max=rows_max))
    if call.terminal.json:
        for row in answer.rows:
            call.terminal.row(dict(zip(answer.columns, map(_for_programs, row), strict=True)))
    elif as_csv:
        _write_csv(answer.columns, answer.rows)
    else:
        shown = [[_for_people(value) for value in row] for row in answer.rows]
        call.terminal.show(table(dict.fromkeys(_told_apart(answer.columns), ""), shown))
    if answer.cut:
        call.terminal.say(f"Only the first {len(answer.rows)} rows; --rows N shows more.")
    return ExitCode.OK


def tell_schema(call: Invocation, name: str) -> int:
    """Tell what the tables and views hold, or one of them column by column."""
    documented = {each.name: (each.doc, each.meanings) for each in (*TABLES, *VIEWS)}
    if name != _ALL and name not in documented:
        raise PointsmanError("sql_refused", f"there is no table {name!r} in the history")
    if call.terminal.json:
        for each, (doc, columns) in documented.items():
            if name in (_ALL, each):
                told = [{"name": one, "doc": two} for one, two in columns]
                call.terminal.row({"name": each, "doc": doc, "columns": told})
    elif name == _ALL:
        rows = [(each, doc) for each, (doc, _) in documented.items()]
        call.terminal.show(table({"table": "bold", "a row, or what it answers": ""}, rows))
    else:
        doc, columns = documented[name]
        call.terminal.show(doc)
        call.terminal.show(table({"column": "bold", "meaning": ""}, columns))
    return ExitCode.OK


def rebuild(call: Invocation) -> int:
    """Make the history again; the earlier one is asked until the new one is whole."""
    history.made_anew(call.data)
    call.terminal.say("The history was made again from the journal.")
    if call.terminal.json:
        call.terminal.document({"rebuilt": True})
    return ExitCode.OK


def export(call: Invocation, folder: Path) -> int:
    """Write Parquet files; what they hold is of one moment."""
    with history.opened(call.data) as opened:
        write_parquet(opened, folder)
    call.terminal.say(f"Written to {folder}: a folder of Parquet files for each table.")
    if call.terminal.json:
        call.terminal.document({"folder": folder, "tables": [each.name for each in TABLES]})
    return ExitCode.OK


def _told_apart(columns: Sequence[str]) -> list[str]:
    """Number what a statement names twice: a heading each."""
    return [
        name if name not in columns[:place] else f"{name} ({place + 1})"
        for place, name in enumerate(columns)
    ]


def _write_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_for_people(value) for value in row] for row in rows)


def _for_people(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:g}"
        case datetime():
            return value.isoformat(" ", "milliseconds")
        case _:
            return str(value)


def _for_programs(value: Any) -> Any:
    """Return what JSON has a word for; times in ISO 8601, all else as its text."""
    match value:
        case None | bool() | float() | str():
            return value
        case int():
            return value if -_INTEGER_MAX <= value < _INTEGER_MAX else str(value)
        case datetime() | date():
            return value.isoformat()
        case list() | tuple():
            return [_for_programs(each) for each in value]
        case dict():
            return {str(key): _for_programs(each) for key, each in value.items()}
        case _:
            return str(value)
