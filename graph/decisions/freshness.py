"""What the host saw of reviewed checkouts, and of where a reviewed change stands now."""

from pointsman.graph import ids
from pointsman.graph.commands import ObserveCheckout, ObserveHead
from pointsman.graph.evidence import misfit
from pointsman.graph.freshness import comparison_due, relied_on
from pointsman.graph.intents import VerifyCheckout
from pointsman.graph.owed import owed_intents
from pointsman.graph.rejections import Rejected, RejectionCode
from pointsman.graph.replies import Accepted, Reply, Verdict
from pointsman.graph.review_events import CheckoutVerified, HeadCompared
from pointsman.graph.review_set import ReviewSet
from pointsman.graph.run import Run


def observe_checkout(run: Run, command: ObserveCheckout) -> Verdict:
    """Compare a reviewer's checkout with the frozen commit, if that look is still owed."""
    for intent in owed_intents(run):
        if isinstance(intent, VerifyCheckout) and intent.intent_id == command.intent_id:
            seen = command.checkout
            differs = misfit(seen, intent.commit) if seen.unreadable is None else None
            branch_id = ids.place_of(intent.attempt_id).branch_id
            assert branch_id is not None, f"{intent.attempt_id} is of no branch"
            verified = CheckoutVerified(
                branch_id=branch_id,
                attempt_id=intent.attempt_id,
                moment=intent.moment,
                checkout=seen,
                misfit=differs,
            )
            return Accepted(events=(verified,), reply=Reply(run_id=run.run_id))
    return _not_current(command.intent_id)


def observe_head(run: Run, command: ObserveHead) -> Verdict:
    """Compare the head with the frozen commit, where a visit waits for it.

    At an open gate only a head that has moved is a fact worth keeping: it withdraws the approval
    for good. One that is as it was, or cannot be read, says nothing of the moment of a decision.
    """
    visit = run.visit
    if visit is None or visit.visit_id != command.visit_id or run.cancellation is not None:
        return _not_current(command.visit_id)
    due, reading = comparison_due(run), command.reading
    if due is not None:
        return _compared(run, due, command)
    review = relied_on(run)
    if visit.gate is None or visit.gate.decision is not None or review is None:
        return _not_current(command.visit_id)
    if reading.has_left(review.frozen_commit) and review.stale is None:
        return _compared(run, review, command)
    return Accepted(events=(), reply=Reply(run_id=run.run_id))


def _compared(run: Run, review: ReviewSet, command: ObserveHead) -> Accepted:
    compared = HeadCompared(
        node=ids.place_of(command.visit_id).node,
        visit_id=command.visit_id,
        review_set_id=review.review_set_id,
        frozen_commit=review.frozen_commit,
        head=command.reading.head_commit,
        why=command.reading.unavailable,
        returned=command.reading.returned,
    )
    return Accepted(events=(compared,), reply=Reply(run_id=run.run_id))


def _not_current(what: str) -> Rejected:
    return Rejected(code=RejectionCode.NOT_CURRENT, message=f"{what} does not wait for that")
