"""The actions a run's state allows, each with the revision it needs.

Clients show these and nothing else; they never compute them (spec, *Public surface*).
"""

from enum import StrEnum

from pointsman.graph.definition import AgentNode, CheckNode, GateDeciders, GateNode
from pointsman.graph.events import UnresolvedReason
from pointsman.graph.model import Model
from pointsman.graph.run import OpenGate, Run, Visit

_NO_RETRY = frozenset(
    {
        UnresolvedReason.INPUT_MISSING,
        UnresolvedReason.INPUT_TOO_LARGE,
        UnresolvedReason.VISIT_LIMIT,
    }
)


class Action(StrEnum):
    """What a person may do to a run."""

    APPROVE = "approve"
    REQUEST_CHANGES = "request_changes"
    RESUME = "resume"
    RETRY = "retry"
    ANSWER = "answer"
    CANCEL = "cancel"


class AllowedAction(Model):
    """One action with what it applies to; ``revision`` must be given back with it.

    ``deciders`` are the only ones who may do it, if the definition names any.
    """

    action: Action
    target: str
    revision: int | None = None
    request_id: str | None = None
    deciders: GateDeciders | None = None


def allowed_actions(run: Run) -> tuple[AllowedAction, ...]:
    """Return every action that would be accepted now."""
    if run.ended or run.cancellation is not None:
        return ()
    actions: list[AllowedAction] = []
    visit = run.visit
    if visit is not None and visit.gate is not None:
        actions += _on_gate(run, visit.gate)
    if visit is not None and visit.unresolved is not None:
        actions += _on_unresolved(run, visit)
    if visit is not None and visit.attempt is not None:
        actions += [
            AllowedAction(
                action=Action.ANSWER,
                target=visit.attempt.attempt_id,
                request_id=each.request.request_id,
            )
            for each in visit.attempt.requests
            if not each.answered and each.request.answerable != "no"
        ]
    return (*actions, AllowedAction(action=Action.CANCEL, target=run.run_id))


def deciders(run: Run) -> GateDeciders | None:
    """Return who alone may decide the gate being visited; ``None`` if everyone may."""
    return run.node.decide if isinstance(run.node, GateNode) else None


def in_words(may: GateDeciders) -> str:
    """Name those who may decide: ``ann, bob or anyone of role maintainer``."""
    named = [", ".join(may.people)] if may.people else []
    if may.roles:
        named.append(f"anyone of role {' or '.join(may.roles)}")
    return " or ".join(named)


def _on_gate(run: Run, gate: OpenGate) -> list[AllowedAction]:
    if gate.decision is not None:
        return []
    return [
        AllowedAction(
            action=Action(decision),
            target=gate.gate_id,
            revision=gate.revision,
            deciders=deciders(run),
        )
        for decision in gate.offered
    ]


def _on_unresolved(run: Run, visit: Visit) -> list[AllowedAction]:
    assert visit.unresolved is not None, f"{visit.visit_id} is not unresolved"
    revision = visit.unresolved.revision
    actions = []
    if can_resume(visit) and visit.attempt is not None:
        actions.append(
            AllowedAction(action=Action.RESUME, target=visit.attempt.attempt_id, revision=revision)
        )
    if can_retry(run, visit):
        actions.append(AllowedAction(action=Action.RETRY, target=visit.visit_id, revision=revision))
    return actions


def can_resume(visit: Visit) -> bool:
    """Whether the interrupted native session may go on (§10.16)."""
    why, attempt = visit.unresolved, visit.attempt
    interrupted = why is not None and why.reason is UnresolvedReason.INTERRUPTED
    return interrupted and attempt is not None and attempt.resumable


def can_retry(run: Run, visit: Visit) -> bool:
    """Whether the visit may be tried again: it counts, so one visit must be left (§10.6)."""
    if visit.unresolved is None or visit.unresolved.reason in _NO_RETRY:
        return False
    works = isinstance(run.workflow.nodes[visit.node], AgentNode | CheckNode)
    return works and run.visits_left > 0
