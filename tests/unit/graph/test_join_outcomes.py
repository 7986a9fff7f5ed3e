"""Goal: no join before every reviewer is terminal, and then exactly the documented aggregate.

Method: every ending of a branch by itself, every combination of three kinds of ending in all six
orders; what a join must come to is written down here from the design, not computed by the core.
"""

from itertools import permutations, product

import pytest

from pointsman.graph.made_up import turn
from pointsman.graph.run import RunState
from pointsman.graph.work import WorkPhase
from tests.harness.core import code_of
from tests.harness.endings import ENDINGS
from tests.harness.reviews import BRANCHES, FROZEN, OTHER, ReviewProcess, reviewed

ORDER = ("stale", "failed", "unresolved", "canceled")
TERMINAL = {
    "completed": "completed",
    "failed": "fails after its report",
    "unresolved": "never reports",
    "canceled": "is canceled",
}


def aggregate(*outcomes: str) -> str:
    """Return the first that applies (§10.19 of the design)."""
    return next((each for each in ORDER if each in outcomes), "all_completed")


def assert_not_joined(process: ReviewProcess) -> None:
    assert process.visit.node == "reviewers"
    assert process.review.outcome is None
    assert "review" not in process.state.results
    assert "join_committed" not in process.kinds()
    assert "read_head" not in process.owed()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("place", range(3))
def test_a_branch_ends_as_documented_and_is_waited_for(ending: str, place: int) -> None:
    play, told = ENDINGS[ending]
    process = ReviewProcess().fork()
    order = ["security", "ux"]
    order.insert(place, "code")
    for name in order:
        assert_not_joined(process)
        if name == "code":
            play(process, name)
            assert process.ending(name) == told
        else:
            process.complete(name)
    assert process.visit.node == "review"
    assert "join_committed" not in process.kinds(), "the head is looked at first"
    process.see_head()
    assert process.review.outcome == aggregate(told.partition(" ")[0])
    assert process.kinds().count("join_committed") == 1


def _played(process: ReviewProcess, orders: list[tuple[tuple[str, str], ...]]) -> None:
    """Play all endings in each order; orders that begin alike share what they began with."""
    for first in sorted({order[0] for order in orders}):
        name, kind = first
        ahead = process.twin()
        assert_not_joined(ahead)
        ENDINGS[TERMINAL[kind]].play(ahead, name)
        rest = [order[1:] for order in orders if order[0] == first and len(order) > 1]
        if rest:
            _played(ahead, rest)
            continue
        for head in (FROZEN, OTHER, None):
            joined = ahead.twin()
            joined.see_head(head)
            outcomes = [each.ending.outcome.value for each in joined.review.branches if each.ending]
            seen = {FROZEN: (), OTHER: ("stale",), None: ("unresolved",)}[head]
            expected = aggregate(*outcomes, *seen)
            assert joined.review.outcome == expected
            assert joined.kinds().count("join_committed") == 1
            assert ("review" in joined.state.results) is (expected == "all_completed")
            went_on = ("review/next", "next", "verdict") in joined.routes()
            assert went_on is (expected == "all_completed"), "only all_completed takes next"


@pytest.mark.parametrize("kinds", list(product(TERMINAL, repeat=3)), ids="-".join)
def test_all_six_orders_come_to_the_first_aggregate_that_applies(kinds: tuple[str, ...]) -> None:
    ended = tuple(zip(BRANCHES, kinds, strict=True))
    _played(ReviewProcess().fork(), list(permutations(ended)))


@pytest.mark.parametrize("order", list(permutations(BRANCHES)), ids="-".join)
def test_three_reports_with_one_child_still_running_make_no_join(order: tuple[str, ...]) -> None:
    process = ReviewProcess().fork()
    for name in order:
        process.launch_branch(name)
        process.report_of(name)
    for name in order[:2]:
        process.settle(name)
    process.observe_branch(order[2], phase=WorkPhase.ACTIVE)
    assert_not_joined(process)
    assert process.ending(order[2]) is None, "reported, and pending until it settles"
    process.observe_branch(order[2])
    assert_not_joined(process)
    process.verify(order[2])
    assert process.visit.node == "review"


@pytest.mark.parametrize("order", list(permutations(BRANCHES)), ids="-".join)
def test_two_of_three_reports_make_no_join(order: tuple[str, ...]) -> None:
    process = ReviewProcess().fork().complete(order[0], order[1])
    assert_not_joined(process)
    assert code_of(process.see_head()) == "not_current"
    assert_not_joined(process)


@pytest.mark.parametrize("first", BRANCHES)
def test_an_early_request_for_changes_cancels_nobody(first: str) -> None:
    process = ReviewProcess().fork()
    for name in BRANCHES:
        process.launch_branch(name)
    process.report_of(first, blockers=1)
    process.settle(first)
    assert_not_joined(process)
    assert "interrupt_execution" not in process.owed()
    for name in BRANCHES:
        if name != first:
            assert process.attempt_of(name).status == "launched"
            process.report_of(name)
            process.settle(name)
    process.see_head()
    assert process.routes()[-1] == ("verdict/rules/0", "rule", "work")


def test_an_incomplete_join_takes_its_route_and_names_each_branch_that_did_not_complete() -> None:
    join = {"kind": "join", "of": "reviewers", "next": "verdict", "incomplete": "look"}
    process = ReviewProcess(reviewed(review=join)).fork().complete("ux")
    ENDINGS["fails"].play(process, "code")
    ENDINGS["never reports"].play(process, "security")
    process.see_head()
    assert process.routes()[-1] == ("review/incomplete", "incomplete", "look")
    committed = next(e.event for e in process.recorded if e.event.kind == "join_committed")
    told = {
        each.branch: (each.outcome.value, each.reason and each.reason.value)
        for each in committed.branches
    }
    assert told == {
        "code": ("failed", "work_failed"),
        "security": ("unresolved", "report_missing"),
        "ux": ("completed", None),
    }
    assert committed.detail == "code failed (work_failed): the last turn failed"


def test_an_incomplete_join_without_a_route_waits_unresolved_and_may_be_reviewed_again() -> None:
    process = ReviewProcess().fork().complete("ux", "code")
    ENDINGS["is canceled"].play(process, "security")
    process.see_head()
    assert process.state.state is RunState.UNRESOLVED
    assert process.actions() == [("review_again", "review.1"), ("cancel", "")]


def test_a_result_that_is_told_again_commits_no_second_join() -> None:
    process = ReviewProcess().fork().complete()
    process.see_head()
    version = process.state.version
    assert code_of(process.see_head()) == "accepted"
    process.observe_branch("code")
    assert process.state.version == version
    assert process.kinds().count("join_committed") == 1


def test_a_reviewer_is_reminded_once_and_only_after_work_that_settled_well() -> None:
    process = ReviewProcess().fork().launch_branch("code")
    process.observe_branch("code", phase=WorkPhase.ACTIVE)
    assert process.owed_by("code") == []
    process.observe_branch("code")
    assert [each.kind for each in process.owed_by("code")] == ["send_reminder"]
    process.take_for("code", "send_reminder")
    process.observe_branch("code", runs=(turn(1),))
    assert process.ending("code") is None, "the first settlement told again is not the reminder's"
    process.report_of("code")
    process.settle("code")
    assert process.ending("code") == "completed"
    assert process.kinds().count("reminder_issued") == 1
