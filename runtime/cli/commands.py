"""The commands and their options, in the words of ``--help``. What they do stands elsewhere."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

import pointsman
from pointsman.runtime.cli.exit_codes import MEANINGS, ExitCode
from pointsman.runtime.cli.options import Data, Json, Repository
from pointsman.runtime.cli.options import called as _call

_EXIT_CODES: Final = "\n".join(f"{code.value:>5}  {MEANINGS[code]}" for code in ExitCode)

app = typer.Typer(
    name="pointsman",
    help="A durable runtime for authored coding-agent workflows.",
    epilog=f"Exit codes:\n\n\b\n{_EXIT_CODES}",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

Detach = Annotated[
    bool, typer.Option("--detach", help="Answer when it is durable; go on in the background.")
]
RunName = Annotated[
    str,
    typer.Argument(metavar="RUN", help="The run's id, its beginning or end, or 'last'."),
]


As = Annotated[
    str | None, typer.Option("--as", metavar="NAME", help="Who decides (else: you, to the system).")
]
Role = Annotated[
    list[str] | None, typer.Option("--role", metavar="ROLE", help="In which role; repeatable.")
]


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
def approve(
    context: typer.Context,
    run: RunName,
    note: Annotated[str | None, typer.Option("--note", help="What to remember of it.")] = None,
    person: As = None,
    role: Role = None,
    detach: Detach = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Approve at the gate a run waits at."""
    from pointsman.graph.allowed import Action
    from pointsman.runtime.cli import acting

    call = _call(context, data, json=json)
    decision = acting.Decision(Action.APPROVE, note, (), person, tuple(role or ()))
    return acting.decide(call, run, decision, detach=detach)


@app.command()
def request_changes(
    context: typer.Context,
    run: RunName,
    note: Annotated[
        str | None, typer.Option("--note", help="What should change; the agent reads it.")
    ] = None,
    comment: Annotated[
        list[str] | None,
        typer.Option("--comment", metavar="PATH:LINE:TEXT", help="On a line; repeatable."),
    ] = None,
    comments: Annotated[
        Path | None,
        typer.Option("--comments", metavar="FILE", help="Of a YAML list of {path, line, text}."),
    ] = None,
    person: As = None,
    role: Role = None,
    detach: Detach = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Send the work back from the gate, with a note, comments on lines, or both."""
    if note is None and not comment and comments is None:
        raise typer.BadParameter("say what should change: --note, --comment or --comments", context)
    from pointsman.graph.allowed import Action
    from pointsman.runtime.cli import acting
    from pointsman.runtime.cli.comments import given_comments

    call = _call(context, data, json=json)
    given = tuple(given_comments(comment or (), comments))
    decision = acting.Decision(Action.REQUEST_CHANGES, note, given, person, tuple(role or ()))
    return acting.decide(call, run, decision, detach=detach)


@app.command()
def answer(
    context: typer.Context,
    run: RunName,
    deny: Annotated[bool, typer.Option("--deny", help="Refuse what is asked for.")] = False,
    text: Annotated[str | None, typer.Option("--text", help="The answer in words.")] = None,
    detach: Detach = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Answer what an agent asks."""
    from pointsman.runtime.cli import acting

    call = _call(context, data, json=json)
    return acting.answer(call, run, allow=not deny, text=text, detach=detach)


@app.command()
def resume(
    context: typer.Context,
    run: RunName,
    detach: Detach = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Let an interrupted agent go on in its session."""
    from pointsman.runtime.cli import acting

    return acting.resume(_call(context, data, json=json), run, detach=detach)


@app.command()
def retry(
    context: typer.Context,
    run: RunName,
    detach: Detach = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Try an unresolved step again, with a new attempt."""
    from pointsman.runtime.cli import acting

    return acting.retry(_call(context, data, json=json), run, detach=detach)


@app.command()
def cancel(
    context: typer.Context,
    run: RunName,
    reason: Annotated[str | None, typer.Option("--reason", help="Why.")] = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """End a run; answers when its processes are gone."""
    from pointsman.runtime.cli import acting

    return acting.cancel(_call(context, data, json=json), run, reason)


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
def trace(context: typer.Context, run: RunName, data: Data = None, json: Json = False) -> int:
    """Tell what happened, and why each route was taken."""
    from pointsman.runtime.cli import looking

    return looking.trace(_call(context, data, json=json), run)


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
    """Serve the data directory: its API and the runs under way."""
    from pointsman.runtime.cli import background

    call = _call(context, data, json=json)
    return background.serve(call, port, until_idle=until_idle)
