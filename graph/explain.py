"""A workflow in words: what can follow each node, and why.

For authors who want to read what they have written; nothing here decides anything.
"""

from collections.abc import Iterator

from pointsman.graph.conditions import AllOf, AnyOf, Condition, FieldTest
from pointsman.graph.definition import (
    AgentNode,
    CheckNode,
    DecisionNode,
    EndNode,
    GateNode,
    JoinNode,
    Node,
    ParallelNode,
    RouteTarget,
    Workflow,
)
from pointsman.graph.edges import EdgeKind, Graph
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.problem import listed

_TIMES = {1: "once", 2: "twice"}
_OPERATORS = {
    "eq": "is",
    "ne": "is there and is not",
    "lt": "is less than",
    "le": "is at most",
    "gt": "is more than",
    "ge": "is at least",
}


class Explained(Model):
    """A node in words. ``follows`` has a sentence for each way on, ``reached_from`` the nodes."""

    node: str
    kind: str
    title: str | None
    reached_from: tuple[str, ...]
    follows: tuple[str, ...]


def explain(workflow: Workflow) -> tuple[Explained, ...]:
    """Return every node in the order of the document."""
    before: dict[str, list[str]] = {name: [] for name in workflow.nodes}
    for edge in Graph(workflow).edges:
        if edge.kind is not EdgeKind.VISIT_LIMIT and edge.source not in before[edge.to]:
            before[edge.to].append(edge.source)
    if workflow.entry in before:
        before[workflow.entry].insert(0, "the start")
    if workflow.visits.at_limit in before:
        before[workflow.visits.at_limit].append("the bound on all visits")
    return tuple(
        Explained(
            node=name,
            kind=node.kind,
            title=node.title,
            reached_from=tuple(before[name]),
            follows=tuple(_follows(workflow, name, node)),
        )
        for name, node in workflow.nodes.items()
    )


def overview(workflow: Workflow) -> tuple[str, ...]:
    """Return what holds for the whole workflow."""
    inputs = [
        name + ("" if declared.required else " (optional)")
        for name, declared in workflow.inputs.items()
    ]
    bound = workflow.visits
    rest = (
        f"goes to {bound.at_limit}"
        if bound.at_limit is not None
        else "takes the limit of the route it was about to take, or waits for a person"
    )
    bounded = f"It enters at most {bound.max} nodes; a run that has used them all and would enter"
    return (
        f"It is started with: {listed(inputs)}.",
        f"It begins at {workflow.entry}.",
        f"{bounded} automated work {rest}.",
    )


def _follows(workflow: Workflow, name: str, node: Node) -> Iterator[str]:
    match node:
        case AgentNode():
            yield from _agent(name, node)
        case CheckNode():
            yield from _check(name, node)
        case DecisionNode():
            for number, rule in enumerate(node.rules, 1):
                when = _condition(rule.when)
                yield f"Rule {number}, “{rule.name}”: if {when}, {_to(rule.route)}."
            yield f"{'Otherwise' if node.rules else 'Always'} {_to(node.otherwise)}."
        case ParallelNode():
            yield from _group(node)
        case JoinNode():
            yield f"When every reviewer of {node.of} has completed, {_to(node.next)}."
            yield (
                "When one failed, was canceled or stayed unresolved, or the head changed, "
                + _or_waits(node.incomplete)
            )
        case GateNode():
            yield from _gate(node)
        case EndNode():
            yield f"The run ends as {node.result}."


def _agent(name: str, node: AgentNode) -> Iterator[str]:
    yield (
        f"When its work has settled and its report was accepted, {_to(node.next)}, whatever "
        f"outcome it reports (a decision can read report.{name}.outcome)."
    )
    yield (
        f"When the work fails, is interrupted or takes longer than {duration(node.timeout)}, or "
        f"ends without a report after one reminder, {_or_waits(node.unresolved)}"
    )
    if node.resume is not None:
        yield (
            f"A session whose process is lost first goes on by itself, at most "
            f"{_times(node.resume.max)}."
        )


def _check(name: str, node: CheckNode) -> Iterator[str]:
    yield (
        f"When its command ends, {_to(node.next)}, whatever the exit code "
        f"(a decision can read check.{name}.exit_code)."
    )
    again = ""
    if node.retry is not None:
        after = " or ".join(
            {"timeout": "a timeout", "interrupted": "a lost process"}[why]
            for why in node.retry.after
        )
        again = f"After {after} it is started again, at most {_times(node.retry.max)}. "
    yield (
        f"{again}When it takes longer than {duration(node.timeout)} or is interrupted"
        f"{' for good' if again else ''}, {_or_waits(node.unresolved)}"
    )


def _group(node: ParallelNode) -> Iterator[str]:
    what = (
        "the workspace's committed head"
        if node.freeze == "workspace"
        else f"the change that input {node.freeze.input} names"
    )
    yield (
        f"{listed(node.branches)} review {what} side by side; when all have ended, the run goes "
        f"to {node.join}."
    )
    if node.freeze == "workspace":
        yield {
            "refuse": "Uncommitted changes refuse the review.",
            "ignore": "Uncommitted changes are left out of the review, and recorded.",
            "commit": "Uncommitted changes are committed first, as a recorded step.",
        }[node.uncommitted.value]
    yield f"When nothing can be frozen, {_or_waits(node.unresolved)}"


def _gate(node: GateNode) -> Iterator[str]:
    if node.decide is not None:
        who = [f"anyone of role {role}" for role in node.decide.roles]
        yield f"It waits for {' or '.join([*who, *node.decide.people])} to decide."
    else:
        yield "It waits for a person to decide."
    approve, changes = node.decisions.approve, node.decisions.request_changes
    yield f"On approval, {_to(approve) if approve is not None else 'the run is completed'}."
    yield (
        f"When changes are requested, {_to(changes)}."
        if changes is not None
        else "Changes cannot be requested here."
    )
    if node.review is not None:
        yield f"An approval is refused when the head is no longer the one {node.review} reviewed."


def _to(target: RouteTarget) -> str:
    if target.repeat is None:
        return f"the run goes to {target.to}"
    bound = target.repeat
    return (
        f"the run goes to {target.to}, at most {_times(bound.max)} in a run, "
        f"after that to {bound.at_limit}"
    )


def _or_waits(target: RouteTarget | None) -> str:
    if target is None:
        return "the run waits unresolved for a person."
    return f"{_to(target)}."


def _times(count: int) -> str:
    return _TIMES.get(count, f"{count} times")


def duration(seconds: int) -> str:
    """Return a duration as an author would write it."""
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _condition(condition: Condition, *, inside: bool = False) -> str:
    match condition:
        case FieldTest():
            return _term(condition)
        case AllOf(all=parts):
            words = " and ".join(_condition(part, inside=True) for part in parts)
        case AnyOf(any=parts):
            words = " or ".join(_condition(part, inside=True) for part in parts)
    return f"({words})" if inside and len(parts) > 1 else words


def _term(test: FieldTest) -> str:
    operator, operand = test.operator, test.operand
    if operator in ("present", "absent"):
        return f"{test.field} is {'there' if operator == 'present' else 'not there'}"
    if isinstance(operand, tuple):
        return f"{test.field} is one of {', '.join(map(shown, operand))}"
    return f"{test.field} {_OPERATORS[operator]} {shown(operand)}"


def shown(value: JsonScalar) -> str:
    """Return a value as an author writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value).removesuffix(".0")
