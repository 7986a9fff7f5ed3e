"""Which edge a finished visit takes, and what the bounds make of it (§10.1–7 of the design)."""

from pointsman.graph import ids
from pointsman.graph.binding import InputsTooLarge, MissingInput, Resolved, resolve
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
from pointsman.graph.edges import routes
from pointsman.graph.events import (
    Event,
    NodeEntered,
    NodeUnresolved,
    RouteReason,
    RouteTaken,
    RunCompleted,
    UnresolvedReason,
)
from pointsman.graph.model import JsonScalar
from pointsman.graph.paths import parse, value_at
from pointsman.graph.predicate import ConsideredRule, evaluate
from pointsman.graph.results import GateDecision
from pointsman.graph.run import Run, Visit


def enter_first(run: Run) -> tuple[Event, ...]:
    """Enter the definition's entry node."""
    return _follow(run, None, "entry", RouteTarget(to=run.workflow.entry), RouteReason.ENTRY)


def leave(run: Run, visit: Visit) -> tuple[Event, ...]:
    """Take the route of a visit that has completed."""
    node = run.workflow.nodes[visit.node]
    match node:
        case AgentNode() | CheckNode():
            return _follow(run, visit, f"{visit.node}/next", node.next, RouteReason.NEXT)
        case DecisionNode():
            return _decide(run, visit, node)
        case GateNode():
            return _leave_gate(run, visit, node)
        case ParallelNode():
            target = RouteTarget(to=node.join)
            return _follow(run, visit, f"{visit.node}/join", target, RouteReason.JOIN)
        case JoinNode():
            return _follow(run, visit, f"{visit.node}/next", node.next, RouteReason.NEXT)
        case EndNode():
            raise AssertionError(f"{visit.visit_id} is an end: nothing follows")


def leave_unresolved(run: Run, visit: Visit) -> tuple[Event, ...]:
    """Take the declared route of a visit without a result at once (§10.15), if there is one."""
    bound = visit.unresolved
    if bound is None or bound.reason is UnresolvedReason.VISIT_LIMIT:
        return ()
    match run.workflow.nodes[visit.node]:
        case AgentNode() | CheckNode() | ParallelNode() as node if node.unresolved is not None:
            key = f"{visit.node}/unresolved"
            return _follow(run, visit, key, node.unresolved, RouteReason.UNRESOLVED)
        case JoinNode() as node if node.incomplete is not None:
            key = f"{visit.node}/incomplete"
            return _follow(run, visit, key, node.incomplete, RouteReason.INCOMPLETE)
        case _:
            return ()


def review_again(run: Run, visit: Visit, group: str) -> tuple[Event, ...]:
    """Go back to a group for a new generation of reviews, as a person asked (§10.25)."""
    key = f"{visit.node}/review_again"
    return _follow(run, visit, key, RouteTarget(to=group), RouteReason.REVIEW_AGAIN)


def turn_aside(run: Run, visit: Visit, needed: int) -> tuple[Event, ...]:
    """Take the bound's exit from a group whose branches have too few visits left (§10.5).

    Like any other refusal it is the whole run's, else that of the route that led here (§10.3).
    """
    exit_ = run.workflow.visits.at_limit or _limit_of(run.workflow, run.last_route)
    if exit_ is None:
        left, bound = run.visits_left, run.workflow.visits.max
        detail = f"{needed} branches need a visit each; {left} of {bound} are left"
        return (
            NodeUnresolved(
                node=visit.node,
                visit_id=visit.visit_id,
                reason=UnresolvedReason.VISIT_LIMIT,
                detail=detail,
            ),
        )
    taken = RouteTaken(
        from_node=visit.node,
        from_visit_id=visit.visit_id,
        route=f"{visit.node}/branches",
        reason=RouteReason.VISIT_LIMIT,
        to=exit_,
    )
    return (taken, *_enter(run, exit_))


def _limit_of(workflow: Workflow, key: str | None) -> str | None:
    """Return the limit destination of the route with this key, if it has one."""
    found = (each.target.repeat for each in routes(workflow) if each.key == key)
    repeat = next(found, None)
    return repeat.at_limit if repeat is not None else None


def _decide(run: Run, visit: Visit, node: DecisionNode) -> tuple[Event, ...]:
    considered: list[ConsideredRule] = []
    for index, rule in enumerate(node.rules):
        found = evaluate(rule.when, lambda path: _lookup(run, path))
        considered.append(ConsideredRule(name=rule.name, holds=found.holds, terms=found.terms))
        if found.holds:
            key = f"{visit.node}/rules/{index}"
            trace = tuple(considered)
            return _follow(
                run, visit, key, rule.route, RouteReason.RULE, rule=rule.name, considered=trace
            )
    key = f"{visit.node}/otherwise"
    trace = tuple(considered)
    return _follow(run, visit, key, node.otherwise, RouteReason.OTHERWISE, considered=trace)


