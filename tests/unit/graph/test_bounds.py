"""Repeats and visits are bounded, and a bound's exit admits no further automated work."""

import pytest

from pointsman.graph.allowed import allowed_actions
from pointsman.graph.definition import Workflow
from pointsman.graph.run import RunState
from tests.harness.core import Process, agent, workflow

NO_LIMIT_NODE = {
    "kind": "decision",
    "rules": [
        {
            "name": "tests failed",
            "when": {"field": "check.tests.exit_code", "ne": 0},
            "to": "implement",
            "repeat": {"max": 20, "at_limit": "look"},
        }
    ],
    "otherwise": "approve",
}


def with_visits(maximum: int, at_limit: str | None) -> Workflow:
    nodes = workflow().model_dump(mode="json", exclude_none=True)["nodes"]
    visits = {"max": maximum, **({"at_limit": at_limit} if at_limit else {})}
    return workflow(visits=visits, nodes={**nodes, "verdict": NO_LIMIT_NODE})


def test_the_first_execution_plus_one_repeat_is_exactly_two_visits() -> None:
    process = Process()
    process.work().run_check(1)
    process.work(retry_key="k2").run_check(1)
    assert process.state.visit_counts["implement"] == 2
    assert process.visit.node == "look"
    assert process.routes()[-1] == ("verdict/rules/0", "repeat_limit", "look")


def test_a_refused_route_does_not_raise_its_counter() -> None:
    process = Process()
    process.work().run_check(1)
    process.work(retry_key="k2").run_check(1)
    assert process.state.route_counts == {"verdict/rules/0": 1}


def test_a_passing_result_on_the_last_allowed_visit_takes_the_pass_route() -> None:
    process = Process()
    process.work().run_check(1)
    process.work(retry_key="k2").run_check(0)
    assert process.visit.node == "approve"


def test_every_entry_counts_as_a_visit_of_whatever_kind() -> None:
    process = Process().work().run_check(0)
    assert process.state.visits_used == 4
    process.decide_gate()
    assert process.state.visits_used == 5


@pytest.mark.parametrize("maximum", [1, 2, 3, 4, 5])
def test_an_exhausted_run_takes_the_bounds_exit_and_admits_no_automated_work(
    maximum: int,
) -> None:
    process = Process(with_visits(maximum, "look"))
    for number in range(10):
        if process.visit.node == "implement":
            process.work(retry_key=f"k{number}")
        elif process.visit.node == "tests":
            process.run_check(1)
    assert process.visit.node == "look"
    assert process.routes()[-1][1] == "visit_limit"
    automated = sum(process.state.visit_counts.get(n, 0) for n in ("implement", "tests", "verdict"))
    assert automated == maximum


def test_an_exhausted_run_without_its_own_exit_takes_the_refused_routes_exit() -> None:
    process = Process(with_visits(3, None))
    process.work().run_check(1)
    assert process.routes()[-1] == ("verdict/rules/0", "visit_limit", "look")


def test_an_exhausted_run_without_any_exit_waits_unresolved_and_can_only_be_canceled() -> None:
    process = Process(with_visits(1, None))
    process.work()
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "visit_limit"
    assert process.state.state is RunState.UNRESOLVED
    assert [each.action for each in allowed_actions(process.state)] == ["cancel"]


def test_a_route_counts_per_run_over_all_its_visits() -> None:
    nodes = {
        "work": agent("verdict"),
        "verdict": {
            "kind": "decision",
            "rules": [
                {
                    "name": "again",
                    "when": {"field": "report.work.outcome", "eq": "failed"},
                    "to": "work",
                    "repeat": {"max": 2, "at_limit": "stop"},
                }
            ],
            "otherwise": "stop",
        },
        "stop": {"kind": "end"},
    }
    process = Process(workflow(entry="work", nodes=nodes))
    for number in range(3):
        process.work(retry_key=f"k{number}", outcome="failed")
    assert process.state.visit_counts["work"] == 3
    assert process.state.state is RunState.COMPLETED
