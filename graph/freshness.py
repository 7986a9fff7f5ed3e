"""Whether a review still speaks of the change as it is (spec, *Freshness*).

The head is compared before a join commits, before an approval, and before any other node that
says ``review:`` does its part. What was once overtaken stays so; what is unknown is no match.
"""

from pointsman.graph.changes import in_words
from pointsman.graph.definition import (
    AgentNode,
    CheckNode,
    DecisionNode,
    GateNode,
    JoinNode,
    ParallelNode,
)
from pointsman.graph.events import NodeUnresolved, UnresolvedReason
from pointsman.graph.review_events import JoinOutcome
from pointsman.graph.review_set import ReviewSet
from pointsman.graph.run import Run, Visit


def relied_on(run: Run) -> ReviewSet | None:
    """Return the review that the node being visited relies on; a join relies on its own."""
    node = run.node
    if isinstance(node, JoinNode) and run.visit is not None:
        return run.reviews[run.visit.node]
    if isinstance(node, AgentNode | CheckNode | DecisionNode | GateNode) and node.review:
        return run.reviews.get(node.review)
    return None


def stands(review: ReviewSet) -> bool:
    """Tell whether a review completed and was not overtaken since.

    Every declared way to a node that relies on a review has completed one, but a person who has
    the change reviewed again may be led there by a group that could freeze nothing.
    """
    return review.outcome is JoinOutcome.ALL_COMPLETED and review.stale is None


def comparison_due(run: Run) -> ReviewSet | None:
    """Return the review whose change must be looked at before the visit goes on.

    A gate asks only when somebody approves, since it may be open for days.
    """
    visit, review = run.visit, relied_on(run)
    if visit is None or review is None or isinstance(run.node, GateNode):
        return None
    if _has_begun(visit) or visit.comparison is not None:
        return None
    joins = isinstance(run.node, JoinNode) and review.outcome is None and review.stale is None
    return review if joins or stands(review) else None


def _has_begun(visit: Visit) -> bool:
    return bool(visit.attempts or visit.checks) and not visit.try_owed


def lost(run: Run, visit: Visit) -> NodeUnresolved | None:
    """Say that the visit cannot rely on its review any more, if that is so."""
    review = relied_on(run)
    if review is None or _has_begun(visit):
        return None
    if review.stale is not None:
        reason, detail = UnresolvedReason.REVIEW_STALE, moved(review)
    elif not stands(review):
        reason, detail = UnresolvedReason.REVIEW_UNRESOLVED, "its review did not complete"
    elif visit.comparison is not None and visit.comparison.head is None:
        reason, detail = UnresolvedReason.HEAD_UNKNOWN, unknown(review, visit.comparison.why)
    else:
        return None
    return NodeUnresolved(node=visit.node, visit_id=visit.visit_id, reason=reason, detail=detail)


def moved(review: ReviewSet) -> str:
    """Tell that the head is another one than was reviewed."""
    if review.stale == review.frozen_commit:
        return f"{in_words(review.change)} has moved since {review.stale} was reviewed, and is back"
    return (
        f"{in_words(review.change)} is at {review.stale}, and {review.frozen_commit} was reviewed"
    )


def unknown(review: ReviewSet, why: str | None) -> str:
    """Tell that nobody knows whether the head is still what was reviewed."""
    return f"where {in_words(review.change)} stands cannot be known: {why or 'no reason was given'}"


def fits_again(run: Run, group: str) -> bool:
    """Tell whether a new visit of a group, and one of each branch, are left."""
    node = run.workflow.nodes[group]
    assert isinstance(node, ParallelNode), f"{group} is no group"
    return run.visits_left > len(node.branches)
