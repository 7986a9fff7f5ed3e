"""Everything that can be wrong with a well-shaped definition: all problems, at their places.

Shapes and single values are ``definition``'s. Here: what nodes say about each other, as a list
of rules by subject: targets and contracts (this file), the graph, parallel groups with their
reviews, and conditions with bindings. Each rule stands alone, so that a test can leave it out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final

from pointsman.graph import limits
from pointsman.graph import validate_conditions as conditions
from pointsman.graph import validate_graph as whole
from pointsman.graph import validate_groups as groups
from pointsman.graph import validate_reviews as reviews
from pointsman.graph.declarations import ReportContract
from pointsman.graph.definition import AgentNode, ParallelNode, Workflow
from pointsman.graph.edges import Graph
from pointsman.graph.paths import REPORT_FIELDS
from pointsman.graph.problem import Problem, Where, listed, meant

__all__ = ["RULES", "Problem", "problems"]


def problems(workflow: Workflow, *, without: frozenset[str] = frozenset()) -> tuple[Problem, ...]:
    """Return every problem, up to ``limits.PROBLEMS_MAX``; none means that it is valid.

    What follows from a mistyped target is not told: a node may be out of reach for it. Rules
    named in ``without`` are left out; only tests do that.
    """
    assert without <= set(RULES), f"there is no rule {without - set(RULES)}"
    graph, found = Graph(workflow), list[Problem]()
    for name, rule in RULES.items():
        if name in without or (name in _OF_WHOLE_GRAPHS and _misled(found)):
            continue
        found.extend(islice(rule(graph), limits.PROBLEMS_MAX - len(found)))
    return tuple(found)


_MISLEADING: Final = frozenset({"unknown_target", "not_a_join", "not_a_group", "join_mismatch"})


def _misled(found: Iterable[Problem]) -> bool:
    return any(problem.code in _MISLEADING for problem in found)


def target_problems(graph: Graph) -> Iterator[Problem]:
    """Every route, limit destination and the entry names a node."""
    workflow = graph.workflow
    yield from _target(workflow, workflow.entry, ("entry",))
    for route in graph.routes:
        yield from _target(workflow, route.target.to, (*route.where, "to"))
    for name, where in _limit_destinations(graph):
        yield from _target(workflow, name, where)


def _target(workflow: Workflow, name: str, where: Where) -> Iterator[Problem]:
    if name not in workflow.nodes:
        yield Problem(
            code="unknown_target",
            where=where,
            message=f"there is no node '{name}'",
            mend=meant(name, workflow.nodes),
        )


def _limit_destinations(graph: Graph) -> Iterator[tuple[str, Where]]:
    for route in graph.routes:
        if route.target.repeat is not None:
            yield route.target.repeat.at_limit, (*route.where, "repeat", "at_limit")
    at_limit = graph.workflow.visits.at_limit
    if at_limit is not None:
        yield at_limit, ("visits", "at_limit")


def limit_destination_problems(graph: Graph) -> Iterator[Problem]:
    """An exhausted bound leads to a gate or an end, never to further automated work."""
    for name, where in _limit_destinations(graph):
        node = graph.workflow.nodes.get(name)
        if node is not None and node.kind not in ("gate", "end"):
            nodes = graph.workflow.nodes
            rests = [key for key, each in nodes.items() if each.kind in ("gate", "end")]
            yield Problem(
                code="limit_destination_automated",
                where=where,
                message=f"an exhausted bound may not lead to node '{name}' of kind {node.kind}",
                mend=f"name a gate or an end; there are: {listed(rests)}",
            )


def edge_problems(graph: Graph) -> Iterator[Problem]:
    """The graph has no more edges than published."""
    number = graph.counted
    if number > limits.EDGES_MAX:
        yield Problem(
            code="too_many_edges",
            where=("nodes",),
            message=f"the graph has {number} edges (routes, limit destinations, groups to their "
            f"joins); {limits.EDGES_MAX} may be",
            mend="merge rules that lead to the same node, or split the workflow",
        )


def contract_problems(graph: Graph) -> Iterator[Problem]:
    """No contract declares what every report has anyway."""
    for name, node in graph.workflow.nodes.items():
        if isinstance(node, AgentNode):
            yield from _reserved(node.report, ("nodes", name), f"report.{name}")
        elif isinstance(node, ParallelNode):
            for key, branch in node.branches.items():
                where = ("nodes", name, "branches", key)
                yield from _reserved(branch.report, where, f"join.{node.join}.{key}")


def _reserved(contract: ReportContract, where: Where, path: str) -> Iterator[Problem]:
    for field in contract.fields:
        if field in REPORT_FIELDS:
            yield Problem(
                code="reserved_field",
                where=(*where, "report", "fields", field),
                message=f"every report has its own '{field}'; it cannot be declared",
                mend=f"leave it out ({path}.{field} can be read) or rename it",
            )


# In this order: the rules of whole graphs look at what those before them have found.
RULES: Final[Mapping[str, Callable[[Graph], Iterable[Problem]]]] = MappingProxyType(
    {
        "targets": target_problems,
        "limit destinations": limit_destination_problems,
        "edges": edge_problems,
        "contracts": contract_problems,
        "groups and joins": groups.pairing_problems,
        "joins entered": groups.entry_problems,
        "groups inside themselves": groups.inside_problems,
        "frozen inputs": groups.freeze_problems,
        "reviewers' modes": groups.mode_problems,
        "reviewers' work": groups.work_problems,
        "cycles": whole.cycle_problems,
        "reached nodes": whole.reach_problems,
        "ways out": whole.exit_problems,
        "terms": conditions.size_problems,
        "rule names": conditions.name_problems,
        "condition paths": conditions.path_problems,
        "operands": conditions.operand_problems,
        "binding paths": conditions.binding_path_problems,
        "bound results": conditions.production_problems,
        "reviews": reviews.name_problems,
        "reviews done": reviews.done_problems,
    }
)
_OF_WHOLE_GRAPHS: Final = frozenset({"reached nodes", "ways out"})
