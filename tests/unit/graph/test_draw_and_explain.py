"""Goal: a drawing and an explanation leave nothing out, and no text of an author breaks them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pointsman.graph.definition import Workflow
from pointsman.graph.draw import mermaid
from pointsman.graph.edges import EdgeKind, Graph
from pointsman.graph.explain import explain, overview
from pointsman.storage.catalog import load_file
from tests.harness import core
from tests.tidy.source_files import ROOT

FULL = ROOT / "tests" / "unit" / "storage" / "definitions" / "reviewed-change.yaml"
ARROW = re.compile(r"  (\w+) (-->|-\.->)(?:\|\"([^\"]*)\"\|)? (\w+)")


def full() -> Workflow:
    workflow = load_file(Path(FULL)).workflow
    assert workflow is not None
    return workflow


def arrows(drawn: str) -> set[tuple[str | None, ...]]:
    return {match.group(1, 2, 3, 4) for match in ARROW.finditer(drawn)}


def said(workflow: Workflow, node: str) -> str:
    return " ".join(*[each.follows for each in explain(workflow) if each.node == node])


def test_every_edge_is_drawn_and_explained() -> None:
    workflow = full()
    drawn = {(source, to) for source, _, _, to in arrows(mermaid(workflow))}
    for edge in Graph(workflow).edges:
        if edge.kind is EdgeKind.ROUTE or edge.kind is EdgeKind.REPEAT_LIMIT:
            ends = (f"n_{edge.source}".replace("-", "_"), f"n_{edge.to}".replace("-", "_"))
            assert ends in drawn
        if edge.kind is not EdgeKind.VISIT_LIMIT:
            assert edge.to in said(workflow, edge.source)
    assert ("limit", "n_needs_human") in drawn
    assert ("start", "n_implement") in drawn


def test_a_group_is_drawn_with_its_branches_between_it_and_its_join() -> None:
    found = arrows(mermaid(full()))
    for branch in ("correctness", "security", "ux"):
        assert ("n_reviewers", "-->", None, f"n_reviewers_B_{branch}") in found
        assert (f"n_reviewers_B_{branch}", "-->", None, "n_review") in found


def test_each_kind_has_its_own_shape() -> None:
    drawn = mermaid(full())
    for begun in (
        'n_implement("',
        'n_unit_tests[["',
        'n_tests_verdict{"',
        'n_reviewers[/"',
        'n_review[\\"',
        'n_approve{{"',
        'n_done(["',
    ):
        assert f"  {begun}" in drawn


def test_a_bounded_route_says_how_often_and_where_it_leads_after_that() -> None:
    found = arrows(mermaid(core.workflow()))
    assert ("n_verdict", "-->", "1. tests failed<br/>at most 1×", "n_implement") in found
    assert ("n_verdict", "-.->", "1. tests failed<br/>after 1×", "n_look") in found


def test_no_name_or_text_of_an_author_reads_as_a_word_of_mermaid() -> None:
    made: dict[str, Any] = {
        "entry": "end",
        "nodes": {
            "end": {"kind": "check", "run": 'a "b" && c | d ]] %% #1; <i>\n', "next": "a--b"},
            "a--b": {"kind": "gate", "title": '}} | "x" --> `y`'},
        },
    }
    drawn = mermaid(core.workflow(inputs={}, **made))
    for line in drawn.splitlines()[1:]:
        for text in re.findall(r'"(.*)"', line):
            assert not set(re.sub(r"#\d+;|<br/>", "", text)) & set('"<>`[]{}()|#\\')
    assert ("n_end", "-->", None, "n_a__b") in arrows(drawn)


def test_conditions_are_said_in_words() -> None:
    when = {
        "all": [
            {"field": "check.tests.exit_code", "gt": 1},
            {
                "any": [
                    {"field": "report.implement.risk", "in": ["low", "high"]},
                    {"field": "report.implement.risk", "absent": True},
                ]
            },
            {"field": "check.tests.timed_out", "eq": False},
        ]
    }
    rule = {"name": "odd", "when": when, "to": "look"}
    made = core.workflow().model_dump(mode="json", by_alias=True, exclude_none=True)
    made["nodes"]["verdict"]["rules"] = [rule]
    workflow = Workflow.model_validate_json(json.dumps(made))
    assert (
        "Rule 1, “odd”: if check.tests.exit_code is more than 1 and "
        "(report.implement.risk is one of low, high or report.implement.risk is not there) and "
        "check.tests.timed_out is false, the run goes to look." in said(workflow, "verdict")
    )


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({}, "the run waits unresolved for a person."),
        ({"unresolved": "look"}, "the run goes to look."),
        ({"timeout": "90s"}, "takes longer than 90s"),
        ({"resume": {"max": 2}}, "goes on by itself, at most twice."),
    ],
    ids=str,
)
def test_what_happens_without_a_result_is_said(changes: dict[str, Any], sentence: str) -> None:
    nodes = {"a": core.agent("look", **changes), "look": {"kind": "gate", "title": "Look"}}
    assert sentence in said(core.workflow(entry="a", nodes=nodes), "a")


def test_a_gate_says_who_may_decide_and_what() -> None:
    gate = {"kind": "gate", "title": "Look", "decide": {"roles": ["maintainer"], "people": ["ann"]}}
    words = said(core.workflow(entry="look", nodes={"look": gate}), "look")
    assert "It waits for anyone of role maintainer or ann to decide." in words
    assert "On approval, the run is completed." in words
    assert "Changes cannot be requested here." in words


def test_the_overview_names_inputs_entry_and_the_bound() -> None:
    first, second, third = overview(full())
    assert first == "It is started with: task."
    assert second == "It begins at implement."
    assert third.startswith("It enters at most 40 nodes")
    assert third.endswith("goes to needs-human.")


def test_a_node_says_from_where_it_is_reached() -> None:
    found = {each.node: each.reached_from for each in explain(core.workflow())}
    assert found["implement"] == ("the start", "verdict", "approve")
    assert found["look"] == ("verdict", "approve")
