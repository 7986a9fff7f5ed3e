"""Goal: a review can be read from its trace: what was frozen, who looked at it, what it came to."""

import pytest

from pointsman.graph.events import RouteReason, RouteTaken
from pointsman.graph.model import JsonScalar
from pointsman.runtime.views.review_words import worktree_of
from pointsman.runtime.views.trace import TraceEntry, entries_of, text_of, trace_signature, written
from tests.harness.reviews import FROZEN, OTHER, ReviewProcess, reviewed


def entries(process: ReviewProcess) -> list[TraceEntry]:
    return list(entries_of(process.recorded))


def texts(process: ReviewProcess, kind: str) -> list[str]:
    return [entry.text for entry in entries(process) if entry.kind == kind]


@pytest.fixture
def joined() -> ReviewProcess:
    return ReviewProcess(reviewed(("code", "ux"))).to_the_gate()


def test_freezing_tells_the_range_and_what_it_does_not_see() -> None:
    process = ReviewProcess().to_the_group()
    process.freeze(left_out="a.txt\nb.txt", committed=True, diff_stat=" a.py | 1 +\n 2 files\n")
    (told,) = texts(process, "change_frozen")
    assert f"at {FROZEN[:8]} (11111111..{FROZEN[:8]}, 2 files)" in told
    assert "what was uncommitted was committed first" in told
    assert "without the uncommitted a.txt, b.txt" in told


def test_a_fork_names_every_branch_its_worktree_and_its_deadline(joined: ReviewProcess) -> None:
    (told,) = texts(joined, "review_forked")
    assert "forks 2 reviewers" in told
    assert ".reviewers.1.ux, at most 2h from its launch" in told


def test_what_was_verified_is_told_apart_from_what_a_reviewer_claims(
    joined: ReviewProcess,
) -> None:
    evidence = {entry.kind: entry.evidence for entry in entries(joined)}
    assert evidence["checkout_verified"] == "verification"
    assert evidence["head_compared"] == "verification"
    assert evidence["report_accepted"] == "claim"
    told = texts(joined, "checkout_verified")
    assert told[0] == (
        f"the worktree of reviewer code of reviewers.1 is what was frozen at {FROZEN[:8]}, "
        "before its launch"
    )


def test_a_worktree_that_was_changed_is_told_with_what_was_changed() -> None:
    process = ReviewProcess().fork().launch_branch("ux")
    process.report_of("ux")
    process.observe_branch("ux")
    process.verify("ux", changed=("a.py",))
    assert texts(process, "checkout_verified")[-1] == (
        "the worktree of reviewer ux of reviewers.1 is not what was frozen, after its work: "
        "tracked files were changed: a.py"
    )
    assert texts(process, "branch_ended") == [
        "reviewer ux of reviewers.1 failed (checkout_mismatch): tracked files were changed: a.py"
    ]


def test_a_head_that_moved_is_told_with_both_commits() -> None:
    process = ReviewProcess(reviewed(("code",))).fork().complete()
    process.see_head(OTHER)
    (told,) = texts(process, "head_compared")
    assert told == f"review expects the head at {FROZEN[:8]}, and sees it at {OTHER[:8]}: stale"


def test_a_head_that_cannot_be_seen_is_no_match() -> None:
    process = ReviewProcess(reviewed(("code",))).fork().complete()
    process.see_head(None, "the remote is gone")
    (told,) = texts(process, "head_compared")
    assert told.endswith("cannot see it: the remote is gone")


def test_a_join_tells_its_outcome_and_every_branch(joined: ReviewProcess) -> None:
    (told,) = texts(joined, "join_committed")
    assert told == (
        "review joins as all completed: all 2 reviewers completed [code completed; ux completed]"
    )


def test_the_signature_of_a_review_has_its_branches_and_its_join(
    joined: ReviewProcess,
) -> None:
    signature = trace_signature(entries(joined))
    assert ("fork", "reviewers", ("code", "ux")) in signature
    assert ("branch", "reviewers.1.code", "completed", None) in signature
    assert ("join", "review", "all_completed") in signature


@pytest.mark.parametrize(
    "value, as_written",
    [
        (("low", "high"), "[low, high]"),
        (True, "true"),
        ("true", '"true"'),
        (2.0, "2"),
        ("7", '"7"'),
        ("two words", '"two words"'),
        ("", '""'),
        ((1, False), "[1, false]"),
        ("request_changes", "request_changes"),
    ],
)
def test_values_are_told_as_an_author_writes_them(
    value: JsonScalar | tuple[JsonScalar, ...], as_written: str
) -> None:
    assert written(value) == as_written


def test_a_worktree_is_told_by_whose_it_is() -> None:
    assert worktree_of("wf:r0-x:primary") == "worktree"
    assert worktree_of("wf:r0-x.reviewers.2.ux") == "worktree of reviewer ux of reviewers.2"


@pytest.mark.parametrize("reason", RouteReason)
def test_every_reason_of_a_route_has_words(reason: RouteReason) -> None:
    route = RouteTaken(
        from_node="a", from_visit_id="r0-x.a.1", route="a/b", reason=reason, to="b", rule="why not"
    )
    assert text_of(route).startswith("a → b (")
