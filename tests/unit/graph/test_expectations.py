"""Goal: a case differs exactly where its story comes to something else than expected."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from pointsman.graph.expectations import Expected, WorkflowTests, case_problems, judge
from tests.harness import core

DONE = {"report": "completed"}
STORY = {"implement": [DONE, DONE], "tests": [1, 0], "approve": ["approve"]}
ROUTES = [
    "implement -> tests",
    "tests -> verdict",
    "verdict -> implement (tests failed)",
    "implement -> tests",
    "tests -> verdict",
    "verdict -> approve (otherwise)",
    "approve -> done (approve)",
]


def cases(*made: dict[str, Any]) -> WorkflowTests:
    document = {"pointsman": 1, "inputs": {"task": "greet"}, "cases": list(made)}
    return WorkflowTests.model_validate_json(json.dumps(document))


def case(expect: dict[str, Any], **answers: list[Any]) -> dict[str, Any]:
    return {"name": "c", "answers": answers or STORY, "expect": expect}


def differing(expect: dict[str, Any], **answers: list[Any]) -> dict[str, tuple[str, ...]]:
    (judged,) = judge(core.workflow(), cases(case(expect, **answers)))
    return {each.subject: each.lines for each in judged.differences}


@pytest.mark.parametrize(
    "expect",
    [
        {"routes": ROUTES},
        {"routes": [line.partition(" (")[0] for line in ROUTES]},
        {"routes": [line.replace("->", "→") for line in ROUTES]},
        {"path": ["implement", "tests", "verdict"] * 2 + ["approve", "done"]},
        {"visits": {"implement": 2, "look": 0}},
        {"end": "completed", "at": "done"},
    ],
    ids=str,
)
def test_what_happens_as_expected_does_not_differ(expect: dict[str, Any]) -> None:
    assert differing(expect) == {}


@pytest.mark.parametrize(
    "expect, subject, lines",
    [
        ({"end": "failed"}, "end", ("- failed", "+ completed")),
        ({"at": "look"}, "at", ("- look", "+ done")),
        ({"visits": {"tests": 1}}, "visits of tests", ("- 1", "+ 2")),
        ({"unresolved": "timed_out"}, "unresolved", ("- timed_out", "+ resolved")),
    ],
)
def test_what_happens_otherwise_differs(
    expect: dict[str, Any], subject: str, lines: tuple[str, ...]
) -> None:
    assert differing(expect) == {subject: lines}


def test_a_route_that_was_not_taken_is_shown_between_those_that_were() -> None:
    expected = [line for line in ROUTES if not line.startswith("verdict -> implement")]
    shown = differing({"routes": expected})["routes"]
    assert shown[:3] == (
        "  implement -> tests",
        "  tests -> verdict",
        "+ verdict -> implement (tests failed)",
    )
    assert not any(line.startswith("-") for line in shown)


def test_a_route_taken_for_another_reason_differs() -> None:
    expected = [line.replace("otherwise", "tests failed") for line in ROUTES]
    assert "+ verdict -> approve (otherwise)" in differing({"routes": expected})["routes"]


def test_missing_and_left_over_answers_differ() -> None:
    found = differing({"path": ["implement", "tests"]}, implement=[DONE], approve=["approve"])
    assert found["answers"] == (
        "+ tests has no answer for visit 1",
        "+ approve was not asked for its answer 1",
    )


def test_a_gate_may_stay_undecided() -> None:
    expect = {"end": "awaiting_review", "at": "approve"}
    assert differing(expect, implement=[DONE], tests=[0]) == {}


def test_a_case_that_expects_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="nothing is expected"):
        Expected()


def test_the_inputs_of_a_case_come_before_those_of_the_file() -> None:
    made = case({"end": "completed"}) | {"inputs": {"task": "else"}}
    (judged,) = judge(core.workflow(), cases(made))
    assert judged.differences == ()


def test_every_name_of_an_expectation_must_be_there() -> None:
    expect = {
        "path": ["implment"],
        "visits": {"nobody": 1},
        "at": "nowhere",
        "routes": ["implement to tests", "tests -> verdickt (so)"],
    }
    found = list(case_problems(core.workflow(), cases(case(expect))))
    assert [(each.code, each.where[3:]) for each in found] == [
        ("bad_route", ("routes", 0)),
        ("unknown_target", ("path", 0)),
        ("unknown_target", ("visits", "nobody")),
        ("unknown_target", ("at",)),
        ("unknown_target", ("routes", 1)),
    ]


def test_cases_are_told_apart_by_name() -> None:
    tests = cases(case({"end": "completed"}), case({"end": "completed"}))
    found = list(case_problems(core.workflow(), tests))
    assert [each.code for each in found] == ["duplicate_case", "duplicate_case"]
