"""Decisions take the first rule that holds, else the fallback, and say what they looked at."""

from typing import Any

import pytest

from pointsman.graph.definition import Workflow
from pointsman.graph.events import RouteTaken
from tests.harness.core import Process, agent, field, workflow


def deciding(*rules: dict[str, Any]) -> Workflow:
    """Return work → decision → one of the ends ``one``, ``two`` and ``otherwise``."""
    fields = {
        "ok": field("boolean"),
        "n": field("number"),
        "risk": field("enum", "low", "high"),
        "note": field("string"),
    }
    nodes = {
        "work": agent("verdict", report={"fields": fields}),
        "verdict": {"kind": "decision", "rules": list(rules), "otherwise": "otherwise"},
        **{name: {"kind": "end"} for name in ("one", "two", "otherwise")},
    }
    return workflow(entry="work", nodes=nodes)


def rule(to: str, **test: Any) -> dict[str, Any]:
    return {"name": f"to {to}", "when": test, "to": to}


def decided(definition: Workflow, **data: Any) -> RouteTaken:
    process = Process(definition).work(data=data)
    taken = [e.event for e in process.recorded if isinstance(e.event, RouteTaken)]
    return next(each for each in taken if each.from_node == "verdict")


ONE = rule("one", field="report.work.n", gt=0)
TWO = rule("two", field="report.work.ok", eq=True)


def test_the_first_rule_that_holds_is_taken_and_later_ones_are_not_considered() -> None:
    taken = decided(deciding(ONE, TWO), n=1, ok=True)
    assert (taken.to, taken.rule) == ("one", "to one")
    assert [each.name for each in taken.considered] == ["to one"]


def test_the_order_of_the_rules_decides() -> None:
    assert decided(deciding(TWO, ONE), n=1, ok=True).to == "two"


def test_without_a_rule_that_holds_the_fallback_is_taken_and_all_were_considered() -> None:
    taken = decided(deciding(ONE, TWO), n=0, ok=False)
    assert (taken.to, taken.rule, taken.reason.value) == ("otherwise", None, "otherwise")
    assert [(each.name, each.holds) for each in taken.considered] == [
        ("to one", False),
        ("to two", False),
    ]


def test_a_decision_without_rules_takes_its_fallback() -> None:
    assert decided(deciding()).to == "otherwise"


@pytest.mark.parametrize(
    "test,data",
    [
        ({"field": "report.work.ok", "eq": True}, {"ok": True}),
        ({"field": "report.work.n", "le": 2}, {"n": 2}),
        ({"field": "report.work.risk", "in": ["high"]}, {"risk": "high"}),
        ({"field": "report.work.note", "eq": "x"}, {"note": "x"}),
        ({"field": "report.work.outcome", "eq": "completed"}, {}),
        ({"field": "report.work.summary", "ne": "x"}, {}),
        ({"field": "run.input.task", "eq": "greet"}, {}),
        ({"field": "report.work.note", "absent": True}, {}),
    ],
)
def test_each_declared_type_and_the_envelopes_own_fields_route(
    test: dict[str, Any], data: dict[str, Any]
) -> None:
    assert decided(deciding(rule("one", **test)), **data).to == "one"


def test_an_absent_field_makes_inequality_false_too() -> None:
    assert decided(deciding(rule("one", field="report.work.n", ne=5))).to == "otherwise"


def test_a_condition_may_name_a_result_that_is_not_there() -> None:
    nodes = deciding(rule("one", field="check.later.exit_code", eq=0)).model_dump(
        mode="json", exclude_none=True
    )["nodes"]
    later = {"kind": "check", "run": ["true"], "next": "two"}
    nodes["verdict"]["otherwise"] = {"to": "later"}
    nodes["later"] = later
    process = Process(workflow(entry="work", nodes=nodes)).work()
    assert process.visit.node == "later"


def test_a_new_run_begins_with_fresh_counters() -> None:
    first = Process().work().run_check(1)
    assert first.state.route_counts == {"verdict/rules/0": 1}
    assert Process().state.route_counts == {}


def test_a_required_input_without_a_value_makes_its_node_unresolved() -> None:
    nodes = {
        "work": agent("next", report={"fields": {"n": field("number")}}),
        "next": agent("done", inputs={"n": "report.work.n"}),
        "done": {"kind": "end"},
    }
    process = Process(workflow(entry="work", nodes=nodes)).work()
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "input_missing"
