"""Parallel groups, joins, reviews and deciders as an author may write them."""

import json
from typing import Any

import pytest

from pointsman.graph.definition import JoinNode, ParallelNode, Workflow
from pointsman.graph.paths import declared, parse, whole_at
from pointsman.graph.results import GateComment, GateDecision, GateResult
from pointsman.graph.reviews import FrozenInput, Uncommitted
from pointsman.graph.validate import problems
from tests.harness.core import agent, field


def reviewer(**more: Any) -> dict[str, Any]:
    return {"agent": {"provider": "codex", "mode": "review", "skill": "code-review"}, **more}


def reviewed(**changes: Any) -> Workflow:
    """Return work → group → join → verdict → gate, with nodes replaced or added."""
    contract = {"fields": {"blockers": field("number", required=True)}}
    nodes = {
        "work": agent("group"),
        "group": {
            "kind": "parallel",
            "freeze": "workspace",
            "branches": {"code": reviewer(report=contract), "security": reviewer(focus="secrets")},
            "join": "review",
        },
        "review": {"kind": "join", "of": "group", "next": "verdict", "incomplete": "look"},
        "verdict": {
            "kind": "decision",
            "rules": [
                {
                    "name": "blocked",
                    "when": {"field": "join.review.code.blockers", "gt": 0},
                    "to": "look",
                }
            ],
            "otherwise": "approve",
        },
        "approve": {"kind": "gate", "title": "Approve", "review": "review"},
        "look": {"kind": "gate", "title": "Look"},
    }
    made = {"pointsman": 1, "id": "w", "name": "W", "entry": "work"}
    inputs = {"pr": field("string", required=True)}
    whole = {**made, "inputs": inputs, "nodes": {**nodes, **changes}}
    return Workflow.model_validate_json(json.dumps(whole))


def group(**changes: Any) -> dict[str, Any]:
    made = {"kind": "parallel", "freeze": "workspace", "branches": {"code": reviewer()}}
    return {**made, "join": "review", **changes}


def verdict(field_: str) -> dict[str, Any]:
    rule = {"name": "r", "when": {"field": field_, "present": True}, "to": "look"}
    return {"kind": "decision", "rules": [rule], "otherwise": "approve"}


def test_a_reviewed_change_is_valid() -> None:
    assert problems(reviewed()) == ()


def test_a_group_of_one_branch_and_a_decision_without_rules_are_accepted() -> None:
    plain = {"kind": "decision", "otherwise": "approve"}
    assert problems(reviewed(group=group(), verdict=plain, look={"kind": "end"})) == ()


def test_two_branches_of_one_skill_are_two_reviewers() -> None:
    node = reviewed().nodes["group"]
    assert isinstance(node, ParallelNode)
    assert [branch.agent.skill for branch in node.branches.values()] == ["code-review"] * 2
    assert list(node.branches) == ["code", "security"]


def test_a_reviewer_has_two_hours_and_uncommitted_changes_are_refused_without_a_word() -> None:
    node = reviewed().nodes["group"]
    assert isinstance(node, ParallelNode)
    assert node.branches["code"].deadline == 2 * 60 * 60
    assert node.uncommitted is Uncommitted.REFUSE


@pytest.mark.parametrize("policy", ["refuse", "ignore", "commit"])
def test_a_workspace_may_be_frozen_under_each_policy(policy: str) -> None:
    plain = {"kind": "decision", "otherwise": "approve"}
    workflow = reviewed(group=group(uncommitted=policy), verdict=plain)
    assert problems(workflow) == ()


def test_an_input_may_name_the_change_that_is_frozen() -> None:
    workflow = reviewed(
        group=group(freeze={"input": "pr"}), verdict={"kind": "decision", "otherwise": "approve"}
    )
    assert problems(workflow) == ()
    node = workflow.nodes["group"]
    assert isinstance(node, ParallelNode)
    assert node.freeze == FrozenInput(input="pr")


