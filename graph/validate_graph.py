"""The graph as a whole: everything can be reached, leads somewhere, and ends.

A cycle is bounded by a route that carries ``repeat``. Without those routes, but with the
destinations of exhausted bounds (§10.7), the graph must therefore have no cycle at all.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from pointsman.graph.definition import EndNode, GateNode, Node, Workflow
from pointsman.graph.edges import Edge, EdgeKind, Graph
from pointsman.graph.problem import Problem


def cycle_problems(graph: Graph) -> list[Problem]:
    """Return one problem for each edge that closes a cycle in which nothing is counted.

    Bounds that lead into automated work are left out: they are mistakes of their own.
    """
    workflow, unbounded = graph.workflow, defaultdict[str, list[Edge]](list)
    for edge in graph.edges:
        exit_ = edge.kind in (EdgeKind.REPEAT_LIMIT, EdgeKind.VISIT_LIMIT)
        rests = workflow.nodes[edge.to].kind in ("gate", "end")
        if not edge.bounded and (rests or not exit_):
            unbounded[edge.source].append(edge)
    closing = _closing_edges(workflow, unbounded)
    return [_unbounded(workflow, edge, cycle) for edge, cycle in closing]


def _closing_edges(
    workflow: Workflow, following: Mapping[str, list[Edge]]
) -> list[tuple[Edge, list[str]]]:
    """Walk depth first from the entry; an edge to a node still open closes a cycle.

    Without the edges found, the graph has no cycle: mending each of them is enough.
    """
    closing: dict[tuple[str | int, ...], tuple[Edge, list[str]]] = {}
    done: set[str] = set()
    starts = [workflow.entry, *workflow.nodes]
    for start in (name for name in starts if name in workflow.nodes):
        if start in done:
            continue
        trail = [start]
        todo = [iter(following.get(start, ()))]
        while todo:
            edge = next(todo[-1], None)
            if edge is None:
                todo.pop()
                done.add(trail.pop())
            elif edge.to in trail:
                closing.setdefault(edge.where, (edge, trail[trail.index(edge.to) :]))
            elif edge.to not in done:
                trail.append(edge.to)
                todo.append(iter(following.get(edge.to, ())))
    return list(closing.values())


def _unbounded(workflow: Workflow, edge: Edge, cycle: list[str]) -> Problem:
    way = " → ".join([*cycle, edge.to])
    if edge.kind is EdgeKind.VISIT_LIMIT:
        return Problem(
            code="unbounded_cycle",
            where=edge.where,
            message=f"once all visits are used this goes round without end: {way}; "
            f"'{edge.source}' leads to automated work, which is then refused",
            mend="name an end, or a gate from which no route leads back to automated work",
        )
    if edge.kind is EdgeKind.REPEAT_LIMIT:
        return Problem(
            code="unbounded_cycle",
            where=edge.where,
            message=f"the exhausted bound leads back into a cycle without a bound: {way}",
            mend="name an end, or bound a route of this cycle with repeat",
        )
    ends = [name for name, node in workflow.nodes.items() if isinstance(node, EndNode)]
    rest = workflow.visits.at_limit or (ends[0] if ends else "<a gate or an end>")
    return Problem(
        code="unbounded_cycle",
        where=edge.where,
        message=f"this goes round without a bound: {way}",
        mend=f"bound the return: {{to: {edge.to}, repeat: {{max: 2, at_limit: {rest}}}}}",
    )


def reach_problems(graph: Graph) -> list[Problem]:
    """Return the nodes no run can come to."""
    workflow, ways = graph.workflow, defaultdict[str, set[str]](set)
    for edge in graph.edges:
        ways[edge.source].add(edge.to)
    starts = [workflow.entry]
    if workflow.visits.at_limit is not None:
        starts.append(workflow.visits.at_limit)
    reached = _closure(starts, ways)
    return [_unreachable(name) for name in workflow.nodes if name not in reached]


def exit_problems(graph: Graph) -> list[Problem]:
    """Return the nodes from which no run can come to its end."""
    workflow, back = graph.workflow, defaultdict[str, set[str]](set)
    for edge in graph.edges:
        back[edge.to].add(edge.source)
    ending = _closure([name for name, node in workflow.nodes.items() if _ends(node)], back)
    return [_no_way_out(name) for name in workflow.nodes if name not in ending]


def _ends(node: Node) -> bool:
    """Whether a run can end here: a gate without ``approve`` completes it (§10.28)."""
    return isinstance(node, EndNode) or (
        isinstance(node, GateNode) and node.decisions.approve is None
    )


def _closure(starts: Iterable[str], ways: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    todo = list(starts)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo.extend(ways.get(name, ()))
    return seen


def _unreachable(name: str) -> Problem:
    return Problem(
        code="unreachable_node",
        where=("nodes", name),
        message=f"no route from the entry leads to node '{name}'",
        mend="lead a route to it, or leave it out",
    )


def _no_way_out(name: str) -> Problem:
    return Problem(
        code="no_way_out",
        where=("nodes", name),
        message=f"no route from node '{name}' ever comes to an end of the run",
        mend="lead a route to an end, or to a gate whose approval completes the run",
    )
