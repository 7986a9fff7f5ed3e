"""The commands and their options, in the words of ``--help``. What they do stands elsewhere."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

import pointsman
from pointsman.runtime.cli.options import Data, Detach, Json, Repository, RunName
from pointsman.runtime.cli.options import called as _call
from pointsman.runtime.exit_codes import MEANINGS, ExitCode

_EXIT_CODES: Final = "\n".join(f"{code.value:>5}  {MEANINGS[code]}" for code in ExitCode)

app = typer.Typer(
    name="pointsman",
    help="A durable runtime for authored coding-agent workflows.",
    epilog=f"Exit codes:\n\n\b\n{_EXIT_CODES}",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


class State(StrEnum):
    """The states of a run, by their public names; loading the core's own takes too long here."""

    RUNNING = "running"
    AWAITING_REVIEW = "awaiting_review"
    UNRESOLVED = "unresolved"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"pointsman {pointsman.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    data: Data = None,
    json: Json = False,
    _asked: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    context.obj = (data, json)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def demo(
    context: typer.Context,
    approve: Annotated[bool, typer.Option("--approve", help="Approve at the gate, too.")] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the projects of earlier, ended demonstrations.")
    ] = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """See it work on a sample project; you approve at the end."""
    from pointsman.runtime.cli import demonstration

    return demonstration.demo(_call(context, data, json=json), approve=approve, keep=keep)


@app.command()
def init(
    context: typer.Context,
    repo: Annotated[Path, typer.Argument(metavar="[PATH]", help="The repository.")] = Path(),
    data: Data = None,
    json: Json = False,
) -> int:
    """Write a starter workflow; overwrites nothing."""
    from pointsman.runtime.cli import authoring

    return authoring.init(_call(context, data, json=json), repo)


@app.command()
def validate(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE|FOLDER]...", help="What to check.")
    ] = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Check workflow files: every mistake, with how to mend it."""
    from pointsman.runtime.cli import authoring

    return authoring.validate(_call(context, data, json=json), paths or [])


@app.command()
def workflows(
    context: typer.Context,
    repo: Repository = Path(),
    data: Data = None,
    json: Json = False,
) -> int:
    """List the workflows a repository can run, and the examples."""
    from pointsman.runtime.cli import listing

    return listing.workflows(_call(context, data, json=json), repo)


@app.command()
def run(
    context: typer.Context,
    workflow: Annotated[
        str,
        typer.Argument(
            metavar="WORKFLOW",
            help="A file, or an id in .pointsman/workflows or among the examples.",
        ),
    ],
    repo: Repository = Path(),
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=VALUE", help="An input of the run; repeatable."),
    ] = None,
    detach: Detach = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Start a run; follow it until it ends or needs a person."""
    from pointsman.runtime.cli import acting

    call = _call(context, data, json=json)
    return acting.run(call, workflow, repo, inputs or [], detach=detach)


@app.command()
def wait(context: typer.Context, run: RunName, data: Data = None, json: Json = False) -> int:
    """Wait until a run ends or needs a person."""
    from pointsman.runtime.cli import acting

    return acting.wait(_call(context, data, json=json), run)


@app.command()
def attention(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 100,
    data: Data = None,
    json: Json = False,
) -> int:
    """List what needs a person, the longest waiting first."""
    from pointsman.runtime.cli import looking

    return looking.attention(_call(context, data, json=json), limit)


@app.command()
def runs(
    context: typer.Context,
    state: Annotated[
        list[State] | None, typer.Option("--state", help="Only runs in this state; repeatable.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 20,
    data: Data = None,
    json: Json = False,
) -> int:
    """List runs, newest first."""
    from pointsman.runtime.cli import looking

    return looking.runs(_call(context, data, json=json), tuple(state or ()), limit)


@app.command()
def show(context: typer.Context, run: RunName, data: Data = None, json: Json = False) -> int:
    """Show a run as it is now, and what it allows."""
    from pointsman.runtime.cli import looking

    return looking.show(_call(context, data, json=json), run)


@app.command()
def trace(
    context: typer.Context,
    run: RunName,
    full: Annotated[
        bool, typer.Option("--full", help="Show rules, inputs and reports in full.")
    ] = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Tell what happened, and why each route was taken."""
    from pointsman.runtime.cli import looking

    return looking.trace(_call(context, data, json=json), run, full=full)


@app.command()
def logs(
    context: typer.Context,
    run: RunName,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the run ends.")] = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Print what a run's agents and checks printed."""
    from pointsman.runtime.cli import looking

    return looking.logs(_call(context, data, json=json), run, follow=follow)


@app.command()
def serve(
    context: typer.Context,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Else the last one, or any free one.")
    ] = None,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End when no run is under way.")
    ] = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Serve the data directory: its API, runs and schedules."""
    from pointsman.runtime.cli import background

    call = _call(context, data, json=json)
    return background.serve(call, port, until_idle=until_idle)
