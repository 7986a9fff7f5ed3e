"""Goal: the trace on a terminal tells how long things took and, if asked, why and from what."""

from itertools import takewhile

import pytest

from pointsman.runtime.cli.trace_lines import in_time, lines
from pointsman.runtime.views.trace import entries_of
from tests.harness.core import Process, agent, workflow


@pytest.fixture
def told() -> list[str]:
    process = Process()
    process.work(data={"risk": "low"}).run_check(exit_code=1)
    return list(lines(list(entries_of(process.recorded)), full=True))


def behind(told: list[str], line: str) -> list[str]:
    """Return the lines below one line of the trace."""
    (start,) = [place for place, each in enumerate(told) if line in each]
    below = takewhile(lambda each: each.startswith(" " * 18), told[start + 1 :])
    return [each.strip() for each in below]


def test_behind_a_route_stand_its_rules_and_what_each_term_found(told: list[str]) -> None:
    assert behind(told, "verdict → implement") == [
        "rule 'tests failed': holds",
        "check.tests.exit_code ne 0: yes, it is 1",
    ]


def test_a_comparison_with_several_values_names_them_all() -> None:
    claimed = {"field": "report.implement.outcome", "in": ["blocked", "failed"]}
    rules = [{"name": "it says no", "when": claimed, "to": "done"}]
    nodes = {
        "implement": agent("verdict"),
        "verdict": {"kind": "decision", "rules": rules, "otherwise": "done"},
        "done": {"kind": "end"},
    }
    process = Process(workflow(nodes=nodes)).work()
    told = list(lines(list(entries_of(process.recorded)), full=True))
    assert behind(told, "verdict → done") == [
        "rule 'it says no': does not hold",
        "report.implement.outcome in [blocked, failed]: no, it is completed",
    ]


def test_behind_a_report_stand_its_fields(told: list[str]) -> None:
    assert behind(told, "claims completed") == ["risk: low"]


def test_behind_a_visit_stand_its_inputs_and_where_they_came_from() -> None:
    step = agent("done", inputs={"task": "run.input.task"})
    process = Process(workflow(nodes={"implement": step, "done": {"kind": "end"}}))
    told = list(lines(list(entries_of(process.recorded)), full=True))
    assert behind(told, "implement entered") == ["task: greet (from run.input.task)"]


def test_without_being_asked_each_event_is_one_line(told: list[str]) -> None:
    process = Process()
    process.work(data={"risk": "low"}).run_check(exit_code=1)
    plain = list(lines(list(entries_of(process.recorded)), full=False))
    assert len(plain) == len(process.recorded)
    assert set(plain) < set(told)


@pytest.mark.parametrize(
    "ms, words",
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1.0 s"),
        (59_940, "59.9 s"),
        (60_000, "1 min 0 s"),
        (12_000_000, "3 h 20 min"),
        (172_800_000, "2 d 0 h"),
    ],
)
def test_a_span_is_told_in_the_units_that_matter(ms: int, words: str) -> None:
    assert in_time(ms) == words
