"""Goal: no approval, and no step that relies on a review, of anything but what was reviewed."""

from itertools import permutations
from typing import Any

import pytest

from pointsman.graph import commands as cmd
from pointsman.graph.evidence import Checkout, HeadReading
from pointsman.graph.project import project
from pointsman.graph.rejections import Rejected
from pointsman.graph.replies import Accepted
from pointsman.graph.results import GateDecision
from pointsman.graph.run import RunState
from pointsman.graph.validate import problems
from tests.harness.core import agent, code_of
from tests.harness.endings import ENDINGS
from tests.harness.reviews import BRANCHES, FROZEN, OTHER, ReviewProcess, quiet_work, reviewed

AGAIN = ("review_again", "approve.1")
CANCEL = ("cancel", "")


def relying(node: dict[str, Any]) -> ReviewProcess:
    """Come to a node that says ``review:`` after a review in which everybody was content."""
    back = {"to": "work", "repeat": {"max": 1, "at_limit": "look"}}
    decisions = {"approve": "relies", "request_changes": back}
    gate = {"kind": "gate", "title": "Approve", "review": "review", "decisions": decisions}
    definition = reviewed(approve=gate, relies=node)
    assert problems(definition) == ()
    process = ReviewProcess(definition).to_the_gate()
    process.approve()
    assert process.visit.node == "relies"
    return process


AGENT = agent("done", review="review")
CHECK = {"kind": "check", "run": ["true"], "next": "done", "review": "review"}
DECISION = {"kind": "decision", "rules": [], "otherwise": "done", "review": "review"}
RELYING = {"agent": AGENT, "check": CHECK, "decision": DECISION}


# --- the join ---


def test_the_head_is_looked_at_before_every_join_also_when_a_branch_failed() -> None:
    for ending in ("completed", "fails", "never reports", "is canceled"):
        process = ReviewProcess().fork().complete("code", "ux")
        ENDINGS[ending].play(process, "security")
        assert "read_head" in process.owed()
        process.see_head(OTHER)
        assert process.review.outcome == "stale"
        assert process.visit.unresolved is not None
        assert process.visit.unresolved.reason == "review_stale"
        assert OTHER in process.visit.unresolved.detail
        assert FROZEN in process.visit.unresolved.detail


def test_a_head_nobody_can_read_makes_no_join_that_is_presumed_current() -> None:
    process = ReviewProcess().fork().complete()
    process.see_head(None, "the remote does not answer")
    assert process.review.outcome == "unresolved"
    assert process.visit.unresolved is not None
    assert "the remote does not answer" in process.visit.unresolved.detail
    assert process.actions() == [("review_again", "review.1"), CANCEL]


def test_nothing_of_an_incomplete_join_can_be_read() -> None:
    for head in (OTHER, None):
        process = ReviewProcess().fork().complete()
        process.see_head(head)
        assert "review" not in process.state.results


# --- the gate ---


def test_a_gate_on_a_review_shows_what_it_relies_on_and_needs_the_head_to_approve() -> None:
    process = ReviewProcess().to_the_gate()
    gate = process.visit.gate
    assert gate is not None
    assert gate.review is not None
    assert gate.review.review_set_id == process.review.review_set_id
    assert process.owed() == ["release_workspace"] * 3, "an open gate asks for no head by itself"
    assert code_of(process.decide_gate(GateDecision.APPROVE)) == "head_unknown"
    assert isinstance(process.last, Rejected)
    assert "nobody looked" in process.last.message
    assert process.state.state is RunState.AWAITING_REVIEW


