"""Goal: a client sees of a review what was frozen, where each reviewer stands, and what it came to.

Claims of reviewers and what was verified of their worktrees are kept apart.
"""

import pytest

from pointsman.graph.made_up import turn
from pointsman.graph.work import HostRunStatus
from pointsman.runtime.views.queries import RunView, view_of
from pointsman.runtime.views.review_views import BranchView, ReviewView
from tests.harness.core import Process
from tests.harness.reviews import FROZEN, OTHER, ReviewProcess, reviewed


def review_of(process: ReviewProcess) -> ReviewView:
    return view_of(process.state).reviews["review"]


def branch_of(process: ReviewProcess, name: str) -> BranchView:
    return next(each for each in review_of(process).branches if each.branch == name)


@pytest.fixture
def forked() -> ReviewProcess:
    return ReviewProcess().fork()


def test_a_run_without_reviews_shows_none() -> None:
    assert view_of(Process().state).reviews == {}


def test_a_review_under_way_shows_its_change_its_commits_and_its_generation(
    forked: ReviewProcess,
) -> None:
    review = review_of(forked)
    assert (review.group, review.join, review.generation) == ("reviewers", "review", 1)
    assert (review.frozen_commit, review.base_commit) == (FROZEN, "1" * 40)
    assert review.change.startswith("the head of branch pointsman/r0-")
    assert review.under_way
    assert review.outcome is None
    assert [each.branch for each in review.branches] == ["code", "security", "ux"]


def test_a_reviewer_is_shown_in_each_of_its_states(forked: ReviewProcess) -> None:
    seen = [branch_of(forked, "ux").state.value]
    forked.prepare("ux")
    seen.append(branch_of(forked, "ux").state.value)
    forked.verify("ux")
    seen.append(branch_of(forked, "ux").state.value)
    forked.take_for("ux", "launch_execution", host_run_id="1")
    seen.append(branch_of(forked, "ux").state.value)
    forked.report_of("ux")
    forked.observe_branch("ux")
    seen.append(branch_of(forked, "ux").state.value)
    forked.verify("ux")
    seen.append(branch_of(forked, "ux").state.value)
    assert seen == ["preparing", "verifying", "launching", "working", "verifying", "completed"]


def test_a_claim_and_what_was_verified_are_kept_apart(forked: ReviewProcess) -> None:
    forked.launch_branch("ux")
    forked.report_of("ux", blockers=0)
    forked.observe_branch("ux")
    forked.verify("ux", changed=("a.py",))
    branch = branch_of(forked, "ux")
    assert branch.attempt is not None
    assert branch.attempt.report is not None
    assert branch.attempt.report.outcome == "completed"
    assert branch.attempt.report.data == {"blockers": 0}
    assert branch.at_launch is not None
    assert branch.at_launch.verdict == "as_frozen"
    assert branch.at_settlement is not None
    assert branch.at_settlement.verdict == "differs"
    assert branch.at_settlement.detail == "tracked files were changed: a.py"
    assert branch.state.value == "failed"
    assert branch.ending is not None
    assert branch.ending.reason == "checkout_mismatch"


def test_a_reviewer_shows_its_thread_worktree_and_absolute_deadline(
    forked: ReviewProcess,
) -> None:
    forked.launch_branch("ux")
    branch = branch_of(forked, "ux")
    assert branch.attempt is not None
    assert branch.attempt.thread_id == f"wf-{branch.branch_id}.1"
    assert branch.workspace_path == "/w/ux"
    assert branch.deadline_at.endswith("Z")


def test_an_interrupted_reviewer_waits_for_a_person_and_the_attention_names_it(
    forked: ReviewProcess,
) -> None:
    forked.launch_branch("ux")
    forked.observe_branch("ux", runs=(turn(1, status=HostRunStatus.INTERRUPTED),))
    view: RunView = view_of(forked.state)
    assert branch_of(forked, "ux").state.value == "interrupted"
    assert branch_of(forked, "ux").unresolved is not None
    (item,) = view.attention
    assert (item.node, item.branch) == ("reviewers", "ux")


def test_a_joined_review_shows_its_outcome_and_the_gate_what_it_relies_on() -> None:
    process = ReviewProcess(reviewed(("code",))).to_the_gate()
    review = review_of(process)
    assert (review.under_way, review.outcome, review.stale_head) == (False, "all_completed", None)
    gate = view_of(process.state).gate
    assert gate is not None
    assert gate.review is not None
    assert gate.review.review_set_id == review.review_set_id
    assert (gate.review.frozen_commit, gate.review.stale) == (FROZEN, False)


def test_a_stale_gate_shows_the_head_that_was_seen() -> None:
    process = ReviewProcess(reviewed(("code",))).to_the_gate()
    process.see_head(OTHER)
    gate = view_of(process.state).gate
    assert gate is not None
    assert gate.review is not None
    assert (gate.review.stale, gate.review.head_seen) == (True, OTHER)
    assert gate.offered == ["request_changes"]


def test_the_reviewers_of_a_canceled_run_are_canceled(forked: ReviewProcess) -> None:
    forked.launch_branch("ux")
    forked.cancel()
    assert {each.state.value for each in review_of(forked).branches} == {"canceled"}