def _lookup(run: Run, path: str) -> JsonScalar | None:
    parsed = parse(path)
    assert parsed is not None, f"{path!r} passed validation but is no path"
    value: JsonScalar | None = value_at(parsed, run.inputs, run.results)
    return value


def _leave_gate(run: Run, visit: Visit, node: GateNode) -> tuple[Event, ...]:
    assert visit.gate is not None, f"{visit.visit_id} has no gate"
    assert visit.gate.decision is not None, f"{visit.visit_id} is open"
    decision = visit.gate.decision
    approved = decision is GateDecision.APPROVE
    route = node.decisions.approve if approved else node.decisions.request_changes
    if route is None:
        assert approved, f"{visit.visit_id}: {decision} was not offered"
        return (RunCompleted(node=visit.node, head_commit=run.head_commit),)
    key = f"{visit.node}/decisions/{decision}"
    return _follow(run, visit, key, route, RouteReason.DECISION)


def _follow(
    run: Run,
    visit: Visit | None,
    route: str,
    target: RouteTarget,
    reason: RouteReason,
    *,
    rule: str | None = None,
    considered: tuple[ConsideredRule, ...] = (),
) -> tuple[Event, ...]:
    """Take a route within its bounds: its own repeat first, then the whole run's visits."""
    to, counted = target.to, target.repeat is not None
    if target.repeat is not None and run.route_counts.get(route, 0) >= target.repeat.max:
        to, reason, counted = target.repeat.at_limit, RouteReason.REPEAT_LIMIT, False
    if run.workflow.nodes[to].kind in AUTOMATED_KINDS and run.visits_left == 0:
        own_limit = target.repeat.at_limit if target.repeat is not None else None
        exit_ = run.workflow.visits.at_limit or own_limit
        if exit_ is None:
            return (_no_visit_left(run, visit, to),)
        to, reason, counted = exit_, RouteReason.VISIT_LIMIT, False
    taken = RouteTaken(
        from_node=visit.node if visit is not None else None,
        from_visit_id=visit.visit_id if visit is not None else None,
        route=route,
        reason=reason,
        to=to,
        rule=rule,
        counted=counted,
        considered=considered,
    )
    return (taken, *_enter(run, to))


def _no_visit_left(run: Run, visit: Visit | None, to: str) -> NodeUnresolved:
    assert visit is not None, f"{run.run_id}: the first visit is always admitted"
    return NodeUnresolved(
        node=visit.node,
        visit_id=visit.visit_id,
        reason=UnresolvedReason.VISIT_LIMIT,
        detail=f"{run.visits_used} of {run.workflow.visits.max} visits are used; "
        f"{to!r} was not entered",
    )


def _enter(run: Run, name: str) -> tuple[Event, ...]:
    node = run.workflow.nodes[name]
    number = run.visit_counts.get(name, 0) + 1
    visit = ids.visit_id(run.run_id, name, number)
    bindings = node.inputs if isinstance(node, AgentNode) else {}
    found = resolve(bindings, run.inputs, run.results)
    if isinstance(node, ParallelNode):
        found = _of_branches(run, node) or found
    entered = NodeEntered(
        node=name,
        visit_id=visit,
        number=number,
        visits_used=run.visits_used + 1,
        inputs=found.values if isinstance(found, Resolved) else {},
        references=found.references if isinstance(found, Resolved) else {},
    )
    match found:
        case Resolved():
            return (entered,)
        case MissingInput(names=names):
            reason, detail = UnresolvedReason.INPUT_MISSING, f"no value for {', '.join(names)}"
        case InputsTooLarge(size=size):
            reason, detail = UnresolvedReason.INPUT_TOO_LARGE, f"the inputs have {size} bytes"
    return (entered, NodeUnresolved(node=name, visit_id=visit, reason=reason, detail=detail))


def _of_branches(run: Run, node: ParallelNode) -> MissingInput | InputsTooLarge | None:
    """Say what keeps a branch from its inputs; the fork reads them from the same results."""
    missing: list[str] = []
    for key, branch in node.branches.items():
        found = resolve(branch.inputs, run.inputs, run.results)
        if isinstance(found, InputsTooLarge):
            return found
        if isinstance(found, MissingInput):
            missing += [f"{name} of branch {key}" for name in found.names]
    return MissingInput(names=tuple(missing)) if missing else None
