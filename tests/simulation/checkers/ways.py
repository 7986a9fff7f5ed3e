"""The way through the graph: one route a visit, bounds that hold, counters that never fall."""

from collections import Counter
from collections.abc import Iterator

from pointsman.graph import events as ev
from pointsman.graph.definition import AUTOMATED_KINDS, AgentNode
from pointsman.graph.edges import routes
from pointsman.graph.review_events import ReviewForked
from pointsman.graph.run import Run
from pointsman.graph.settlement import SettlementOutcome
from pointsman.storage.journal import Transition
from tests.simulation.chronicle import Checker


class OneRoute(Checker):
    """A visit is left by one route; an agent's by ``next`` only after work that settled well."""

    def __init__(self) -> None:
        self._left: set[str] = set()
        self._well: set[str] = set()

    def committed(self, transition: Transition, before: Run | None) -> Iterator[str]:
        for each in transition.events:
            match each.event:
                case ev.AttemptSettled(attempt_id=attempt, outcome=SettlementOutcome.SUCCEEDED):
                    self._well.add(attempt.rpartition(".")[0])
                case ev.RouteTaken(from_visit_id=str() as visit) as taken:
                    if visit in self._left:
                        yield f"{visit}: a second route was taken"
                    self._left.add(visit)
                    node = transition.run.workflow.nodes[taken.from_node or ""]
                    is_next = taken.reason is ev.RouteReason.NEXT
                    if isinstance(node, AgentNode) and is_next and visit not in self._well:
                        yield f"{visit}: went on before its work had settled well"
                case _:
                    pass


class Counters(Checker):
    """No counter of a run ever falls, and none passes what the definition bounds it by."""

    def __init__(self) -> None:
        self._taken: Counter[tuple[str, str]] = Counter()
        self._visits: Counter[str] = Counter()

    def committed(self, transition: Transition, before: Run | None) -> Iterator[str]:
        run = transition.run
        if before is not None:
            fell = run.visits_used < before.visits_used or any(
                after.get(key, 0) < count
                for counts, after in (
                    (before.route_counts, run.route_counts),
                    (before.visit_counts, run.visit_counts),
                )
                for key, count in counts.items()
            )
            if fell:
                yield f"{run.run_id}: a counter fell"
        for each in transition.events:
            yield from self._event(run, each.event)

    def _event(self, run: Run, event: ev.Event) -> Iterator[str]:
        visits = 0
        match event:
            case ev.RouteTaken(route=route, counted=True):
                self._taken[run.run_id, route] += 1
                if self._taken[run.run_id, route] > _bound(run, route):
                    yield f"{run.run_id}: {route} was taken more often than it may be"
            case ev.NodeEntered(node=node) if run.workflow.nodes[node].kind in AUTOMATED_KINDS:
                visits = 1
            case ev.RetryRequested():
                visits = 1
            case ReviewForked(branches=branches):
                visits = len(branches)
            case _:
                pass
        self._visits[run.run_id] += visits
        if visits and self._visits[run.run_id] > run.workflow.visits.max:
            yield f"{run.run_id}: more visits than it may have"


def _bound(run: Run, route: str) -> int:
    for each in routes(run.workflow):
        if "/".join(map(str, each.where[1:])) == route and each.target.repeat is not None:
            return each.target.repeat.max
    return 0
