"""The published bounds of a definition, each at its last allowed value and one beyond."""

import json
from itertools import pairwise
from typing import Any

import pytest
from pydantic import ValidationError

from pointsman.graph import limits
from pointsman.graph.definition import Workflow
from pointsman.graph.edges import Graph
from pointsman.graph.validate import problems
from tests.harness.core import agent, field


def made(nodes: dict[str, Any], **more: Any) -> Workflow:
    whole = {"pointsman": 1, "id": "w", "name": "W", "entry": "a", "nodes": nodes, **more}
    return Workflow.model_validate_json(json.dumps(whole))


def codes(workflow: Workflow) -> list[str]:
    return [each.code for each in problems(workflow)]


def chain(length: int) -> dict[str, Any]:
    names = ["a", *(f"n{number}" for number in range(length - 2)), "z"]
    nodes = {
        name: {"kind": "decision", "otherwise": following} for name, following in pairwise(names)
    }
    return {**nodes, "z": {"kind": "end"}}


def fan(edges: int) -> dict[str, Any]:
    """Return two decisions with so many routes together, to one end."""

    def rules(count: int) -> list[dict[str, Any]]:
        term = {"field": "run.input.x", "present": True}
        return [{"name": f"r{number}", "when": term, "to": "z"} for number in range(count)]

    first = min(edges // 2, limits.PREDICATE_TERMS_MAX + 1) - 1
    return {
        "a": {"kind": "decision", "rules": rules(first), "otherwise": "b"},
        "b": {"kind": "decision", "rules": rules(edges - first - 2), "otherwise": "z"},
        "z": {"kind": "end"},
    }


INPUT = {"inputs": {"x": field("string")}}


def test_the_published_numbers_are_those_of_the_specification() -> None:
    published = limits.published()
    assert {key: published[key] for key in SPECIFIED} == SPECIFIED


SPECIFIED = {
    "nodes_max": 64,
    "edges_max": 256,
    "report_fields_max": 32,
    "predicate_depth_max": 8,
    "predicate_terms_max": 128,
    "repeats_min": 1,
    "repeats_max": 20,
    "visits_min": 1,
    "visits_max": 1_000,
    "visits_default": 100,
    "envelope_bytes_max": 65_536,
    "summary_chars_max": 4_000,
    "evidence_references_max": 20,
    "timeout_min_s": 60,
    "timeout_max_s": 86_400,
    "execution_timeout_default_s": 7_200,
    "review_deadline_default_s": 7_200,
}


def test_64_nodes_may_be_and_65_may_not() -> None:
    assert codes(made(chain(64))) == []
    with pytest.raises(ValidationError):
        made(chain(65))


def test_256_edges_may_be_and_257_may_not() -> None:
    assert codes(made(fan(256), **INPUT)) == []
    assert codes(made(fan(257), **INPUT)) == ["too_many_edges"]


def test_32_fields_may_be_declared_and_33_may_not() -> None:
    fields = {f"f{number}": field("boolean") for number in range(33)}
    end = {"z": {"kind": "end"}}
    fitting = dict(list(fields.items())[:32])
    assert codes(made({"a": agent("z", report={"fields": fitting}), **end})) == []
    with pytest.raises(ValidationError):
        made({"a": agent("z", report={"fields": fields}), **end})


@pytest.mark.parametrize("maximum,valid", [(0, False), (1, True), (1_000, True), (1_001, False)])
def test_the_whole_run_bound_is_between_1_and_1000(maximum: int, valid: bool) -> None:
    if valid:
        assert codes(made({"a": {"kind": "end"}}, visits={"max": maximum})) == []
    else:
        with pytest.raises(ValidationError):
            made({"a": {"kind": "end"}}, visits={"max": maximum})


def test_without_a_word_about_it_a_run_has_100_visits_and_work_two_hours() -> None:
    workflow = made({"a": agent("z"), "z": {"kind": "end"}})
    assert workflow.visits.max == 100
    node = workflow.nodes["a"]
    assert node.kind == "agent"
    assert node.timeout == 2 * 60 * 60


@pytest.mark.parametrize(
    "written,seconds",
    [("60s", 60), ("1m", 60), ("24h", 86_400), ("1440m", 86_400), (90, 90)],
)
def test_a_timeout_is_written_with_its_unit_or_in_seconds(written: object, seconds: int) -> None:
    node = made({"a": agent("z", timeout=written), "z": {"kind": "end"}}).nodes["a"]
    assert node.kind == "agent"
    assert node.timeout == seconds


@pytest.mark.parametrize("written", ["59s", "0m", "25h", "86401s", "1.5h", "2 h", "h", True, 60.0])
def test_any_other_timeout_is_refused(written: object) -> None:
    with pytest.raises(ValidationError):
        made({"a": agent("z", timeout=written), "z": {"kind": "end"}})


def test_routes_limit_destinations_and_ways_from_groups_to_joins_are_counted_and_branches_not() -> (
    None
):
    reviewer = {"agent": {"provider": "codex", "mode": "review"}, "focus": "security"}
    nodes = {
        "a": agent("g", unresolved="h"),  # two routes
        "g": {
            "kind": "parallel",
            "freeze": "workspace",
            "branches": {"one": reviewer, "two": reviewer},
            "join": "j",  # one way to the join
        },
        "j": {"kind": "join", "of": "g", "next": "z", "incomplete": "h"},  # two routes
        "h": {
            "kind": "gate",
            "title": "Look",
            "decisions": {  # two routes and one limit destination
                "approve": "z",
                "request_changes": {"to": "a", "repeat": {"max": 1, "at_limit": "z"}},
            },
        },
        "z": {"kind": "end"},
    }
    workflow = made(nodes, visits={"max": 10, "at_limit": "z"})  # one limit destination
    assert codes(workflow) == []
    assert Graph(workflow).counted == 9
