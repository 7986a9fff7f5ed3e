"""The commands for authors and their options, in the words of ``--help``.

``app`` is the whole command line: ``commands`` and ``steering_commands`` with these on top.
"""

from pathlib import Path
from typing import Annotated

import typer

from pointsman.runtime.cli.options import Data, Json, Repository, called
from pointsman.runtime.cli.steering_commands import app

__all__ = ["app"]

Workflow = Annotated[
    str,
    typer.Argument(
        metavar="WORKFLOW",
        help="A file, or an id in .pointsman/workflows or among the examples.",
    ),
]


@app.command()
def new(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="What the workflow shall be called.")
    ] = None,
    template: Annotated[
        str, typer.Option("--template", metavar="NAME", help="What to make it of; see --list.")
    ] = "implement-check-review-fix",
    listed: Annotated[bool, typer.Option("--list", help="List the templates.")] = False,
    repo: Repository = Path(),
    data: Data = None,
    json: Json = False,
) -> int:
    """Write a workflow from a template; overwrites nothing."""
    from pointsman.runtime.cli import templating

    call = called(context, data, json=json)
    if listed:
        return templating.list_templates(call)
    return templating.new(call, name, template, repo)


@app.command()
def explain(
    context: typer.Context,
    workflow: Workflow,
    repo: Repository = Path(),
    data: Data = None,
    json: Json = False,
) -> int:
    """Say in words what can follow each node, and why."""
    from pointsman.runtime.cli import describing

    return describing.explain(called(context, data, json=json), workflow, repo)


@app.command()
def graph(
    context: typer.Context,
    workflow: Annotated[
        str | None,
        typer.Argument(
            metavar="[WORKFLOW]",
            help="A file, or an id in .pointsman/workflows or among the examples.",
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="Draw a run's workflow and the path it took."),
    ] = None,
    repo: Repository = Path(),
    data: Data = None,
    json: Json = False,
) -> int:
    """Print a workflow, or a run's path through it, as a Mermaid flowchart.

    Mermaid only: GitHub, GitLab and most editors draw it in a ```mermaid block.
    """
    if (workflow is None) == (run is None):
        raise typer.BadParameter("name a workflow, or a run with --run", context)
    from pointsman.runtime.cli import describing

    call = called(context, data, json=json)
    if run is not None:
        return describing.path_taken(call, run)
    return describing.graph(call, workflow or "", repo)


@app.command()
def dry_run(
    context: typer.Context,
    workflow: Workflow,
    reports: Annotated[
        Path,
        typer.Option(
            "--reports",
            metavar="FILE",
            help="The run's inputs, and the answers of agents, checks and people (YAML).",
        ),
    ],
    repo: Repository = Path(),
    data: Data = None,
    json: Json = False,
) -> int:
    """Walk a workflow with given answers, without agents.

    Tells each route, and every condition that was looked at with its value.
    """
    from pointsman.runtime.cli import rehearsing

    return rehearsing.dry_run(called(context, data, json=json), workflow, repo, reports)


@app.command("test")
def play_cases(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE|FOLDER]...", help="NAME.test.yaml, NAME.yaml or folders."),
    ] = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Play the cases beside workflows and compare the routes.

    They stand in NAME.test.yaml beside NAME.yaml. Ends with 1 if any comes out different.
    """
    from pointsman.runtime.cli import playing

    return playing.play_cases(called(context, data, json=json), paths or [])


@app.command()
def schema(
    context: typer.Context,
    write: Annotated[
        bool, typer.Option("--write", help="Put it into .pointsman, where editors find it.")
    ] = False,
    repo: Repository = Path(),
    data: Data = None,
    json: Json = False,
) -> int:
    """Print the JSON Schema of workflow files."""
    from pointsman.runtime.cli import describing

    return describing.schema(called(context, data, json=json), repo, write=write)
