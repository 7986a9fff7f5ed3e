"""The options that every command takes, and what becomes of them. Light: ``--help`` loads it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pointsman.runtime.cli.invocation import Invocation

Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="PATH", help="The data directory (else POINTSMAN_DATA)."),
]
Json = Annotated[bool, typer.Option("--json", help="Write data as JSON on stdout, for programs.")]
Repository = Annotated[Path, typer.Option("--repo", metavar="PATH", help="The repository.")]

Detach = Annotated[
    bool, typer.Option("--detach", help="Answer when it is durable; go on in the background.")
]
RunName = Annotated[
    str,
    typer.Argument(metavar="RUN", help="The run's id, its beginning or end, or 'last'."),
]


def called(context: typer.Context, data: Path | None, *, json: bool) -> "Invocation":
    """Take ``--data`` and ``--json`` from before or after the command's name."""
    from pointsman.runtime.cli.invocation import invocation

    earlier_data, earlier_json = context.obj
    return invocation(data or earlier_data, json=json or earlier_json)
