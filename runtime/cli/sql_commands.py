"""The commands that ask the history in SQL, and their options, in the words of ``--help``.

``app`` is the whole command line: ``care_commands`` with these on top.
"""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pointsman.runtime.cli.care_commands import app
from pointsman.runtime.cli.options import Data, Json, called
from pointsman.storage.history.limits import ROWS_MAX

__all__ = ["app"]

history = typer.Typer(
    name="history",
    help="Take care of what `pointsman sql` asks: a copy of the journal.",
    rich_markup_mode=None,
    no_args_is_help=True,
)
app.add_typer(history)


class Format(StrEnum):
    """How rows are written, by the public names: as a table for people, or in one of the forms."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    ARROW = "arrow"
    PARQUET = "parquet"


@app.command()
def sql(
    context: typer.Context,
    statement: Annotated[
        str | None, typer.Argument(metavar="[STATEMENT]", help="One SELECT, in DuckDB's SQL.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="PATH", help="Read the statement from a file.")
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option("--schema", metavar="TABLE", help="Tell a table's columns; 'all' lists all."),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How rows are written.")] = Format.TABLE,
    rows_max: Annotated[
        int, typer.Option("--rows", metavar="N", min=1, max=ROWS_MAX, help="How many rows at most.")
    ] = 1_000,
    data: Data = None,
    json: Json = False,
) -> int:
    """Ask the history of all runs in SQL; nothing can be changed.

    Without a statement it is read from standard input; in a terminal, one after the other.
    """
    if sum(each is not None for each in (statement, file, schema)) > 1:
        raise typer.BadParameter("give one of a statement, --file and --schema", context)
    from pointsman.runtime.cli import asking
    from pointsman.runtime.wire.history import Form

    form = Format.JSON if json else form
    call = called(context, data, json=form is Format.JSON)
    if schema is not None:
        return asking.tell_schema(call, schema)
    if statement is None and file is None and sys.stdin.isatty() and form is Format.TABLE:
        from pointsman.runtime.cli.sql_prompt import prompt

        return prompt(call, rows_max)
    asked = statement if statement is not None else asking.statement_of(file)
    return asking.ask(call, asked, rows_max, None if form is Format.TABLE else Form(form))


@history.command("rebuild")
def rebuild(context: typer.Context, data: Data = None, json: Json = False) -> int:
    """Make the history again from the journal."""
    from pointsman.runtime.cli import asking

    return asking.rebuild(called(context, data, json=json))


@history.command("export")
def export(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new, empty or earlier folder.")],
    data: Data = None,
    json: Json = False,
) -> int:
    """Write all tables as Parquet, for any tool that reads it."""
    from pointsman.runtime.cli import asking

    return asking.export(called(context, data, json=json), folder)