def test_a_head_that_moved_and_came_back_withdraws_the_approval_for_good() -> None:
    process = ReviewProcess().to_the_gate()
    before = process.visit.gate
    assert before is not None
    process.see_head(OTHER)
    process.see_head(FROZEN)
    gate = process.visit.gate
    assert gate is not None
    assert gate.offered == (GateDecision.REQUEST_CHANGES,)
    assert code_of(process.approve(FROZEN)) == "review_stale"
    assert code_of(process.approve(FROZEN, revision=before.revision)) == "review_stale"
    assert process.actions() == [("request_changes", "approve.1"), AGAIN, CANCEL]
    (item,) = project(process.state).attention
    assert "review again" in item.detail
    assert process.state.state is RunState.AWAITING_REVIEW


def test_an_approval_of_a_head_that_moved_is_refused_even_if_nobody_had_seen_it_move() -> None:
    process = ReviewProcess().to_the_gate()
    assert code_of(process.approve(OTHER)) == "review_stale"
    assert process.state.state is RunState.AWAITING_REVIEW


def test_an_unreadable_head_refuses_the_approval_and_it_may_be_tried_again() -> None:
    process = ReviewProcess().to_the_gate()
    version = process.state.version
    assert code_of(process.see_head(None, "no route to host")) == "accepted"
    assert code_of(process.approve(None)) == "head_unknown"
    assert process.state.version == version, "nothing was decided and nothing withdrawn"
    assert code_of(process.approve()) == "accepted"
    assert process.state.state is RunState.COMPLETED


def test_requesting_changes_compares_nothing() -> None:
    for head in (FROZEN, OTHER, None):
        process = ReviewProcess().to_the_gate()
        process.see_head(head)
        assert code_of(process.decide_gate(GateDecision.REQUEST_CHANGES)) == "accepted"
        assert process.visit.node == "work"


def test_a_withdrawn_approval_makes_a_click_on_what_was_seen_before_a_stale_one() -> None:
    process = ReviewProcess().to_the_gate()
    gate = process.visit.gate
    assert gate is not None
    process.see_head(OTHER)
    late = process.decide_gate(GateDecision.REQUEST_CHANGES, revision=gate.revision)
    assert code_of(late) == "stale_revision"
    assert code_of(process.decide_gate(GateDecision.REQUEST_CHANGES)) == "accepted"


def test_a_decision_about_another_review_than_the_gates_is_refused() -> None:
    process = ReviewProcess().to_the_gate()
    other = process.review.review_set_id.replace(".1", ".2")
    for decision in GateDecision:
        refused = process.decide_gate(decision, review_set_id=other)
        assert code_of(refused) == "stale_revision"
    assert code_of(process.approve(review_set_id=process.review.review_set_id)) == "accepted"


def test_two_gates_of_one_title_stay_two_gates_each_with_its_own_revision() -> None:
    back = {"to": "work", "repeat": {"max": 1, "at_limit": "look"}}
    title = "Approve the reviewed change"
    first = {
        "kind": "gate",
        "title": title,
        "review": "review",
        "decisions": {"approve": "second", "request_changes": back},
    }
    second = {"kind": "gate", "title": title, "review": "review", "decisions": {"approve": "done"}}
    process = ReviewProcess(reviewed(approve=first, second=second)).to_the_gate()
    seen = process.visit.gate
    assert seen is not None
    assert code_of(process.approve()) == "accepted"
    assert process.visit.node == "second"
    click = cmd.DecideGate(
        gate_id=seen.gate_id,
        revision=seen.revision,
        decision=GateDecision.APPROVE,
        decided_by="ann",
    )
    assert code_of(process.send(click)) == "gate_decided"
    assert process.state.state is RunState.AWAITING_REVIEW
    process.see_head(OTHER)
    assert code_of(process.approve()) == "review_stale", "each approval compares for itself"


# --- reviewing again ---