def test_without_an_exit_an_incomplete_join_waits() -> None:
    workflow = reviewed(review={"kind": "join", "of": "group", "next": "verdict"})
    assert problems(workflow) == ()
    node = workflow.nodes["review"]
    assert isinstance(node, JoinNode)
    assert node.incomplete is None


def test_a_later_agent_may_bind_all_reports_and_single_values_of_a_completed_review() -> None:
    inputs = {
        "all": "join.review.reports",
        "blockers": "join.review.code.blockers",
        "words": "join.review.security.summary",
        "how": "join.review.outcome",
    }
    workflow = reviewed(verdict=agent("approve", inputs=inputs, review="review"))
    assert problems(workflow) == ()


def test_the_first_round_has_no_findings_so_they_are_optional_for_it() -> None:
    finding = {"from": "join.review.reports", "optional": True}
    back = {"to": "work", "repeat": {"max": 1, "at_limit": "look"}}
    gate = {
        "kind": "gate",
        "title": "Approve",
        "review": "review",
        "decisions": {"request_changes": back},
    }
    workflow = reviewed(work=agent("group", inputs={"findings": finding}), approve=gate)
    assert problems(workflow) == ()


@pytest.mark.parametrize(
    "path,known",
    [
        ("join.review.code.blockers", True),
        ("join.review.code.outcome", True),
        ("join.review.security.summary", True),
        ("join.review.outcome", True),
        ("join.review.security.blockers", False),
        ("join.review.reports", False),
        ("join.group.code.blockers", False),
        ("join.review.other.summary", False),
        ("gate.look.comments", False),
    ],
)
def test_conditions_read_single_values_of_branches_by_their_declared_type(
    path: str, known: bool
) -> None:
    parsed = parse(path)
    assert parsed is not None
    assert str(parsed) == path
    assert (declared(reviewed(), parsed) is not None) is known


def test_of_an_incomplete_join_nothing_has_a_type_so_no_condition_can_ask_for_it() -> None:
    workflow = reviewed(verdict=verdict("join.review.outcome"))
    assert problems(workflow) == ()
    path = parse("join.review.outcome")
    assert path is not None
    outcome = declared(workflow, path)
    assert outcome is not None
    assert outcome.values == ("all_completed",)


def test_a_branch_may_have_the_name_of_a_joins_own_value() -> None:
    named = group(branches={"outcome": reviewer(), "reports": reviewer()})
    assert problems(reviewed(group=named, verdict=verdict("join.review.outcome.summary"))) == ()


def test_every_kind_of_node_may_consume_a_review_after_it() -> None:
    check = {"kind": "check", "run": ["true"], "next": "approve", "review": "review"}
    assert problems(reviewed(verdict=check)) == ()
    decision = {**verdict("join.review.code.blockers"), "review": "review"}
    assert problems(reviewed(verdict=decision)) == ()


def test_the_whole_run_exit_is_a_way_without_a_review() -> None:
    workflow = reviewed().model_copy(
        update={"visits": reviewed().visits.model_copy(update={"at_limit": "approve"})}
    )
    assert [each.code for each in problems(workflow)] == ["review_not_done"]


def test_a_gate_says_who_may_decide() -> None:
    look = {"kind": "gate", "title": "Look", "decide": {"roles": ["lead"], "people": ["Ann"]}}
    node = reviewed(look=look).nodes["look"]
    assert node.kind == "gate"
    assert node.decide is not None
    assert (node.decide.roles, node.decide.people) == (("lead",), ("Ann",))


def test_comments_can_be_bound_and_are_absent_when_there_are_none() -> None:
    path = parse("gate.look.comments")
    assert path is not None
    assert path.whole
    gate = GateResult(gate_id="g", decision=GateDecision.REQUEST_CHANGES, decided_by="ann")
    assert whole_at(path, {"look": gate}) is None
    comment = GateComment(path="a.py", line=3, text="why?")
    told = gate.model_copy(update={"comments": (comment,)})
    assert whole_at(path, {"look": told}) == [{"path": "a.py", "line": 3, "text": "why?"}]
