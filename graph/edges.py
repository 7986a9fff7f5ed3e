"""The edges of a workflow: declared routes, groups to their joins, exits of exhausted bounds.

Counted for the published limit are routes, limit destinations and each group's way to its join
(§10.8). The whole-run bound is one declaration but leads away from every route into automated
work, and from a group that has too few visits left for its branches, so there is one edge for
each of those.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from pointsman.graph.definition import (
    AUTOMATED_KINDS,
    AgentNode,
    CheckNode,
    DecisionNode,
    EndNode,
    GateNode,
    JoinNode,
    ParallelNode,
    RouteTarget,
    Workflow,
)
from pointsman.graph.problem import Where


class EdgeKind(StrEnum):
    """What makes a run take an edge."""

    ROUTE = "route"
    JOIN = "join"
    REPEAT_LIMIT = "repeat_limit"
    VISIT_LIMIT = "visit_limit"


class Declared(NamedTuple):
    """A route as it stands in the definition. ``leaves_result``: the visit ended well."""

    source: str
    where: Where
    target: RouteTarget
    leaves_result: bool

    @property
    def key(self) -> str:
        """What names the route in events and counters, such as ``verdict/rules/0``."""
        return "/".join(map(str, self.where[1:]))


class Edge(NamedTuple):
    """One way from node to node. ``bounded``: it carries a repeat of its own."""

    source: str
    to: str
    kind: EdgeKind
    where: Where
    bounded: bool
    leaves_result: bool


def routes(workflow: Workflow) -> Iterator[Declared]:
    """Yield every declared route in the order of the document."""
    for name, node in workflow.nodes.items():
        here = ("nodes", name)
        match node:
            case AgentNode() | CheckNode():
                yield Declared(name, (*here, "next"), node.next, True)
                if node.unresolved is not None:
                    yield Declared(name, (*here, "unresolved"), node.unresolved, False)
            case DecisionNode():
                for index, rule in enumerate(node.rules):
                    yield Declared(name, (*here, "rules", index), rule.route, True)
                yield Declared(name, (*here, "otherwise"), node.otherwise, True)
            case GateNode(decisions=decisions):
                for decision in ("approve", "request_changes"):
                    target = getattr(decisions, decision)
                    if target is not None:
                        yield Declared(name, (*here, "decisions", decision), target, True)
            case ParallelNode():
                if node.unresolved is not None:
                    yield Declared(name, (*here, "unresolved"), node.unresolved, False)
            case JoinNode():
                yield Declared(name, (*here, "next"), node.next, True)
                if node.incomplete is not None:
                    yield Declared(name, (*here, "incomplete"), node.incomplete, False)
            case EndNode():
                pass


def _route_edges(workflow: Workflow, declared: Iterable[Declared]) -> Iterator[Edge]:
    for route in declared:
        repeat = route.target.repeat
        bounded, leaves_result = repeat is not None, route.leaves_result
        where = (*route.where, "to")
        yield Edge(route.source, route.target.to, EdgeKind.ROUTE, where, bounded, leaves_result)
        if repeat is not None:
            where = (*route.where, "repeat", "at_limit")
            to = repeat.at_limit
            yield Edge(route.source, to, EdgeKind.REPEAT_LIMIT, where, False, leaves_result)
        target = workflow.nodes.get(route.target.to)
        if workflow.visits.at_limit is not None and target and target.kind in AUTOMATED_KINDS:
            where = ("visits", "at_limit")
            to = workflow.visits.at_limit
            yield Edge(route.source, to, EdgeKind.VISIT_LIMIT, where, False, leaves_result)


def _group_edges(workflow: Workflow, declared: Iterable[Declared]) -> Iterator[Edge]:
    """Lead each group to its join, and to the bound's exit when its branches do not fit."""
    limited = [each for each in declared if each.target.repeat is not None]
    for name, node in workflow.nodes.items():
        if not isinstance(node, ParallelNode):
            continue
        yield Edge(name, node.join, EdgeKind.JOIN, ("nodes", name, "join"), False, True)
        if workflow.visits.at_limit is not None:
            where: Where = ("visits", "at_limit")
            yield Edge(name, workflow.visits.at_limit, EdgeKind.VISIT_LIMIT, where, False, True)
            continue
        for route in limited:
            if route.target.to == name and route.target.repeat is not None:
                where, to = (*route.where, "repeat", "at_limit"), route.target.repeat.at_limit
                yield Edge(name, to, EdgeKind.VISIT_LIMIT, where, False, True)


class Graph:
    """A workflow with its routes and edges, each worked out once."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow

    @cached_property
    def routes(self) -> tuple[Declared, ...]:
        """Every declared route in the order of the document."""
        return tuple(routes(self.workflow))

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Every edge between nodes that exist."""
        return tuple(
            edge
            for edge in (
                *_route_edges(self.workflow, self.routes),
                *_group_edges(self.workflow, self.routes),
            )
            if edge.to in self.workflow.nodes
        )

    @property
    def counted(self) -> int:
        """How many edges count for the published limit (§10.8)."""
        declared = sum(1 if route.target.repeat is None else 2 for route in self.routes)
        groups = sum(isinstance(node, ParallelNode) for node in self.workflow.nodes.values())
        return declared + groups + (self.workflow.visits.at_limit is not None)