def test_a_new_generation_freezes_anew_and_its_branches_are_new_attempts() -> None:
    process = ReviewProcess().to_the_gate()
    process.see_head(OTHER)
    visits = process.state.visits_used
    assert code_of(process.review_again()) == "accepted"
    assert process.routes()[-1] == ("approve/review_again", "review_again", "reviewers")
    assert process.owed()[0] == "freeze_change"
    process.freeze(OTHER)
    assert process.state.visits_used == visits + 4, "the group's visit and one of each branch"
    assert process.review.frozen_commit == OTHER
    for name in BRANCHES:
        assert process.attempt_of(name).attempt_id.endswith(f"reviewers.2.{name}.1")
    process.complete()
    process.see_head(OTHER)
    assert process.visit.visit_id.endswith("approve.2")
    assert code_of(process.approve(FROZEN)) == "review_stale", "the old commit was not reviewed now"


def test_reports_of_an_older_generation_steer_nothing_of_the_new_one() -> None:
    process = ReviewProcess().fork().complete("security", "ux")
    ENDINGS["never reports"].play(process, "code")
    unreported = process.attempt_of("code").attempt_id
    reported = process.attempt_of("ux").attempt_id
    process.see_head()
    assert code_of(process.review_again()) == "accepted"
    for late in (process.recorded_report(unreported, 9), process.recorded_report(reported, 9)):
        assert code_of(process.send(late)) in ("settled", "key_reused")
    process.freeze(OTHER)
    version = process.state.version
    assert code_of(process.send(process.recorded_report(unreported, 9))) == "stale_attempt"
    assert code_of(process.send(process.recorded_report(reported))) == "accepted"
    assert isinstance(process.last, Accepted)
    assert process.last.reply.duplicate
    assert process.state.version == version
    assert all(process.attempt_of(name).report is None for name in BRANCHES)
    process.complete(blockers=1)
    process.see_head(OTHER)
    result = process.state.results["review"].model_dump()
    assert result["frozen_commit"] == OTHER
    assert {each["attempt_id"].split(".")[2] for each in result["reports"].values()} == {"2"}


def test_late_host_facts_of_an_older_generation_change_nothing_of_the_new_one() -> None:
    process = ReviewProcess().to_the_gate()
    old = process.attempt_of("code").attempt_id
    shown = quiet_work(process.attempt_of("code"))
    head_of = process.visit.visit_id
    process.see_head(OTHER)
    process.review_again()
    process.freeze(OTHER)
    state = process.state
    for command in (
        cmd.ObserveWork(work=shown),
        cmd.FireDeadline(deadline_id=f"{old}:timeout"),
        cmd.FireDeadline(deadline_id=f"{old.removesuffix('.1')}:deadline"),
        cmd.ObserveCheckout(intent_id=f"wf:{old}:verify.settlement.0", checkout=Checkout()),
        cmd.ObserveHead(visit_id=head_of, reading=HeadReading(head_commit=OTHER)),
        cmd.RecordUnknown(intent_id=f"wf:{old}:launch", why="late"),
    ):
        process.now_ms += 10_000_000
        assert code_of(process.send(command)) in ("not_current", "not_due"), command.kind
    assert process.state == state


def test_the_worktrees_of_an_older_generation_are_still_let_go_of() -> None:
    process = ReviewProcess().to_the_gate()
    old = {process.branch(name).workspace_key for name in BRANCHES}
    process.see_head(OTHER)
    process.review_again()
    process.freeze(OTHER)
    assert set(process.state.workspaces_to_release) == old
    for _ in old:
        process.take("release_workspace")
    assert process.state.workspaces_to_release == ()
    assert process.owed() == ["prepare_workspace"] * 3


def test_reviewing_again_is_offered_only_while_it_fits_the_bound() -> None:
    for visits_max, offered in ((11, False), (12, True)):
        top = {"visits": {"max": visits_max, "at_limit": "look"}}
        process = ReviewProcess(reviewed(top=top)).to_the_gate()
        assert process.state.visits_used == 8
        process.see_head(OTHER)
        assert (AGAIN in process.actions()) is offered
        assert code_of(process.review_again()) == ("accepted" if offered else "not_allowed")


