"""A history told visit by visit: what each came to, and which route was taken from it, and why.

Read from the events alone, so that a rehearsal and a recorded run are told the same way.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from pointsman.graph import events as ev
from pointsman.graph import ids
from pointsman.graph import review_events as rev
from pointsman.graph.definition import Workflow
from pointsman.graph.edges import routes
from pointsman.graph.events import RecordedEvent, RouteReason
from pointsman.graph.explain import shown
from pointsman.graph.model import Model
from pointsman.graph.predicate import ConsideredRule

TEXT_CHARS_MAX: Final = 80


class Passage(Model):
    """A route as it was taken. ``repeat`` counts its passes in this run, if it is bounded."""

    route: str
    to: str
    reason: RouteReason
    label: str | None
    repeat: int | None = None
    repeat_max: int | None = None
    considered: tuple[ConsideredRule, ...] = ()


class Visited(Model):
    """One visit of a node. ``unresolved`` is the reason why it has no result."""

    node: str
    kind: str
    visit: int
    came_to: tuple[str, ...] = ()
    unresolved: str | None = None
    passage: Passage | None = None

    @property
    def line(self) -> str | None:
        """The route in one line, ``FROM -> TO (WHY)``, as tests of workflows expect it."""
        if self.passage is None:
            return None
        why = f" ({self.passage.label})" if self.passage.label is not None else ""
        return f"{self.node} -> {self.passage.to}{why}"


class Taken(Model):
    """How often each node was visited, and each route (by its key) led to each node.

    ``late`` counts apart the routes that the exhausted bound on all visits turned aside,
    ``branches`` by group and branch how often a reviewer was set to work, and how often it
    completed, and ``again`` by node and group how often people had a change reviewed anew.
    """

    visits: dict[str, int]
    routes: dict[tuple[str, str], int]
    late: int
    branches: dict[tuple[str, str], tuple[int, int]] = {}
    again: dict[tuple[str, str], int] = {}


def taken(recorded: Iterable[RecordedEvent]) -> Taken:
    """Count visits and routes of a history, for a drawing."""
    visits: Counter[str] = Counter()
    ways: Counter[tuple[str, str]] = Counter()
    again: Counter[tuple[str, str]] = Counter()
    begun: Counter[tuple[str, str]] = Counter()
    completed: Counter[tuple[str, str]] = Counter()
    late = 0
    for each in recorded:
        match each.event:
            case ev.NodeEntered(node=node):
                visits[node] += 1
            case ev.RouteTaken(reason=RouteReason.VISIT_LIMIT):
                late += 1
            case ev.RouteTaken(reason=RouteReason.REVIEW_AGAIN, from_node=str(node), to=to):
                again[node, to] += 1
            case ev.RouteTaken(route=route, to=to):
                ways[route, to] += 1
            case rev.ReviewForked(node=node, branches=branches):
                begun.update((node, branch.branch) for branch in branches)
            case rev.BranchEnded(outcome=rev.BranchOutcome.COMPLETED, branch_id=branch_id):
                place = ids.place_of(branch_id)
                completed[place.node, place.branch or ""] += 1
            case _:
                pass
    return Taken(
        visits=dict(visits),
        routes=dict(ways),
        late=late,
        branches={key: (count, completed[key]) for key, count in begun.items()},
        again=dict(again),
    )


def visited(workflow: Workflow, recorded: Iterable[RecordedEvent]) -> tuple[Visited, ...]:
    """Return a history's visits in order."""
    bounds = {
        "/".join(map(str, route.where[1:])): route.target.repeat.max
        for route in routes(workflow)
        if route.target.repeat is not None
    }
    passes: Counter[str] = Counter()
    found: list[Visited] = []
    for each in recorded:
        match each.event:
            case ev.NodeEntered(node=node, number=number):
                kind = workflow.nodes[node].kind
                found.append(Visited(node=node, kind=kind, visit=number))
            case ev.RouteTaken() as event if event.from_node is not None:
                passes[event.route] += event.counted
                passage = Passage(
                    route=event.route,
                    to=event.to,
                    reason=event.reason,
                    label=_label(event),
                    repeat=passes[event.route] if event.counted else None,
                    repeat_max=bounds.get(event.route),
                    considered=event.considered,
                )
                found[-1] = found[-1].model_copy(update={"passage": passage})
            case event:
                found[-1:] = [_with_words(visit, event) for visit in found[-1:]]
    return tuple(found)


def _label(event: ev.RouteTaken) -> str | None:
    """Return why a route was taken, in the author's own words where there are any."""
    match event.reason:
        case RouteReason.NEXT | RouteReason.ENTRY:
            return None
        case RouteReason.RULE:
            return event.rule
        case RouteReason.DECISION:
            return event.route.rpartition("/")[2]
        case reason:
            return reason.value


def _with_words(visit: Visited, event: ev.Event) -> Visited:
    words = _words(event)
    changes: dict[str, object] = {}
    if words is not None:
        changes["came_to"] = (*visit.came_to, words)
    if isinstance(event, ev.NodeUnresolved):
        changes["unresolved"] = event.reason.value
    return visit.model_copy(update=changes) if changes else visit


def _words(event: ev.Event) -> str | None:
    match event:
        case ev.ReportAccepted(attempt_id=attempt, outcome=outcome, data=data):
            given = ", ".join(f"{name} = {_short(shown(value))}" for name, value in data.items())
            return f"{_by(attempt)}reported {outcome}" + (f": {given}" if given else "")
        case ev.CheckEnded(state=state):
            if state.state == "lost":
                return "its process was lost"
            if state.timed_out:
                return "timed out"
            return "was stopped" if state.interrupted else f"exit code {state.exit_code}"
        case ev.GateRequested(title=title):
            return f"asks a person: {title}"
        case ev.GateDecided(decision=decision, note=note):
            return f"decided {decision}" + (f": {_short(note)}" if note else "")
        case ev.NodeUnresolved(reason=reason, detail=detail):
            return f"unresolved ({reason}): {detail}"
        case ev.RunCompleted():
            return "the run ends as completed"
        case ev.RunFailed():
            return "the run ends as failed"
        case _:
            return _words_of_review(event)


def _words_of_review(event: ev.Event) -> str | None:
    match event:
        case rev.BranchInterrupted(branch_id=branch):
            return f"{_by(branch)}was interrupted"
        case rev.BranchEnded(branch_id=branch, outcome=outcome, reason=reason) if reason:
            return f"{_by(branch)}{outcome} ({reason})"
        case rev.HeadCompared(frozen_commit=reviewed, head=head) if head != reviewed:
            return "the head is not what was reviewed" if head else "the head cannot be known"
        case rev.JoinCommitted(outcome=rev.JoinOutcome.ALL_COMPLETED, branches=branches):
            return f"all {len(branches)} reviewers completed"
        case rev.ReviewAgainRequested(group=group):
            return f"to be reviewed again by {group}"
        case _:
            return None


def _by(derived: str) -> str:
    """Name the reviewer that an id belongs to, if it is one's."""
    branch = ids.place_of(derived).branch
    return f"{branch} " if branch is not None else ""


def _short(text: str) -> str:
    """Return a text as one short line."""
    line = " ".join(text.split())
    return line if len(line) <= TEXT_CHARS_MAX else line[: TEXT_CHARS_MAX - 1] + "…"
