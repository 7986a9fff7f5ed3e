"""What conditions and bindings name: it exists, has the right type, and is there in time."""

from collections import defaultdict, deque

from pointsman.graph.definition import AgentNode, DecisionNode, Workflow
from pointsman.graph.edges import Edge, EdgeKind, edges
from pointsman.graph.paths import Path, Root, declared, parse, result_fields, why_unknown
from pointsman.graph.predicate import count_problems, depth_problems, terms, type_problems
from pointsman.graph.problem import Problem, Where


def condition_problems(workflow: Workflow) -> list[Problem]:
    """Check every decision's rules: names, size, paths and operands."""
    found: list[Problem] = []
    for name, node in workflow.nodes.items():
        if isinstance(node, DecisionNode):
            found += _decision_problems(workflow, node, ("nodes", name, "rules"))
    return found


def _decision_problems(workflow: Workflow, node: DecisionNode, where: Where) -> list[Problem]:
    found = count_problems(tuple(rule.when for rule in node.rules), where)
    names: dict[str, int] = {}
    for index, rule in enumerate(node.rules):
        first = names.setdefault(rule.name, index)
        if first != index:
            found.append(
                Problem(
                    code="duplicate_rule_name",
                    where=(*where, index, "name"),
                    message=f"rule {first + 1} of this decision is named '{rule.name}' too",
                    mend="name each rule of a decision differently; the trace shows the names",
                )
            )
        found += depth_problems(rule.when, (*where, index, "when"))
        for place, test, _ in terms(rule.when, (*where, index, "when")):
            path = parse(test.field)
            declaration = declared(workflow, path) if path is not None else None
            if declaration is None:
                found.append(_unknown_path(workflow, test.field, (*place, "field")))
            else:
                found += type_problems(test, declaration, place)
    return found


def _unknown_path(workflow: Workflow, text: str, where: Where) -> Problem:
    message, mend = why_unknown(workflow, text)
    return Problem(code="unknown_path", where=where, message=message, mend=mend)


def binding_problems(workflow: Workflow) -> list[Problem]:
    """Check every agent's inputs; a required result must be there on every way to the agent."""
    found: list[Problem] = []
    following: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges(workflow):
        # With all visits used no agent is entered any more, so nothing is bound on such a way.
        if edge.kind is not EdgeKind.VISIT_LIMIT:
            following[edge.source].append(edge)
    for name, node in workflow.nodes.items():
        if not isinstance(node, AgentNode):
            continue
        for key, binding in node.inputs.items():
            where = ("nodes", name, "inputs", key, "from")
            path = parse(binding.from_)
            if path is None or not _exists(workflow, path):
                found.append(_unknown_path(workflow, binding.from_, where))
            elif not binding.optional and path.root is not Root.INPUT:
                way = _way_without(workflow.entry, name, path.name, following)
                if way is not None:
                    found.append(_not_produced(path, way, where))
    return found


def _exists(workflow: Workflow, path: Path) -> bool:
    if path.whole:
        return result_fields(workflow, path) is not None
    return declared(workflow, path) is not None


def _way_without(
    entry: str, to: str, producer: str, following: dict[str, list[Edge]]
) -> list[str] | None:
    """Return a shortest way from the entry to a node on which ``producer`` left no result.

    A state is a node and whether the result is there when it is entered. Leaving the producer
    well brings it; leaving it otherwise takes an earlier one away (§10.30).
    """
    start = (entry, False)
    came_from: dict[tuple[str, bool], tuple[str, bool] | None] = {start: None}
    todo = deque([start])
    while todo:
        state = todo.popleft()
        if state == (to, False):
            break
        for edge in following.get(state[0], ()):
            there = edge.leaves_result if state[0] == producer else state[1]
            if (edge.to, there) not in came_from:
                came_from[edge.to, there] = state
                todo.append((edge.to, there))
    if (to, False) not in came_from:
        return None
    way: list[str] = []
    step: tuple[str, bool] | None = (to, False)
    while step is not None:
        way.append(step[0])
        step = came_from[step]
    return way[::-1]


def _not_produced(path: Path, way: list[str], where: Where) -> Problem:
    return Problem(
        code="binding_not_produced",
        where=where,
        message=f"'{path.name}' has left no {path.root} on the way {' → '.join(way)}",
        mend=f"make it optional: {{from: {path}, optional: true}}",
    )
