"""A workflow file's text as a checked definition, or everything that is wrong with it.

All problems come at once and each at its line and column: those of the YAML, of single values,
and of the graph. ``read_definition`` never raises, whatever it is given.
"""

import copy
import json
from typing import Final

from pydantic import ValidationError

from pointsman.graph.definition import Workflow
from pointsman.graph.model import Model
from pointsman.graph.paths import Root, parse
from pointsman.graph.problem import Problem, Where, meant
from pointsman.graph.validate import problems as graph_problems
from pointsman.storage.definition_shapes import shape_problems
from pointsman.storage.placed_text import PlacedProblem, PlacedText, place, render, unplaced

__all__ = ["Loaded", "PlacedProblem", "place", "read_definition", "render", "unplaced"]


class Loaded(Model):
    """What a file holds: a workflow without problems, or problems."""

    workflow: Workflow | None
    problems: tuple[PlacedProblem, ...]


def read_definition(text: str | bytes, name: str) -> Loaded:
    """Read a definition from the text of the file ``name``; total."""
    read = PlacedText(text, name)
    workflow, problems = _judged(read)
    shown = read.with_flaws(problems)
    if shown or workflow is None:
        return Loaded(workflow=None, problems=shown)
    return Loaded(workflow=workflow, problems=())


def _judged(read: PlacedText) -> tuple[Workflow | None, list[Problem]]:
    """Check shapes, then the graph; a broken shape leaves the rest of the graph to be checked."""
    document = read.value
    if document is None and read.flaws:
        return None, []
    if not isinstance(document, dict):
        message = "a workflow is a mapping of keys and values"
        mend = "begin with 'pointsman: 1'"
        return None, [Problem(code="not_a_mapping", where=(), message=message, mend=mend)]
    if not {"pointsman", "entry", "nodes"} & document.keys():
        return None, [_foreign(document)]
    workflow, problems = _shaped(document)
    if workflow is not None:
        return workflow, list(graph_problems(workflow))
    if any(problem.code == "unsupported_format" for problem in problems):
        return None, [each for each in problems if each.code == "unsupported_format"]
    broken = [*problems, *read.flaws]
    return None, problems + _problems_of_the_rest(document, [each.where for each in broken])


# Keys by which files of other tools are known; the first whose keys are all there is named.
_TOOLS: Final = (
    ({"on", "jobs"}, "GitHub Actions"),
    ({"apiVersion", "kind"}, "Kubernetes, Argo or Tekton"),
    ({"stages"}, "GitLab CI or Azure Pipelines"),
    ({"version", "jobs"}, "CircleCI"),
    ({"services"}, "Docker Compose"),
    ({"repos"}, "pre-commit"),
)


def _foreign(document: dict[str, object]) -> Problem:
    """Say in one problem that a file is none of ours, instead of one for each of its keys."""
    tool = next((tool for keys, tool in _TOOLS if keys <= document.keys()), None)
    like = f"; it looks like a file of {tool}" if tool is not None else ""
    return Problem(
        code="not_a_workflow",
        where=(),
        message=f"this is no workflow: it has no key 'pointsman'{like}",
        mend="begin with 'pointsman: 1', or keep the file elsewhere",
    )


def _shaped(document: dict[str, object]) -> tuple[Workflow | None, list[Problem]]:
    try:
        return Workflow.model_validate_json(json.dumps(document)), []
    except ValidationError as error:
        return None, shape_problems(error)


_PLACEHOLDERS: Final = {"pointsman": 1, "id": "x", "name": "x", "entry": "x"}
_FOLLOW_ONLY: Final = frozenset({"unreachable_node", "no_way_out"})


def _problems_of_the_rest(document: dict[str, object], broken: list[Where]) -> list[Problem]:
    """Check the graph without its broken parts, and leave out what only follows from them."""
    rest = copy.deepcopy(document)
    removed: set[Where] = set()
    for where in broken:
        section = rest.get(str(where[0])) if where else None
        if len(where) > 1 and where[0] in ("nodes", "inputs") and isinstance(section, dict):
            section.pop(where[1], None)
            removed.add(where[:2])
        elif where:
            rest.pop(str(where[0]), None)
            removed.add(where[:1])
    workflow, _ = _shaped({**_PLACEHOLDERS, **rest})
    if workflow is None:
        return []
    return [
        judged
        for problem in graph_problems(workflow)
        if problem.code not in _FOLLOW_ONLY and problem.where[:1] not in removed
        if (judged := _in_the_whole(document, problem, removed)) is not None
    ]


def _in_the_whole(
    document: dict[str, object], problem: Problem, removed: set[Where]
) -> Problem | None:
    """Judge an unknown name by the whole document: it may be that of a part taken out."""
    if problem.code not in _OF_NAMES:
        return problem
    written = _value_at(document, problem.where)
    if problem.code == "freeze_input":
        return None if {("inputs",), ("inputs", written)} & removed else problem
    nodes = document["nodes"]
    assert isinstance(nodes, dict), "a graph was checked, so there are nodes"
    if problem.code == "unknown_path":
        return None if _read_by(written, nodes) & removed else problem
    if written in nodes:
        return None if ("nodes", written) in removed else problem
    if problem.code == "unknown_review":
        return problem
    return problem.model_copy(update={"mend": meant(written, map(str, nodes))})


_OF_NAMES: Final = frozenset({"unknown_target", "unknown_review", "unknown_path", "freeze_input"})


def _read_by(text: str, nodes: dict[object, object]) -> set[Where]:
    """Return the parts of the document that a path reads from; a join's are its group's too."""
    path = parse(text)
    if path is None:
        return set()
    section = "inputs" if path.root is Root.INPUT else "nodes"
    parts: set[Where] = {(section,), (section, path.name)}
    node = nodes.get(path.name)
    if path.root is Root.JOIN and isinstance(node, dict):
        parts.add(("nodes", str(node.get("of"))))
    return parts


def _value_at(document: object, where: Where) -> str:
    """Return the text at a place; a short form such as ``next: name`` ends before the place."""
    value = document
    for part in where:
        if isinstance(value, dict):
            value = value[part]
        elif isinstance(value, list):
            value = value[int(part)]
    assert isinstance(value, str), f"a name stands at {where}"
    return value