def test_reviewing_again_twice_is_done_once() -> None:
    process = ReviewProcess().to_the_gate()
    process.see_head(OTHER)
    gate = process.visit.gate
    assert gate is not None
    again = cmd.ReviewAgain(
        visit_id=process.visit.visit_id, revision=gate.revision, requested_by="ann"
    )
    assert code_of(process.send(again)) == "accepted"
    version = process.state.version
    assert code_of(process.send(again)) == "not_allowed"
    assert process.state.version == version


def test_a_fresh_gate_offers_no_new_review() -> None:
    process = ReviewProcess().to_the_gate()
    assert AGAIN not in process.actions()
    assert code_of(process.review_again()) == "not_allowed"


# --- other nodes that rely on a review ---


@pytest.mark.parametrize("kind", RELYING)
def test_a_node_that_relies_on_a_review_looks_at_the_head_first_and_goes_on_if_it_is_there(
    kind: str,
) -> None:
    process = relying(RELYING[kind])
    assert process.owed() == ["read_head", *["release_workspace"] * 3]
    process.see_head()
    if kind == "decision":
        assert process.state.state is RunState.COMPLETED
        return
    began = {"agent": "launch_execution", "check": "start_check"}[kind]
    assert began in process.owed()
    assert code_of(process.see_head(OTHER)) == "not_current", "it has begun"


@pytest.mark.parametrize("kind", RELYING)
def test_a_node_whose_review_is_stale_begins_nothing_and_offers_a_new_review(kind: str) -> None:
    process = relying(RELYING[kind])
    process.see_head(OTHER)
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "review_stale"
    assert process.owed() == ["release_workspace"] * 3
    assert process.actions() == [("review_again", "relies.1"), CANCEL]
    process.review_again()
    assert process.visit.node == "reviewers"


@pytest.mark.parametrize("kind", RELYING)
def test_a_node_whose_head_is_unknown_may_be_tried_again_and_looks_anew(kind: str) -> None:
    process = relying(RELYING[kind])
    process.see_head(None)
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "head_unknown"
    assert process.actions() == [("retry", "relies.1"), CANCEL]
    retry = cmd.RetryVisit(
        visit_id=process.visit.visit_id,
        revision=process.visit.unresolved.revision,
        requested_by="ann",
    )
    process.send(retry)
    assert process.owed()[0] == "read_head"
    process.see_head()
    assert process.visit.unresolved is None


def test_a_node_without_the_word_compares_nothing() -> None:
    process = relying(agent("done", review="review"))
    assert process.owed()[0] == "read_head"
    plain = ReviewProcess(reviewed(approve=agent("done"))).fork().complete()
    plain.see_head()
    assert plain.visit.node == "approve"
    assert plain.owed()[0] == "launch_execution"


# --- races at the gate ---


@pytest.mark.parametrize(
    "order", list(permutations(["ann", "bob", "cancel", "moved"])), ids="-".join
)
def test_a_race_at_the_gate_has_one_outcome(order: tuple[str, ...]) -> None:
    process = ReviewProcess().to_the_gate()
    gate = process.visit.gate
    assert gate is not None
    said: list[str] = []
    for each in order:
        if each == "cancel":
            said.append(code_of(process.cancel()))
        elif each == "moved":
            process.see_head_for(gate.gate_id, OTHER)
        else:
            moved = "moved" in order[: order.index(each)]
            head = HeadReading(head_commit=OTHER if moved else FROZEN)
            click = cmd.DecideGate(
                gate_id=gate.gate_id,
                revision=gate.revision,
                decision=GateDecision.APPROVE,
                decided_by=each,
                head=head,
            )
            said.append(code_of(process.send(click)))
    decided = process.kinds().count("gate_decided")
    first = order[0]
    assert decided == (first in ("ann", "bob"))
    assert process.state.state is (RunState.COMPLETED if decided else RunState.CANCELED)
    assert said.count("accepted") == 1
    ends = {"run_completed", "run_canceled"}
    assert sum(each in ends for each in process.kinds()) == 1
