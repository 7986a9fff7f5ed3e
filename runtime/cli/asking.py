"""``sql`` and ``history``: rows for people, for spreadsheets and for programs.

A running server has the history, so it is asked; without one this process asks it itself.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pointsman.runtime import discovery
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.terminal import table
from pointsman.runtime.client import Client
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.wire.history import Form
from pointsman.storage.history.limits import Limits
from pointsman.storage.history.tables import TABLES
from pointsman.storage.history.views import VIEWS

if TYPE_CHECKING:  # which loads Arrow
    from pointsman.storage.history.answer import Answer

_ALL: Final = "all"


def statement_of(file: Path | None) -> str:
    """Read a statement from a file, else standard input; raises ``sql_refused`` for no text."""
    try:
        return sys.stdin.read() if file is None else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        where = file or "standard input"
        raise PointsmanError("sql_refused", f"{where} cannot be read: {error}") from error


def ask(call: Invocation, statement: str, rows_max: int, form: Form | None) -> int:
    """Answer one statement in a form, or as a table for people."""
    from pointsman.runtime import answers

    if form in (Form.ARROW, Form.PARQUET) and sys.stdout.isatty():
        raise PointsmanError("usage_invalid", f"{form} is no text: send it to a file with >")
    answer = _answer(call, statement, rows_max)
    if form is None:
        headings = dict.fromkeys(answer.table.column_names, "")
        call.terminal.show(table(headings, list(answers.cells_of(answer.table))))
    else:
        call.terminal.raw(answers.written(answer.table, form))
    if answer.cut:
        call.terminal.say(f"Only the first {answer.table.num_rows} rows; --rows N shows more.")
    return ExitCode.OK


def _answer(call: Invocation, statement: str, rows_max: int) -> "Answer":
    server = discovery.running_server(call.data)
    if server is not None:
        with Client(server.url, server.token) as client:
            return client.sql(statement, rows_max)
    from pointsman.runtime import history
    from pointsman.storage.history.memory import bounded_memory
    from pointsman.storage.history.sandbox import ask as ask_history

    with history.opened(call.data) as opened, bounded_memory():
        return ask_history(opened.connection(), statement, Limits(rows_max=rows_max))


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
    server = discovery.running_server(call.data)
    call.terminal.say("Copying the journal anew …", style="dim")
    if server is not None:
        with Client(server.url, server.token) as client:
            client.rebuild_history()
    else:
        from pointsman.runtime import history

        history.made_anew(call.data)
    call.terminal.say("The history was made again from the journal.")
    if call.terminal.json:
        call.terminal.document({"rebuilt": True})
    return ExitCode.OK


def export(call: Invocation, folder: Path) -> int:
    """Write Parquet files; what they hold is of one moment."""
    server = discovery.running_server(call.data)
    if server is not None:
        with Client(server.url, server.token) as client:
            client.export_history(folder)
    else:
        from pointsman.runtime import history
        from pointsman.storage.history.export import export as write_parquet

        with history.opened(call.data) as opened:
            write_parquet(opened, folder)
    call.terminal.say(f"Written to {folder}: a folder of Parquet files for each table.")
    if call.terminal.json:
        call.terminal.document({"folder": folder, "tables": [each.name for each in TABLES]})
    return ExitCode.OK
