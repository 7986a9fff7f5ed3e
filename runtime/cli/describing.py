"""Commands that describe the format and a workflow: schema, graph, explain. Nothing is run."""

from pathlib import Path

from pointsman.runtime.cli import names, project_files
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.reach import reading
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.problems import PointsmanError


def schema(call: Invocation, repository: Path, *, write: bool) -> int:
    """Print the JSON Schema of the format, or put it into the project for editors."""
    if not write:
        from pointsman.graph.schema import workflow_schema

        call.terminal.document(workflow_schema())
        return ExitCode.OK
    if not repository.is_dir():
        raise PointsmanError("repository_missing", f"there is no folder {repository}")
    file, written = project_files.write_schema(repository)
    if call.terminal.json:
        call.terminal.document({"file": str(file), "written": written})
        return ExitCode.OK
    call.terminal.show(f"{'wrote ' if written else 'kept  '} {file}")
    call.terminal.say("Editors find it by the first line of a workflow file:")
    call.terminal.say(f"    {project_files.MODELINE.rstrip()}")
    return ExitCode.OK


def graph(call: Invocation, wanted: str, repository: Path) -> int:
    """Print a workflow as a Mermaid flowchart."""
    from pointsman.graph.draw import mermaid

    try:
        definition = names.find_definition(wanted, repository)
    except PointsmanError as error:
        if error.code != "definition_unknown" or not names.may_be_run(wanted):
            raise
        step = call.next_command("graph", "--run", wanted)
        message = f"{error.message}. The path of a run is drawn with:  {step}"
        raise PointsmanError(error.code, message) from error
    return _drawn(call, mermaid(definition.workflow))


def path_taken(call: Invocation, name: str) -> int:
    """Print a run's workflow with its visits, and how often each edge was taken."""
    with reading(call.data) as reader:
        return _drawn(call, reader.graph(names.resolve_run(name, reader)))


def _drawn(call: Invocation, drawn: str) -> int:
    if call.terminal.json:
        call.terminal.document({"mermaid": drawn})
    else:
        call.terminal.show(drawn.rstrip())
    return ExitCode.OK


def explain(call: Invocation, wanted: str, repository: Path) -> int:
    """Say in words what can follow each node, and why."""
    from pointsman.graph import explain as words

    workflow = names.find_definition(wanted, repository).workflow
    overview, nodes = words.overview(workflow), words.explain(workflow)
    if call.terminal.json:
        call.terminal.document({"workflow": workflow.id, "overview": overview, "nodes": nodes})
        return ExitCode.OK
    call.terminal.show(f"{workflow.name} ({workflow.id}, revision {workflow.revision})")
    for sentence in overview:
        call.terminal.show(f"  {sentence}")
    for each in nodes:
        title = f": {each.title}" if each.title is not None else ""
        call.terminal.show()
        call.terminal.show(f"{each.node} ({each.kind}){title}")
        call.terminal.show(f"  Reached from: {', '.join(each.reached_from)}.")
        for sentence in each.follows:
            call.terminal.show(f"  {sentence}")
    return ExitCode.OK
