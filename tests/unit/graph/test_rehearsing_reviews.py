"""Goal: a rehearsal plays parallel reviews as a run would, one entry a visit of the group."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from pointsman.graph.answers import Told, told_problems
from pointsman.graph.definition import Workflow
from pointsman.graph.expectations import WorkflowTests, judge
from pointsman.graph.rehearsal import Rehearsal, Unanswered, Unused, rehearse
from pointsman.graph.run import RunState
from pointsman.graph.visited import visited
from tests.harness.core import agent
from tests.harness.reviews import ReviewProcess, reviewed

DONE = {"report": "completed"}
JOIN = {"kind": "join", "of": "reviewers", "next": "verdict", "incomplete": "look"}
WORDS = ["missing", "failed", "interrupted", "timed_out", "canceled", "wrong_checkout"]


def verdict(blockers: int = 0) -> dict[str, Any]:
    return {"report": {"outcome": "completed", "data": {"blockers": blockers}}}


CONTENT = {"code": verdict(), "security": verdict(), "ux": verdict()}


def told(**answers: list[Any]) -> Told:
    return Told.model_validate_json(json.dumps({"answers": answers}))


def play(definition: Workflow | None = None, **answers: list[Any]) -> Rehearsal:
    workflow = definition or reviewed(review=JOIN)
    given = told(**answers).answers
    assert list(told_problems(workflow, {"task": "x"}, given)) == []
    return rehearse(workflow, {"task": "x"}, given)


def last_lines(played: Rehearsal, count: int = 1) -> list[str]:
    found = [each.line for each in visited(played.run.workflow, played.recorded)]
    return [line for line in found if line is not None][-count:]


def faults(definition: Workflow | None = None, **answers: list[Any]) -> list[tuple[str, Any]]:
    found = told_problems(definition or reviewed(), {"task": "x"}, told(**answers).answers)
    return [(each.code, each.where[1:]) for each in found]


def test_a_review_goes_the_way_the_same_run_goes() -> None:
    played = play(reviewed(), work=[DONE], reviewers=[CONTENT], approve=["approve"])
    run = ReviewProcess()
    run.to_the_gate()
    run.approve()
    assert sorted({each.event.kind for each in played.recorded}) == sorted(set(run.kinds()))
    assert (played.run.state, played.unanswered, played.unused) == (RunState.COMPLETED, None, ())
    assert last_lines(played, 5) == [
        "work -> reviewers",
        "reviewers -> review (join)",
        "review -> verdict",
        "verdict -> approve (otherwise)",
        "approve -> done (approve)",
    ]


def test_each_entry_is_one_visit_of_the_group() -> None:
    played = play(
        work=[DONE, DONE],
        reviewers=[{**CONTENT, "ux": verdict(2)}, CONTENT],
        approve=["approve"],
    )
    assert played.run.state is RunState.COMPLETED
    assert "verdict -> work (a reviewer found blockers)" in last_lines(played, 9)
    assert played.run.reviews["review"].frozen_commit == f"{2:040x}", "frozen anew"


@pytest.mark.parametrize("word", [each for each in WORDS if each != "interrupted"])
def test_a_reviewer_who_does_not_complete_leads_to_the_incomplete_route(word: str) -> None:
    played = play(work=[DONE], reviewers=[{**CONTENT, "security": word}])
    assert last_lines(played) == ["review -> look (incomplete)"]
    outcome = {"failed": "failed", "wrong_checkout": "failed", "canceled": "canceled"}
    assert played.run.reviews["review"].outcome == outcome.get(word, "unresolved")


@pytest.mark.parametrize("outcome, told_as", [("failed", "failed"), ("blocked", "unresolved")])
def test_a_reviewer_who_reports_no_completion_makes_the_join_incomplete(
    outcome: str, told_as: str
) -> None:
    played = play(work=[DONE], reviewers=[{**CONTENT, "code": {"report": outcome}}])
    assert played.run.reviews["review"].outcome == told_as


def test_an_interrupted_reviewer_waits_for_a_person_after_all_others_are_done() -> None:
    played = play(work=[DONE], reviewers=[{**CONTENT, "code": "interrupted"}])
    assert played.run.state is RunState.UNRESOLVED
    assert [each.branch for each in played.run.reviews["review"].open_branches] == ["code"]
    assert played.unanswered is None


def test_a_freeze_that_is_refused_is_one_word_for_the_group() -> None:
    played = play(work=[DONE], reviewers=["unfrozen"])
    assert visited(played.run.workflow, played.recorded)[-1].unresolved == "freeze_refused"


@pytest.mark.parametrize("head, outcome", [("stale", "stale"), ("unknown", "unresolved")])
def test_a_join_may_find_another_head_or_none(head: str, outcome: str) -> None:
    played = play(work=[DONE], reviewers=[CONTENT], review=[head])
    assert played.run.reviews["review"].outcome == outcome
    assert last_lines(played) == ["review -> look (incomplete)"]
    unchanged = play(work=[DONE], reviewers=[CONTENT], review=["unchanged"], approve=["approve"])
    assert unchanged.run.state is RunState.COMPLETED


def test_a_stale_gate_waits_and_its_review_may_be_done_again() -> None:
    stale = play(work=[DONE], reviewers=[CONTENT], approve=["stale"])
    assert stale.run.state is RunState.AWAITING_REVIEW
    assert stale.run.visit is not None
    assert stale.run.visit.gate is not None
    assert [each.value for each in stale.run.visit.gate.offered] == ["request_changes"]
    again = play(work=[DONE], reviewers=[CONTENT] * 2, approve=["review_again", "approve"])
    assert again.run.state is RunState.COMPLETED
    assert "approve -> reviewers (review_again)" in last_lines(again, 6)


def test_reviewing_again_that_does_not_fit_the_bound_leaves_the_gate_open() -> None:
    bounded = reviewed(top={"visits": {"max": 9, "at_limit": "look"}})
    played = play(bounded, work=[DONE], reviewers=[CONTENT], approve=["review_again"])
    assert played.run.state is RunState.AWAITING_REVIEW


@pytest.mark.parametrize("head, reason", [("stale", "review_stale"), ("unknown", "head_unknown")])
def test_a_node_that_relies_on_a_review_may_find_another_head_or_none(
    head: str, reason: str
) -> None:
    gate = {"kind": "gate", "title": "A", "review": "review", "decisions": {"approve": "last"}}
    definition = reviewed(approve=gate, last=agent("done", review="review"))
    story: dict[str, Any] = {"work": [DONE], "reviewers": [CONTENT], "approve": ["approve"]}
    played = play(definition, **story, last=[head])
    assert visited(definition, played.recorded)[-1].unresolved == reason
    assert play(definition, **story, last=[DONE]).run.state is RunState.COMPLETED


def test_a_branch_without_an_answer_is_named() -> None:
    played = play(work=[DONE], reviewers=[{"code": verdict(), "ux": "failed"}])
    assert played.unanswered == Unanswered("reviewers", 1, branch="security")
    assert play(work=[DONE]).unanswered == Unanswered("reviewers", 1)


def test_entries_for_visits_that_never_came_are_named() -> None:
    played = play(work=[DONE], reviewers=[CONTENT, CONTENT], review=["unchanged", "stale"])
    assert set(played.unused) == {Unused("reviewers", 2), Unused("review", 2)}


def test_what_does_not_fit_is_told_with_its_place() -> None:
    entry = {"cod": "failed", "ux": "approve", "security": {"report": "completed"}}
    assert faults(reviewers=[entry, "failed", DONE]) == [
        ("unknown_branch", ("reviewers", 0, "cod")),
        ("answer_unfit", ("reviewers", 0, "ux")),
        ("report_invalid", ("reviewers", 0, "security", "report", "data", "blockers")),
        ("answer_unfit", ("reviewers", 1)),
        ("answer_unfit", ("reviewers", 2)),
    ]
    assert faults(work=["stale", "wrong_checkout", CONTENT]) == [
        ("answer_unfit", ("work", number)) for number in range(3)
    ]
    assert faults(look=["stale", "review_again"], review=["approve"], verdict=["stale"]) == [
        ("answer_unfit", ("look", 0)),
        ("answer_unfit", ("look", 1)),
        ("answer_unfit", ("review", 0)),
        ("answer_unfit", ("verdict",)),
    ]


def test_a_branch_may_have_the_name_of_an_answers_own_key() -> None:
    given = told(reviewers=[{"report": verdict(), "decision": verdict()}]).answers["reviewers"]
    assert isinstance(given[0], dict)
    assert set(given[0]) == {"report", "decision"}


def test_a_misspelled_answer_of_a_branch_is_explained_at_the_branch() -> None:
    with pytest.raises(ValidationError) as refused:
        told(reviewers=[{"code": verdict(), "ux": "mising"}])
    (error,) = refused.value.errors()
    assert error["loc"][:3] == ("answers", "reviewers", 0)
    assert "ux" in error["loc"]


def test_expectations_tell_joins() -> None:
    document = {
        "pointsman": 1,
        "inputs": {"task": "x"},
        "cases": [
            {
                "name": "content",
                "answers": {"work": [DONE], "reviewers": [CONTENT]},
                "expect": {"routes": [
                    "work -> reviewers", "reviewers -> review", "review -> verdict",
                    "verdict -> approve (otherwise)",
                ], "visits": {"reviewers": 1, "review": 1}, "at": "approve"},
            },
            {
                "name": "incomplete",
                "answers": {"work": [DONE], "reviewers": [{**CONTENT, "ux": "missing"}]},
                "expect": {"routes": [
                    "work -> reviewers", "reviewers -> review (join)",
                    "review -> look (incomplete)",
                ], "end": "awaiting_review"},
            },
            {
                "name": "interrupted",
                "answers": {"work": [DONE], "reviewers": [{**CONTENT, "ux": "interrupted"}]},
                "expect": {"end": "unresolved", "at": "reviewers", "unresolved": "interrupted"},
            },
            {
                "name": "a branch forgotten",
                "answers": {"work": [DONE], "reviewers": [{"code": verdict()}]},
                "expect": {"path": ["work", "reviewers"]},
            },
        ],
    }  # fmt: skip
    tests = WorkflowTests.model_validate_json(json.dumps(document))
    judged = judge(reviewed(review=JOIN), tests)
    assert [each.differences for each in judged[:3]] == [(), (), ()]
    (forgotten,) = judged[3].differences
    assert forgotten.lines == ("+ reviewers has no answer for visit 1, branch security",)
