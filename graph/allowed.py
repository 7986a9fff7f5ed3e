"""The actions a run's state allows, each with the revision it needs.

Clients show these and nothing else; they never compute them (spec, *Public surface*).
"""

from enum import StrEnum
from typing import NamedTuple

from pointsman.graph.definition import (
    AgentNode,
    CheckNode,
    DecisionNode,
    GateDeciders,
    GateNode,
    ParallelNode,
)
from pointsman.graph.events import UnresolvedReason
from pointsman.graph.freshness import fits_again, relied_on, stands
from pointsman.graph.model import Model
from pointsman.graph.owed_reviews import change_of
from pointsman.graph.review_set import ReviewBranch
from pointsman.graph.run import OpenGate, Run, Visit
from pointsman.graph.tried import in_force

_NO_RETRY = frozenset(
    {
        UnresolvedReason.INPUT_MISSING,
        UnresolvedReason.INPUT_TOO_LARGE,
        UnresolvedReason.VISIT_LIMIT,
        UnresolvedReason.REVIEW_STALE,
    }
)
_REVIEW_LOST = frozenset(
    {
        UnresolvedReason.REVIEW_STALE,
        UnresolvedReason.REVIEW_FAILED,
        UnresolvedReason.REVIEW_UNRESOLVED,
        UnresolvedReason.REVIEW_CANCELED,
    }
)


class Action(StrEnum):
    """What a person may do to a run."""

    APPROVE = "approve"
    REQUEST_CHANGES = "request_changes"
    RESUME = "resume"
    RETRY = "retry"
    REVIEW_AGAIN = "review_again"
    ANSWER = "answer"
    CANCEL = "cancel"


class AllowedAction(Model):
    """One action with what it applies to; ``revision`` must be given back with it.

    ``deciders`` are the only ones who may do it, if the definition names any. ``commit`` is what a
    decision is about, ``review_set_id`` the review it relies on.
    """

    action: Action
    target: str
    revision: int | None = None
    request_id: str | None = None
    review_set_id: str | None = None
    commit: str | None = None
    deciders: GateDeciders | None = None


def allowed_actions(run: Run) -> tuple[AllowedAction, ...]:
    """Return every action that would be accepted now."""
    if run.ended or run.cancellation is not None:
        return ()
    actions: list[AllowedAction] = []
    if run.visit is not None and run.visit.gate is not None:
        actions += _on_gate(run, run.visit.gate)
    again = can_review_again(run)
    if again is not None:
        actions.append(
            AllowedAction(
                action=Action.REVIEW_AGAIN, target=again.visit_id, revision=again.revision
            )
        )
    for tried in in_force(run):
        actions += _on_unresolved(run, tried)
        actions += _on_requests(tried)
    return (*actions, AllowedAction(action=Action.CANCEL, target=run.run_id))


def _on_requests(tried: Visit | ReviewBranch) -> list[AllowedAction]:
    attempt = tried.attempt
    if attempt is None or attempt.timed_out:
        return []
    return [
        AllowedAction(
            action=Action.ANSWER, target=attempt.attempt_id, request_id=each.request.request_id
        )
        for each in attempt.requests
        if not each.answered and each.request.answerable != "no"
    ]


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
            review_set_id=gate.review.review_set_id if gate.review is not None else None,
            commit=gate.head_commit,
            deciders=deciders(run),
        )
        for decision in gate.offered
    ]


def _on_unresolved(run: Run, tried: Visit | ReviewBranch) -> list[AllowedAction]:
    if tried.unresolved is None:
        return []
    revision = tried.unresolved.revision
    actions = []
    if can_resume(tried) and tried.attempt is not None:
        actions.append(
            AllowedAction(action=Action.RESUME, target=tried.attempt.attempt_id, revision=revision)
        )
    if can_retry(run, tried):
        actions.append(AllowedAction(action=Action.RETRY, target=tried.tried_id, revision=revision))
    return actions


def can_resume(tried: Visit | ReviewBranch) -> bool:
    """Whether the interrupted native session may go on (§10.16)."""
    why, attempt = tried.unresolved, tried.attempt
    interrupted = why is not None and why.reason is UnresolvedReason.INTERRUPTED
    return interrupted and attempt is not None and attempt.resumable


def can_retry(run: Run, tried: Visit | ReviewBranch) -> bool:
    """Whether it may be tried again: that counts, so one visit must be left (§10.6)."""
    if tried.unresolved is None or tried.unresolved.reason in _NO_RETRY:
        return False
    if isinstance(tried, ReviewBranch):
        return run.visits_left > 0
    match run.workflow.nodes[tried.node]:
        case AgentNode() | CheckNode() | DecisionNode():
            return run.visits_left > 0
        case ParallelNode() as group:
            # The retry itself, and then a visit for each branch; a bad name stays a bad name.
            return change_of(run, group) is not None and fits_again(run, tried.node)
        case _:
            return False


class NewReview(NamedTuple):
    """Where a new generation of reviews may be asked for, and what must be named to ask."""

    node: str
    visit_id: str
    revision: int
    group: str


def can_review_again(run: Run) -> NewReview | None:
    """Return where a new review may be asked for (§10.25): a stale gate, an incomplete join, or a
    visit that cannot rely on its review any more.
    """
    visit, review = run.visit, relied_on(run)
    if run.ended or run.cancellation is not None or visit is None or review is None:
        return None
    if visit.unresolved is not None and visit.unresolved.reason in _REVIEW_LOST:
        revision = visit.unresolved.revision
    elif visit.gate is not None and visit.gate.decision is None and not stands(review):
        revision = visit.gate.revision
    else:
        return None
    if not fits_again(run, review.group):
        return None
    return NewReview(visit.node, visit.visit_id, revision, review.group)
