"""Everything that can be wrong with a well-shaped definition: all problems, at their places.

Shapes and single values are ``definition``'s. Here: what nodes say about each other, by
subject: targets (this file), the graph, and conditions with bindings.
"""

from collections.abc import Iterator

from pointsman.graph import limits
from pointsman.graph.definition import AUTOMATED_KINDS, AgentNode, Workflow
from pointsman.graph.edges import count, routes
from pointsman.graph.paths import REPORT_FIELDS
from pointsman.graph.problem import Problem, Where, listed, meant
from pointsman.graph.validate_conditions import binding_problems, condition_problems
from pointsman.graph.validate_graph import cycle_problems, reach_problems

__all__ = ["Problem", "problems"]


def problems(workflow: Workflow) -> tuple[Problem, ...]:
    """Return every problem; none means that a run can be started from this definition.

    What follows from a mistyped target is not told: a node may be out of reach for it.
    """
    targets = list(_target_problems(workflow))
    found = [*targets, *_limit_problems(workflow), *_report_problems(workflow)]
    found += cycle_problems(workflow)
    if not any(problem.code == "unknown_target" for problem in targets):
        found += reach_problems(workflow)
    found += condition_problems(workflow)
    found += binding_problems(workflow)
    return tuple(found)


def _target_problems(workflow: Workflow) -> Iterator[Problem]:
    yield from _target(workflow, workflow.entry, ("entry",))
    for route in routes(workflow):
        yield from _target(workflow, route.target.to, (*route.where, "to"))
        if route.target.repeat is not None:
            where = (*route.where, "repeat", "at_limit")
            yield from _limit_target(workflow, route.target.repeat.at_limit, where)
    if workflow.visits.at_limit is not None:
        yield from _limit_target(workflow, workflow.visits.at_limit, ("visits", "at_limit"))


def _target(workflow: Workflow, name: str, where: Where) -> Iterator[Problem]:
    if name not in workflow.nodes:
        yield Problem(
            code="unknown_target",
            where=where,
            message=f"there is no node '{name}'",
            mend=meant(name, workflow.nodes),
        )


def _limit_target(workflow: Workflow, name: str, where: Where) -> Iterator[Problem]:
    yield from _target(workflow, name, where)
    node = workflow.nodes.get(name)
    if node is not None and node.kind in AUTOMATED_KINDS:
        rests = [other for other, each in workflow.nodes.items() if each.kind in ("gate", "end")]
        yield Problem(
            code="limit_destination_automated",
            where=where,
            message=f"an exhausted bound may not lead to node '{name}' of kind {node.kind}",
            mend=f"name a gate or an end; there are: {listed(rests)}",
        )


def _limit_problems(workflow: Workflow) -> Iterator[Problem]:
    number = count(workflow)
    if number > limits.EDGES_MAX:
        yield Problem(
            code="too_many_edges",
            where=("nodes",),
            message=f"the graph has {number} edges (routes and limit destinations); "
            f"{limits.EDGES_MAX} may be",
            mend="merge rules that lead to the same node, or split the workflow",
        )


def _report_problems(workflow: Workflow) -> Iterator[Problem]:
    for name, node in workflow.nodes.items():
        if not isinstance(node, AgentNode):
            continue
        for field in node.report.fields:
            if field in REPORT_FIELDS:
                yield Problem(
                    code="reserved_field",
                    where=("nodes", name, "report", "fields", field),
                    message=f"every report has its own '{field}'; it cannot be declared",
                    mend=f"leave it out (report.{name}.{field} can be read) or rename it",
                )
