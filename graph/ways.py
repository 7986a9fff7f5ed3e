"""Whether a result is there on every way to a node.

Leaving the producer well brings its result; leaving it otherwise takes an earlier one away
(§10.30 of the design). A node can therefore be entered without the result exactly if a way leads
to it from the entry on which the producer is never left well since it was entered last; and then
also one on which it is never left well at all, for the first part of the way can be cut off at
the first entry of the producer.
"""

from collections import defaultdict, deque

from pointsman.graph.edges import EdgeKind, Graph

_Following = dict[str, dict[str, bool]]


class Ways:
    """The ways through one workflow; each producer is searched for once."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._following: dict[bool, _Following] = {}
        self._found: dict[tuple[str, bool], dict[str, str | None]] = {}

    def without(self, to: str, producer: str, *, with_all_visits_used: bool) -> list[str] | None:
        """Return a shortest way from the entry to a node on which ``producer`` left no result.

        With all visits used only gates, ends and joins are entered, so the ways over the
        whole-run exit matter for those alone.
        """
        key = (producer, with_all_visits_used)
        if key not in self._found:
            self._found[key] = self._search(producer, with_all_visits_used)
        came_from = self._found[key]
        if to not in came_from:
            return None
        way: list[str] = []
        step: str | None = to
        while step is not None:
            way.append(step)
            step = came_from[step]
        return way[::-1]

    def _search(self, producer: str, with_all_visits_used: bool) -> dict[str, str | None]:
        if with_all_visits_used not in self._following:
            self._following[with_all_visits_used] = self._edges(with_all_visits_used)
        following = self._following[with_all_visits_used]
        entry = self._graph.workflow.entry
        came_from: dict[str, str | None] = {entry: None}
        todo = deque([entry])
        while todo:
            name = todo.popleft()
            for to, always_well in following.get(name, {}).items():
                if to not in came_from and not (name == producer and always_well):
                    came_from[to] = name
                    todo.append(to)
        return came_from

    def _edges(self, with_all_visits_used: bool) -> _Following:
        """Return for each node where it leads, and whether only its good ends lead there."""
        following: _Following = defaultdict(dict)
        for edge in self._graph.edges:
            if with_all_visits_used or edge.kind is not EdgeKind.VISIT_LIMIT:
                leading = following[edge.source]
                leading[edge.to] = leading.get(edge.to, True) and edge.leaves_result
        return following
