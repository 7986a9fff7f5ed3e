"""Laws of parallel reviews, checked against recorded events and not against what made them."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from pointsman.graph import ids
from pointsman.graph import review_events as rev
from pointsman.graph.events import (
    AttemptLaunched,
    AttemptSettled,
    AttemptStarted,
    Event,
    GateDecided,
    NodeCompleted,
    ReportAccepted,
)
from pointsman.graph.results import GateDecision, ReportOutcome
from pointsman.graph.review_events import BranchOutcome, JoinOutcome, Moment
from pointsman.graph.settlement import SettlementOutcome

_SaidOfAttempts = (
    rev.CheckoutVerified | AttemptStarted | AttemptLaunched | AttemptSettled | ReportAccepted
)


def assert_reviews_lawful(events: list[Event]) -> None:
    """No success without every requirement, one join a set, and nothing of another generation."""
    joins = [e for e in events if isinstance(e, rev.JoinCommitted)]
    sets = Counter(e.review_set_id for e in joins)
    assert all(count == 1 for count in sets.values()), "one join a review set"
    for join in joins:
        _assert_join(events[: events.index(join)], join)
    completed = {e.visit_id for e in events if isinstance(e, NodeCompleted)}
    for join in joins:
        success = join.outcome is JoinOutcome.ALL_COMPLETED
        assert (join.visit_id in completed) is success, "only all_completed completes the join"
    _assert_generations_apart(events)
    _assert_forked_first(events)
    _assert_approved_fresh(events)


def _assert_join(before: list[Event], join: rev.JoinCommitted) -> None:
    """The aggregate is the first that applies, and every required branch had ended."""
    fork = next(
        e
        for e in before
        if isinstance(e, rev.ReviewForked) and e.review_set_id == join.review_set_id
    )
    required = [each.branch_id for each in fork.branches]
    ended = [e for e in before if isinstance(e, rev.BranchEnded) and e.branch_id in required]
    assert sorted(e.branch_id for e in ended) == sorted(required), "each ended, and once"
    heads = [
        e.head
        for e in before
        if isinstance(e, rev.HeadCompared) and e.review_set_id == join.review_set_id
    ]
    assert heads, "the head was looked at before the join"
    outcomes = {each.outcome for each in ended}
    applies = [
        (JoinOutcome.STALE, any(h not in (None, fork.frozen_commit) for h in heads)),
        (JoinOutcome.FAILED, BranchOutcome.FAILED in outcomes),
        (JoinOutcome.UNRESOLVED, BranchOutcome.UNRESOLVED in outcomes or heads[-1] is None),
        (JoinOutcome.CANCELED, BranchOutcome.CANCELED in outcomes),
    ]
    expected = next((o for o, holds in applies if holds), JoinOutcome.ALL_COMPLETED)
    assert join.outcome is expected
    assert join.frozen_commit == fork.frozen_commit
    for each in ended:
        if each.outcome is BranchOutcome.COMPLETED:
            _assert_completed(before, each, fork.frozen_commit)


def _assert_completed(before: list[Event], ended: rev.BranchEnded, commit: str) -> None:
    """A reviewer completed with its own report, well settled, on exactly the frozen commit."""
    of = ended.attempt_id
    reports = [e for e in before if isinstance(e, ReportAccepted) and e.attempt_id == of]
    assert [e.outcome for e in reports] == [ReportOutcome.COMPLETED]
    settled = [e for e in before if isinstance(e, AttemptSettled) and e.attempt_id == of]
    assert settled[-1].outcome is SettlementOutcome.SUCCEEDED
    looks = [e for e in before if isinstance(e, rev.CheckoutVerified) and e.attempt_id == of]
    assert {e.moment for e in looks} == {Moment.LAUNCH, Moment.SETTLEMENT}
    assert all(e.misfit is None and e.checkout.head_commit == commit for e in looks)


def _assert_generations_apart(events: list[Event]) -> None:
    """Once a group's change is frozen anew, nothing is said of its earlier branches' work."""
    newest: dict[str, str] = {}
    over: set[str] = set()
    for event in events:
        if isinstance(event, rev.ChangeFrozen):
            newest[event.node] = event.review_set_id
        elif isinstance(event, rev.BranchEnded):
            assert event.branch_id not in over, "a branch ends once"
            over.add(event.branch_id)
        elif isinstance(event, _SaidOfAttempts):
            place = ids.place_of(event.attempt_id)
            if place.branch is not None:
                assert newest[place.node] == place.visit, f"{event.kind} of an old generation"
                assert place.branch_id not in over, f"{event.kind} after its branch's end"


def _assert_forked_first(events: Iterable[Event]) -> None:
    """No child is begun before the fork that names it, and each is verified before its launch."""
    forked: set[str] = set()
    verified: set[str] = set()
    for event in events:
        if isinstance(event, rev.ReviewForked):
            forked |= {each.branch_id for each in event.branches}
        elif isinstance(event, rev.CheckoutVerified) and event.moment is Moment.LAUNCH:
            verified.add(event.attempt_id)
        elif isinstance(event, AttemptStarted | AttemptLaunched):
            of = ids.place_of(event.attempt_id).branch_id
            if of is not None:
                assert of in forked
                assert isinstance(event, AttemptStarted) or event.attempt_id in verified


def _assert_approved_fresh(events: Iterable[Event]) -> None:
    """No approval of a review that was seen overtaken, or that never came to success."""
    seen: dict[str, set[str | None]] = defaultdict(set)
    frozen: dict[str, str] = {}
    complete: set[str] = set()
    for event in events:
        if isinstance(event, rev.HeadCompared):
            seen[event.review_set_id].add(event.head)
            frozen[event.review_set_id] = event.frozen_commit
        elif isinstance(event, rev.JoinCommitted) and event.outcome is JoinOutcome.ALL_COMPLETED:
            complete.add(event.review_set_id)
        elif isinstance(event, GateDecided) and event.decision is GateDecision.APPROVE:
            of = event.review_set_id
            if of is not None:
                assert of in complete, "an incomplete review is never approved"
                assert seen[of] <= {frozen[of], None}, "a stale review is never approved"
                assert event.commit == frozen[of]
