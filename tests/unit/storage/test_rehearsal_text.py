"""Goal: answers and cases are read strictly; every mistake has its place and its mend."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.storage.placed_text import PlacedProblem
from pointsman.storage.rehearsal_text import read_tests, read_told
from tests.harness import core

WORKFLOW = core.workflow()
INPUTS = "inputs: {task: greet}\n"


def told(text: str) -> tuple[PlacedProblem, ...]:
    return read_told(text, "answers.yaml", WORKFLOW)[1]


def placed(problems: tuple[PlacedProblem, ...]) -> list[tuple[str, int, int]]:
    return [(each.code, each.line, each.column) for each in problems]


def test_every_form_of_an_answer_is_read() -> None:
    text = INPUTS + (
        "answers:\n"
        "  implement:\n"
        "    - report: completed\n"
        "    - report: {outcome: completed, summary: Done., data: {risk: low}}\n"
        "    - missing\n"
        "  tests: [0, {exit_code: 1, output: oh}, lost, [timed_out, 0]]\n"
        "  approve: [approve, {decision: request_changes, note: more}]\n"
    )
    found, problems = read_told(text, "answers.yaml", WORKFLOW)
    assert problems == ()
    assert found is not None
    assert [len(each) for each in found.answers.values()] == [3, 4, 2]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", [("empty_file", 1, 1)]),
        ("[]\n", [("not_a_mapping", 1, 1)]),
        ("answer: 1\n", [("unknown_key", 1, 1)]),
        ("inputs: {}\n", [("input_invalid", 1, 1)]),
        ("inputs: {task: 1}\n", [("input_invalid", 1, 16)]),
        (INPUTS + "answers: {nobody: [0]}\n", [("unknown_target", 2, 11)]),
        (INPUTS + "answers: {verdict: [0]}\n", [("answer_unfit", 2, 11)]),
        (INPUTS + "answers: {tests: [approve]}\n", [("answer_unfit", 2, 19)]),
        (INPUTS + "answers: {tests: [true]}\n", [("wrong_type", 2, 19)]),
        (INPUTS + "answers: {tests: [lots]}\n", [("unknown_value", 2, 19)]),
        (INPUTS + "answers: {tests: [[0, missing]]}\n", [("answer_unfit", 2, 23)]),
        (INPUTS + "answers: {look: [request_changes]}\n", [("answer_unfit", 2, 18)]),
        (INPUTS + "answers: {implement: [0]}\n", [("answer_unfit", 2, 23)]),
        (INPUTS + "answers: {implement: [{report: done}]}\n", [("unknown_value", 2, 32)]),
        (
            INPUTS + "answers:\n  implement: [report: {outcome: completed, data: {risk: 1}}]\n",
            [("report_invalid", 3, 57)],
        ),
        (
            INPUTS + "answers: {approve: [{decision: approve, notes: x}]}\n",
            [("unknown_key", 2, 41)],
        ),
    ],
)
def test_every_mistake_has_its_place(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert placed(told(text)) == expected


def test_all_mistakes_come_at_once_with_how_to_mend_them() -> None:
    problems = told("answers: {tests: [approve], nobody: [0], implement: [0]}\n")
    assert len(problems) == 4
    assert all(each.mend for each in problems)


def test_cases_are_read_without_their_workflow_for_their_shape_only() -> None:
    text = "pointsman: 1\ncases:\n  - {name: c, answers: {nobody: [0]}, expect: {end: failed}}\n"
    assert read_tests(text, "x.test.yaml", None)[1] == ()
    codes = [each.code for each in read_tests(text, "x.test.yaml", WORKFLOW)[1]]
    assert sorted(codes) == ["input_invalid", "unknown_target"]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("pointsman: 1\n", [("missing_key", 1, 1)]),
        ("pointsman: 2\ncases: []\n", [("unsupported_format", 1, 12), ("too_few", 2, 1)]),
        ("pointsman: 1\ncases: [{name: c, expect: {}}]\n", [("nothing_expected", 2, 19)]),
    ],
)
def test_mistakes_of_cases_have_their_place(
    text: str, expected: list[tuple[str, int, int]]
) -> None:
    problems = read_tests(text, "x.test.yaml", WORKFLOW)[1]
    assert placed(problems) == expected


@given(st.text() | st.binary())
def test_no_text_breaks_the_reading(text: str | bytes) -> None:
    for found, problems in (
        read_told(text, "a", WORKFLOW),
        read_tests(text, "a", WORKFLOW),
    ):
        assert (found is None) == bool(problems)
