"""The commands for schedules and their options, in the words of ``--help``.

``app`` is the whole command line: ``author_commands`` with these on top.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pointsman.runtime.cli.author_commands import app
from pointsman.runtime.cli.options import Data, Detach, Json, Repository, called

__all__ = ["app"]

schedule = typer.Typer(
    name="schedule",
    help="Start a workflow at fixed times, while `pointsman serve` runs.",
    rich_markup_mode=None,
    no_args_is_help=True,
)
app.add_typer(schedule)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.")]


class Missed(StrEnum):
    """What becomes of missed slots, by the public names."""

    SKIP = "skip"
    LATEST = "latest"
    ALL = "all"


class Overlap(StrEnum):
    """What becomes of a slot while an earlier run goes on, by the public names."""

    ALLOW = "allow"
    SKIP = "skip"


@app.command()
def schedules(
    context: typer.Context,
    data: Data = None,
    json: Json = False,
) -> int:
    """List schedules: the next times, and the last ones."""
    from pointsman.runtime.cli import scheduling

    return scheduling.schedules(called(context, data, json=json))


@schedule.command()
def add(
    context: typer.Context,
    name: Name,
    workflow: Annotated[
        str,
        typer.Option("--workflow", metavar="WORKFLOW", help="A file or an id."),
    ],
    cron: Annotated[
        str,
        typer.Option(
            "--cron",
            metavar="CRON",
            help="Five fields, as in '0 2 * * 1-5'.",
        ),
    ],
    zone: Annotated[
        str, typer.Option("--zone", metavar="ZONE", help="As in Europe/Berlin.")
    ] = "UTC",
    repo: Repository = Path(),
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=VALUE", help="An input of each run; repeatable."),
    ] = None,
    missed: Annotated[
        Missed,
        typer.Option("--missed", help="Which missed times to catch up."),
    ] = Missed.LATEST,
    overlap: Annotated[
        Overlap, typer.Option("--overlap", help="When an earlier run still goes on.")
    ] = Overlap.ALLOW,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the one of this name.")
    ] = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Make a schedule."""
    from pointsman.runtime.cli import scheduling

    wanted = scheduling.Wanted(workflow, cron, zone, repo, tuple(inputs or ()), missed, overlap)
    return scheduling.add(called(context, data, json=json), name, wanted, replace=replace)


@schedule.command()
def show(context: typer.Context, name: Name, data: Data = None, json: Json = False) -> int:
    """Show a schedule and what it has started."""
    from pointsman.runtime.cli import scheduling

    return scheduling.show(called(context, data, json=json), name)


@schedule.command()
def pause(context: typer.Context, name: Name, data: Data = None, json: Json = False) -> int:
    """Pause a schedule; what passes is not caught up."""
    from pointsman.runtime.cli import scheduling

    return scheduling.enable(called(context, data, json=json), name, enabled=False)


@schedule.command()
def resume(context: typer.Context, name: Name, data: Data = None, json: Json = False) -> int:
    """Go on with a paused schedule, from now on."""
    from pointsman.runtime.cli import scheduling

    return scheduling.enable(called(context, data, json=json), name, enabled=True)


@schedule.command()
def remove(context: typer.Context, name: Name, data: Data = None, json: Json = False) -> int:
    """Remove a schedule; its runs are kept."""
    from pointsman.runtime.cli import scheduling

    return scheduling.remove(called(context, data, json=json), name)


@schedule.command()
def run(
    context: typer.Context,
    name: Name,
    detach: Detach = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Start it now, besides its times; follow the run."""
    from pointsman.runtime.cli import scheduling

    return scheduling.run(called(context, data, json=json), name, detach=detach)
