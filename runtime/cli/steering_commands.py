"""The commands by which people act on runs, and their options, in the words of ``--help``."""

from pathlib import Path
from typing import Annotated

import typer

from pointsman.runtime.cli.commands import app
from pointsman.runtime.cli.options import Data, Detach, Json, RunName, called

__all__ = ["app"]

As = Annotated[
    str | None, typer.Option("--as", metavar="NAME", help="Who decides (else: you, to the system).")
]
Role = Annotated[
    list[str] | None, typer.Option("--role", metavar="ROLE", help="In which role; repeatable.")
]
Branch = Annotated[
    str | None,
    typer.Option("--branch", metavar="NAME", help="Which reviewer, if several are open."),
]


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
    from pointsman.runtime.cli import steering

    call = called(context, data, json=json)
    asked = steering.decision(note, roles=role or ())
    return steering.act(call, run, Action.APPROVE, asked, person=person, detach=detach)


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
    from pointsman.runtime.cli import steering
    from pointsman.runtime.cli.comments import given_comments, refuse_misplaced

    call = called(context, data, json=json)
    remarks = given_comments(comment or (), comments)
    return steering.act(
        call,
        run,
        Action.REQUEST_CHANGES,
        steering.decision(note, remarks, role or ()),
        person=person,
        looked_at=lambda view: refuse_misplaced(view, remarks),
        detach=detach,
    )


@app.command()
def answer(
    context: typer.Context,
    run: RunName,
    branch: Branch = None,
    deny: Annotated[bool, typer.Option("--deny", help="Refuse what is asked for.")] = False,
    text: Annotated[str | None, typer.Option("--text", help="The answer in words.")] = None,
    detach: Detach = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Answer what an agent asks."""
    from pointsman.graph.allowed import Action
    from pointsman.runtime.cli import steering

    call = called(context, data, json=json)
    asked = steering.reply(allow=not deny, text=text)
    return steering.act(call, run, Action.ANSWER, asked, branch=branch, detach=detach)


@app.command()
def resume(
    context: typer.Context,
    run: RunName,
    branch: Branch = None,
    detach: Detach = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Let an interrupted agent go on in its session."""
    from pointsman.graph.allowed import Action
    from pointsman.runtime.cli import steering

    call = called(context, data, json=json)
    asked = steering.resumption
    return steering.act(call, run, Action.RESUME, asked, branch=branch, detach=detach)


@app.command()
def retry(
    context: typer.Context,
    run: RunName,
    branch: Branch = None,
    detach: Detach = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Try an unresolved step again, with a new attempt."""
    from pointsman.graph.allowed import Action
    from pointsman.runtime.cli import steering

    call = called(context, data, json=json)
    asked = steering.new_attempt
    return steering.act(call, run, Action.RETRY, asked, branch=branch, detach=detach)


@app.command()
def review_again(
    context: typer.Context,
    run: RunName,
    detach: Detach = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """Have the change reviewed anew, when a review is stale or incomplete."""
    from pointsman.graph.allowed import Action
    from pointsman.runtime.cli import steering

    call = called(context, data, json=json)
    return steering.act(call, run, Action.REVIEW_AGAIN, steering.new_review, detach=detach)


@app.command()
def cancel(
    context: typer.Context,
    run: RunName,
    reason: Annotated[str | None, typer.Option("--reason", help="Why.")] = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """End a run; answers when its processes are gone."""
    from pointsman.runtime.cli import steering

    return steering.cancel(called(context, data, json=json), run, reason)


@app.command()
def workspaces(
    context: typer.Context,
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="Only of these runs.")
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove the removable ones of ended runs.")
    ] = False,
    data: Data = None,
    json: Json = False,
) -> int:
    """List the worktrees on disk and why each is kept."""
    from pointsman.runtime.cli import worktrees

    return worktrees.workspaces(called(context, data, json=json), runs or [], prune=prune)
