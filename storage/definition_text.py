"""A workflow file's text as a checked definition, or everything that is wrong with it.

All problems come at once and each at its line and column: those of the YAML, of single values,
and of the graph. ``read_definition`` never raises, whatever it is given.
"""

import copy
import json
from typing import Final

from pydantic import ValidationError
from yaml.reader import Reader

from pointsman.graph import limits
from pointsman.graph.definition import Workflow
from pointsman.graph.model import Model
from pointsman.graph.paths import Root, parse
from pointsman.graph.problem import Problem, Where, meant
from pointsman.graph.runnable import unsupported
from pointsman.graph.validate import problems as graph_problems
from pointsman.storage.definition_shapes import shape_problems
from pointsman.storage.yaml_nodes import LINE_END, Position
from pointsman.storage.yaml_text import YamlText, read_yaml

SOURCE_CHARS_MAX: Final = 160


class PlacedProblem(Problem):
    """A problem at its place; ``source`` is (a part of) the line, ``caret`` counts in it from 1."""

    file: str
    line: int
    column: int
    source: str
    caret: int


class Loaded(Model):
    """What a file holds: a workflow without problems, or problems.

    ``unsupported`` is what keeps a valid workflow from being started by this version.
    """

    workflow: Workflow | None
    problems: tuple[PlacedProblem, ...]
    unsupported: tuple[PlacedProblem, ...] = ()


def read_definition(text: str | bytes, name: str) -> Loaded:
    """Read a definition from the text of the file ``name``; total."""
    decoded, refusal = _decoded(text)
    found = YamlText()
    if refusal is not None:
        found.add(*refusal)
    else:
        found = read_yaml(decoded)
    workflow, problems = _judged(found)
    placed = [(problem, position) for problem, position in found.problems]
    spoken_for = {each.problem.where for each in found.problems if each.problem.code in _OF_VALUES}
    placed += [
        (problem, _position(found, problem))
        for problem in problems
        if problem.where not in spoken_for
    ]
    placed.sort(key=lambda pair: pair[1])
    lines = LINE_END.split(decoded)
    shown = tuple(_placed(problem, name, at, lines) for problem, at in placed)
    if shown or workflow is None:
        return Loaded(workflow=None, problems=shown)
    lacking = tuple(
        _placed(problem, name, _position(found, problem), lines)
        for problem in unsupported(workflow)
    )
    return Loaded(workflow=workflow, problems=(), unsupported=lacking)


_Refusal = tuple[str, Where, Position, str, str]


def _decoded(text: str | bytes) -> tuple[str, _Refusal | None]:
    """Return the characters, without a byte order mark, or why they are not read."""
    size = len(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    if size > limits.DEFINITION_FILE_BYTES_MAX:
        message = f"the file has more than {limits.DEFINITION_FILE_BYTES_MAX} bytes"
        return "", ("file_too_large", (), Position(1, 1), message, "split the workflow")
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            encoded = error.object
            at = _position_after(encoded[: error.start].decode())
            message = f"byte {encoded[error.start]:#04x} is no UTF-8"
            shown = encoded.decode("utf-8", "replace")
            return shown, ("not_utf8", (), at, message, "save the file as UTF-8")
    text = text.removeprefix("\ufeff")
    bad = Reader.NON_PRINTABLE.search(text)
    if bad is not None:
        at = _position_after(text[: bad.start()])
        message = f"the character U+{ord(bad[0]):04X} cannot stand in YAML"
        return text, ("bad_character", (), at, message, "leave it out, or write it as an escape")
    return text, None


def _position_after(text: str) -> Position:
    lines = LINE_END.split(text)
    return Position(len(lines), len(lines[-1]) + 1)


def _judged(found: YamlText) -> tuple[Workflow | None, list[Problem]]:
    """Check shapes, then the graph; a broken shape leaves the rest of the graph to be checked."""
    document = found.value
    if document is None and found.problems:
        return None, []
    if not isinstance(document, dict):
        message = "a workflow is a mapping of keys and values"
        mend = "begin with 'pointsman: 1'"
        return None, [Problem(code="not_a_mapping", where=(), message=message, mend=mend)]
    workflow, problems = _shaped(document)
    if workflow is not None:
        return workflow, list(graph_problems(workflow))
    if any(problem.code == "unsupported_format" for problem in problems):
        return None, [each for each in problems if each.code == "unsupported_format"]
    broken = [*problems, *(each.problem for each in found.problems)]
    return None, problems + _problems_of_the_rest(document, [each.where for each in broken])


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


_OF_VALUES: Final = frozenset({"bad_tag", "bad_text", "out_of_range"})
_ABOUT_KEYS: Final = frozenset({"unknown_key", "bad_key", "reserved_field"})


def _position(found: YamlText, problem: Problem) -> Position:
    return found.position(problem.where, of_key=problem.code in _ABOUT_KEYS)


def _placed(problem: Problem, name: str, at: Position, lines: list[str]) -> PlacedProblem:
    line = lines[at.line - 1] if at.line <= len(lines) else ""
    start = max(0, at.column - 1 - SOURCE_CHARS_MAX // 2) if len(line) > SOURCE_CHARS_MAX else 0
    source = "".join(
        character if character.isprintable() else " "
        for character in line[start : start + SOURCE_CHARS_MAX]
    )
    return PlacedProblem(
        **problem.model_dump(),
        file=name,
        line=at.line,
        column=at.column,
        source=source,
        caret=at.column - start,
    )


def unplaced(problem: Problem, name: str) -> PlacedProblem:
    """Return a problem of a whole file that has no text to point into."""
    return _placed(problem, name, Position(1, 1), [])


def place(problem: Problem, text: bytes, name: str) -> PlacedProblem:
    """Return a problem found elsewhere at its place in a text that reads well."""
    decoded, _ = _decoded(text)
    return _placed(problem, name, _position(read_yaml(decoded), problem), LINE_END.split(decoded))


def render(problems: tuple[PlacedProblem, ...]) -> str:
    """Return the problems in the style of a compiler, one after the other."""
    return "\n".join(_rendered(problem) for problem in problems)


def _rendered(problem: PlacedProblem) -> str:
    return (
        f"{problem.file}:{problem.line}:{problem.column}: {problem.code}: {problem.message}\n"
        f"    {problem.source}\n"
        f"    {' ' * (problem.caret - 1)}^\n"
        f"    {problem.mend}\n"
    )
