"""Parallel reviewers, their join and its freshness, at the pure core (spec, *Parallel reviews*)."""

from pointsman.graph import commands as cmd
from pointsman.graph.advance import advance
from pointsman.graph.events import GateRequested
from pointsman.graph.evidence import HeadReading
from pointsman.graph.rejections import Rejected
from pointsman.graph.results import GateDecision
from pointsman.graph.review_events import JoinOutcome
from tests.harness.core import code_of
from tests.harness.reviews import BRANCHES, FROZEN, OTHER, ReviewProcess


def test_a_change_whose_reviewers_are_all_content_comes_to_the_gate_and_is_approved() -> None:
    process = ReviewProcess().fork()
    assert process.owed() == ["prepare_workspace"] * 3
    process.complete(*BRANCHES)
    assert process.owed() == ["read_head", *["release_workspace"] * 3]
    process.see_head()
    assert process.state.state == "awaiting_review"
    gate = process.visit.gate
    assert gate is not None
    assert gate.review is not None
    assert (gate.head_commit, gate.review.frozen_commit) == (FROZEN, FROZEN)
    assert code_of(process.approve()) == "accepted"
    assert process.state.state == "completed"
    assert process.routes()[1:] == [
        ("work/next", "next", "reviewers"),
        ("reviewers/join", "join", "review"),
        ("review/next", "next", "verdict"),
        ("verdict/otherwise", "otherwise", "approve"),
        ("approve/decisions/approve", "decision", "done"),
    ]


def test_a_head_that_moved_withdraws_the_approval_even_if_it_moves_back() -> None:
    process = ReviewProcess().to_the_gate()
    process.see_head(OTHER)
    assert code_of(process.approve(OTHER)) == "review_stale"
    assert code_of(process.approve(FROZEN)) == "review_stale"


def test_no_gate_offers_an_approval_of_a_review_that_did_not_complete() -> None:
    process = ReviewProcess().fork().complete()
    process.see_head()
    review = process.review.model_copy(update={"outcome": JoinOutcome.FAILED})
    visit = process.visit.model_copy(update={"gate": None})
    run = process.state.model_copy(update={"reviews": {"review": review}, "visit": visit})
    (requested, _) = advance(run)
    assert isinstance(requested, GateRequested)
    assert requested.offered == (GateDecision.REQUEST_CHANGES,)


def test_a_head_that_is_back_after_having_moved_unseen_is_refused_all_the_same() -> None:
    process = ReviewProcess().to_the_gate()
    back = HeadReading(head_commit=FROZEN, returned=True)
    gate = process.visit.visit_id
    process.send(cmd.ObserveHead(visit_id=gate, reading=back))
    verdict = process.decide_gate(GateDecision.APPROVE, head=back)
    assert code_of(verdict) == "review_stale"
    assert isinstance(verdict, Rejected)
    assert "is back" in verdict.message
    assert code_of(process.approve(FROZEN)) == "review_stale", "it is withdrawn for good"
