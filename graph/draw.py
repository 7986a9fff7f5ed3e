"""A workflow as a Mermaid flowchart, with how often a run came by if that is given.

Each kind has its shape; edges carry the rule, the decision and the bound of their route, and
dotted ones lead where a bound is exhausted or a visit has no result.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from pointsman.graph.definition import (
    AgentNode,
    CheckNode,
    EndNode,
    Node,
    ParallelNode,
    Workflow,
)
from pointsman.graph.edges import Declared, routes
from pointsman.graph.visited import Taken

_SHAPES: Final = {
    "agent": ("(", ")"),
    "check": ("[[", "]]"),
    "decision": ("{", "}"),
    "parallel": ("[/", "\\]"),
    "join": ("[\\", "/]"),
    "gate": ("{{", "}}"),
    "end": ("([", "])"),
}
_ESCAPES: Final = {
    ord(character): f"#{ord(character)};" for character in '#"&<>`[]{}()|\\'
} | dict.fromkeys(map(ord, "\r\n\t"), " ")
_COMMAND_CHARS_MAX: Final = 40
_VISITED: Final = "classDef visited stroke-width:3px"


class _Arrow(NamedTuple):
    """One drawn edge. ``passes`` says how often it was taken, if anybody knows."""

    source: str
    to: str
    words: tuple[str, ...]
    dotted: bool
    passes: int | None


def mermaid(workflow: Workflow, taken: Taken | None = None) -> str:
    """Return the flowchart's text; ``taken`` adds the visits and routes of a run."""
    lines = ["flowchart TD", "  start((start))"]
    for name, node in workflow.nodes.items():
        lines.append(f"  {_shape(_id(name), node.kind, _node_words(name, node, taken))}")
        if isinstance(node, ParallelNode):
            lines += [
                f"  {_shape(_branch_id(name, key), 'agent', [key, branch.agent.provider])}"
                for key, branch in node.branches.items()
            ]
    if workflow.visits.at_limit is not None:
        words = [f"after {workflow.visits.max} visits"]
        lines.append(f"  {_shape('limit', 'end', words)}")
    lines += [f"  {_drawn(arrow)}" for arrow in _arrows(workflow, taken)]
    visited = [_id(name) for name in workflow.nodes if taken is not None and taken.visits.get(name)]
    if visited:
        lines += [f"  {_VISITED}", f"  class {','.join(visited)} visited"]
    return "\n".join(lines) + "\n"


def _id(name: str) -> str:
    """Name a node so that none reads as a word or an arrow of Mermaid (``end``, ``a--b``)."""
    return "n_" + name.replace("-", "_")


def _branch_id(group: str, branch: str) -> str:
    """Name a branch; capitals keep it apart from all nodes."""
    return f"{_id(group)}_B_{branch.replace('-', '_')}"


def _shape(identity: str, kind: str, words: list[str]) -> str:
    left, right = _SHAPES[kind]
    return f'{identity}{left}"{_text(words)}"{right}'


def _text(words: list[str] | tuple[str, ...]) -> str:
    return "<br/>".join(each.translate(_ESCAPES) for each in words)


def _node_words(name: str, node: Node, taken: Taken | None) -> list[str]:
    words = [name]
    match node:
        case AgentNode(agent=agent):
            words.append(f"{agent.provider}, {agent.mode}")
        case CheckNode(run=run):
            command = run if isinstance(run, str) else " ".join(run)
            short = command if len(command) <= _COMMAND_CHARS_MAX else command[:39] + "…"
            words.append(short)
        case EndNode(result=result):
            words.append(result.value)
        case _:
            words += [node.title] if node.title is not None else []
    if taken is not None:
        count = taken.visits.get(name, 0)
        words.append("1 visit" if count == 1 else f"{count} visits")
    return words


def _arrows(workflow: Workflow, taken: Taken | None) -> Iterator[_Arrow]:
    entry = _passes(taken, "entry", workflow.entry)
    yield _Arrow("start", _id(workflow.entry), (), False, entry)
    for route in routes(workflow):
        yield from _route(workflow, route, taken)
    for name, node in workflow.nodes.items():
        if isinstance(node, ParallelNode):
            yield from _branches(name, node, taken)
    yield from _reviews_again(taken)
    if workflow.visits.at_limit is not None:
        passes = taken.late if taken is not None else None
        yield _Arrow("limit", _id(workflow.visits.at_limit), (), True, passes)


def _branches(group: str, node: ParallelNode, taken: Taken | None) -> Iterator[_Arrow]:
    for key in node.branches:
        branch = _branch_id(group, key)
        begun, completed = (
            (None, None) if taken is None else taken.branches.get((group, key), (0, 0))
        )
        yield _Arrow(_id(group), branch, (), False, begun)
        yield _Arrow(branch, _id(node.join), (), False, completed)


def _reviews_again(taken: Taken | None) -> Iterator[_Arrow]:
    """Draw what no definition declares: where people had a change reviewed anew."""
    for (node, group), passes in (taken.again if taken is not None else {}).items():
        yield _Arrow(_id(node), _id(group), ("review again",), True, passes)


def _route(workflow: Workflow, route: Declared, taken: Taken | None) -> Iterator[_Arrow]:
    repeat, source = route.target.repeat, _id(route.source)
    words = _route_words(workflow, route)
    bound = (f"at most {repeat.max}×",) if repeat is not None else ()
    passes = _passes(taken, _key(route), route.target.to)
    yield _Arrow(source, _id(route.target.to), (*words, *bound), not route.leaves_result, passes)
    if repeat is not None:
        late = _passes(taken, _key(route), repeat.at_limit)
        yield _Arrow(source, _id(repeat.at_limit), (*words, f"after {repeat.max}×"), True, late)


def _key(route: Declared) -> str:
    """Return the key by which a run counts a route."""
    return "/".join(map(str, route.where[1:]))


def _passes(taken: Taken | None, key: str, to: str) -> int | None:
    return None if taken is None else taken.routes.get((key, to), 0)


def _route_words(workflow: Workflow, route: Declared) -> tuple[str, ...]:
    """Return what makes a run take a route; what always does needs no words."""
    match route.where[2:]:
        case ("next",):
            return ()
        case ("rules", int() as index):
            node = workflow.nodes[route.source]
            rules = getattr(node, "rules", ())
            return (f"{index + 1}. {rules[index].name}",)
        case ("decisions", str() as decision):
            return (decision.replace("_", " "),)
        case (*_, last):
            return (str(last),)
        case _:
            return ()


def _drawn(arrow: _Arrow) -> str:
    words = list(arrow.words)
    if arrow.passes is not None:
        words.append(f"taken {arrow.passes}×")
    line = "-.->" if arrow.dotted else "-->"
    label = f'|"{_text(words)}"| ' if words else ""
    return f"{arrow.source} {line}{label or ' '}{arrow.to}"
