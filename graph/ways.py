"""Whether a result is there on every way to a node: a search over (node, result there or not).

Leaving the producer well brings its result; leaving it otherwise takes an earlier one away
(§10.30 of the design).
"""

from collections import defaultdict, deque
from functools import cached_property

from pointsman.graph.definition import Workflow
from pointsman.graph.edges import Edge, EdgeKind, edges

_State = tuple[str, bool]


class Ways:
    """The ways through one workflow; each producer is searched for once."""

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._found: dict[tuple[str, bool], dict[_State, _State | None]] = {}

    @cached_property
    def _edges(self) -> tuple[Edge, ...]:
        return edges(self._workflow)

    def without(self, to: str, producer: str, *, with_all_visits_used: bool) -> list[str] | None:
        """Return a shortest way from the entry to a node on which ``producer`` left no result.

        With all visits used only gates, ends and joins are entered, so the ways over the
        whole-run exit matter for those alone.
        """
        key = (producer, with_all_visits_used)
        if key not in self._found:
            self._found[key] = self._search(producer, with_all_visits_used)
        came_from = self._found[key]
        if (to, False) not in came_from:
            return None
        way: list[str] = []
        step: _State | None = (to, False)
        while step is not None:
            way.append(step[0])
            step = came_from[step]
        return way[::-1]

    def _search(self, producer: str, with_all_visits_used: bool) -> dict[_State, _State | None]:
        following: dict[str, list[Edge]] = defaultdict(list)
        for edge in self._edges:
            if with_all_visits_used or edge.kind is not EdgeKind.VISIT_LIMIT:
                following[edge.source].append(edge)
        start = (self._workflow.entry, False)
        came_from: dict[_State, _State | None] = {start: None}
        todo = deque([start])
        while todo:
            state = todo.popleft()
            for edge in following.get(state[0], ()):
                there = edge.leaves_result if state[0] == producer else state[1]
                if (edge.to, there) not in came_from:
                    came_from[edge.to, there] = state
                    todo.append((edge.to, there))
        return came_from
