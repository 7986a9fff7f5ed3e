"""Goal: a review is told visit by visit, and drawn with how often each edge was taken."""

from pointsman.graph.draw import mermaid
from pointsman.graph.visited import taken, visited
from tests.harness.reviews import OTHER, ReviewProcess, reviewed


def words_at(process: ReviewProcess, node: str) -> tuple[str, ...]:
    found = visited(process.state.workflow, process.recorded)
    return next(each.came_to for each in found if each.node == node)


def test_each_reviewers_claim_is_told_under_its_own_name() -> None:
    process = ReviewProcess(reviewed(("code", "ux"))).fork()
    process.complete("code")
    process.complete("ux", blockers=2)
    process.see_head()
    assert words_at(process, "reviewers") == (
        "code reported completed: blockers = 0",
        "ux reported completed: blockers = 2",
    )
    assert words_at(process, "review") == ("all 2 reviewers completed",)


def test_a_reviewer_that_did_not_complete_is_told_with_its_reason() -> None:
    process = ReviewProcess(reviewed(("code",))).fork()
    process.prepare("code")
    process.verify("code", changed=("a.py",))
    assert words_at(process, "reviewers") == ("code failed (checkout_mismatch)",)


def test_a_review_that_was_asked_for_again_is_counted_at_its_own_arrow() -> None:
    process = ReviewProcess(reviewed(("code",))).to_the_gate()
    process.see_head(OTHER)
    process.review_again()
    process.freeze(OTHER).complete()
    process.see_head(OTHER)
    counted = taken(process.recorded)
    assert counted.branches == {("reviewers", "code"): (2, 2)}
    assert counted.routes["reviewers/join", "review"] == 2
    assert counted.again == {("approve", "reviewers"): 1}
    drawn = mermaid(process.state.workflow, counted)
    assert 'n_approve -.->|"review again<br/>taken 1×"| n_reviewers' in drawn
    assert 'n_reviewers -->|"taken 2×"| n_reviewers_B_code' in drawn


def test_the_way_of_an_incomplete_review_is_counted() -> None:
    join = {"kind": "join", "of": "reviewers", "next": "verdict", "incomplete": "look"}
    process = ReviewProcess(reviewed(("code",), review=join)).fork()
    process.prepare("code")
    process.verify("code", changed=("a.py",))
    process.see_head()
    counted = taken(process.recorded)
    assert counted.branches == {("reviewers", "code"): (1, 0)}
    assert counted.routes["review/incomplete", "look"] == 1
    drawn = mermaid(process.state.workflow, counted)
    assert 'n_review -.->|"incomplete<br/>taken 1×"| n_look' in drawn
    assert 'n_reviewers_B_code -->|"taken 0×"| n_review' in drawn
