"""The commands that take care of a data directory, and their options, in the words of ``--help``.

``app`` is the whole command line: ``schedule_commands`` with these on top.
"""

import typer

from pointsman.runtime.cli.options import Data, Json, called
from pointsman.runtime.cli.schedule_commands import app

__all__ = ["app"]


@app.command()
def verify(context: typer.Context, data: Data = None, json: Json = False) -> int:
    """Fold every run again; compare with all that was derived."""
    from pointsman.runtime.cli import verifying

    return verifying.verify(called(context, data, json=json))
