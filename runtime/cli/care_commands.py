"""The commands that take care of a data directory, and their options, in the words of ``--help``.

``app`` is the whole command line: ``schedule_commands`` with these on top.
"""

from pathlib import Path
from typing import Annotated

import typer

from pointsman.runtime.cli.options import Data, Json, called
from pointsman.runtime.cli.schedule_commands import app

__all__ = ["app"]


@app.command()
def verify(context: typer.Context, data: Data = None, json: Json = False) -> int:
    """Fold every run again; compare with all that was derived."""
    from pointsman.runtime.cli import verifying

    return verifying.verify(called(context, data, json=json))


@app.command()
def backup(
    context: typer.Context,
    target: Annotated[Path, typer.Argument(metavar="PATH", help="Where the backup shall be.")],
    data: Data = None,
    json: Json = False,
) -> int:
    """Back the journal up, also while a server is at work."""
    from pointsman.runtime.cli import keeping

    return keeping.backup(called(context, data, json=json), target)


@app.command()
def restore(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(metavar="BACKUP", help="The backup.")],
    data: Data = None,
    json: Json = False,
) -> int:
    """Restore a backup into a data directory that is new."""
    from pointsman.runtime.cli import keeping

    return keeping.restore(called(context, data, json=json), source)


@app.command()
def doctor(
    context: typer.Context,
    ray: Annotated[bool, typer.Option("--ray", help="Start a Ray too; takes seconds.")] = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Look at everything Pointsman needs; say what to do."""
    from pointsman.runtime.cli import examining

    return examining.doctor(called(context, data, json=json), with_ray=ray)


@app.command()
def migrate(
    context: typer.Context,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Also derive everything from the events anew.")
    ] = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Bring an older data directory to today's format."""
    from pointsman.runtime.cli import keeping

    return keeping.migrate(called(context, data, json=json), rebuild=rebuild)
