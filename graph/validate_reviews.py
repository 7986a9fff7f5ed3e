"""Nodes that say ``review``: they name a join, and its review stands on every way to them.

Without that the head could be compared with nothing (§10.26 and 27 of the design).
"""

from collections.abc import Iterator

from pointsman.graph.definition import EndNode, JoinNode, ParallelNode, Workflow
from pointsman.graph.edges import Graph
from pointsman.graph.problem import Problem, meant
from pointsman.graph.ways import Ways


def _reviewing(workflow: Workflow) -> Iterator[tuple[str, str]]:
    for name, node in workflow.nodes.items():
        if not isinstance(node, ParallelNode | JoinNode | EndNode) and node.review is not None:
            yield name, node.review


def name_problems(graph: Graph) -> Iterator[Problem]:
    """A review is named by its join."""
    workflow = graph.workflow
    joins = [name for name, node in workflow.nodes.items() if isinstance(node, JoinNode)]
    for name, review in _reviewing(workflow):
        if review not in joins:
            known = review in workflow.nodes
            what = f"node '{review}' is no join" if known else f"there is no join '{review}'"
            mend = meant(review, joins) if joins else "leave 'review' out; there is no join"
            where = ("nodes", name, "review")
            yield Problem(code="unknown_review", where=where, message=what, mend=mend)


def done_problems(graph: Graph) -> Iterator[Problem]:
    """Whoever comes to such a node comes from a completed review."""
    workflow, ways = graph.workflow, Ways(graph)
    for name, review in _reviewing(workflow):
        if not isinstance(workflow.nodes.get(review), JoinNode):
            continue
        rests = workflow.nodes[name].kind == "gate"
        way = ways.without(name, review, with_all_visits_used=rests)
        if way is not None:
            yield Problem(
                code="review_not_done",
                where=("nodes", name, "review"),
                message=f"no review of '{review}' stands on the way {' → '.join(way)}",
                mend="lead that way to another node, one without 'review'",
            )
