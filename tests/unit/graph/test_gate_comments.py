"""A request for changes carries comments on the reviewed commit; who may decide is kept to."""

from typing import Any

import pytest

from pointsman.graph import limits
from pointsman.graph.allowed import allowed_actions
from pointsman.graph.definition import Workflow
from pointsman.graph.events import GateDecided
from pointsman.graph.project import project
from pointsman.graph.rejections import Rejected
from pointsman.graph.results import GateComment, GateDecision, GateResult
from pointsman.graph.run import RunState
from tests.harness.core import Process, agent, code_of, workflow

HEAD = "2" * 40
CHANGES = GateDecision.REQUEST_CHANGES


def reviewed(**gate: Any) -> Workflow:
    """Return implement → approve (back to mend) → done, with the gate's fields."""
    back = {"to": "mend", "repeat": {"max": 1, "at_limit": "done"}}
    bound = {"comments": "gate.approve.comments", "said": "gate.approve"}
    nodes = {
        "implement": agent("approve"),
        "approve": {
            "kind": "gate",
            "title": "Approve",
            "decisions": {"approve": "done", "request_changes": back},
            **gate,
        },
        "mend": agent("approve", inputs={k: {"from": v} for k, v in bound.items()}),
        "done": {"kind": "end"},
    }
    return workflow(entry="implement", nodes=nodes)


def at_gate(**gate: Any) -> Process:
    process = Process(reviewed(**gate)).launch()
    process.report()
    process.observe(head_commit=HEAD)
    return process


def comment(**changes: Any) -> GateComment:
    return GateComment(**{"path": "src/a.py", "line": 7, "text": "Why twice?", **changes})


def errors_of(process: Process, *comments: GateComment) -> list[tuple[str, str]]:
    before = process.state
    refused = process.decide_gate(CHANGES, comments=comments)
    assert isinstance(refused, Rejected)
    assert refused.code == "comments_invalid"
    assert process.state == before
    return [(each["path"], each["problem"]) for each in refused.details["fields"]]


def test_comments_are_recorded_on_the_commit_that_was_decided_upon() -> None:
    process = at_gate()
    given = (comment(), comment(path="README.md", line=None, text="Say why."))
    process.decide_gate(CHANGES, comments=given, note="Two things.")
    (event,) = [e.event for e in process.recorded if isinstance(e.event, GateDecided)]
    assert (event.comments, event.commit) == (given, HEAD)
    result = process.state.results["approve"]
    assert isinstance(result, GateResult)
    assert (result.comments, result.commit, result.note) == (given, HEAD, "Two things.")


def test_the_next_agent_gets_the_comments_it_binds_alone_and_with_the_decision() -> None:
    process = at_gate()
    process.decide_gate(CHANGES, comments=(comment(),))
    assert process.visit.node == "mend"
    shown = {"path": "src/a.py", "line": 7, "text": "Why twice?"}
    assert process.visit.inputs["comments"] == [shown]
    assert process.visit.inputs["said"]["comments"] == [shown]


@pytest.mark.parametrize(
    "changes, path, problem",
    [
        ({"line": 0}, "comments[0].line", "is 0"),
        ({"line": -3}, "comments[0].line", "is -3"),
        ({"line": 2**60}, "comments[0].line", f"is {2**60}"),
        ({"path": ""}, "comments[0].path", "is empty"),
        ({"path": "/etc/passwd"}, "comments[0].path", "leads out of the repository"),
        ({"path": "a/../../b"}, "comments[0].path", "leads out of the repository"),
        ({"path": "p" * 1_001}, "comments[0].path", "has 1001 characters"),
        ({"text": " \n"}, "comments[0].text", "is empty"),
        ({"text": "t" * 4_001}, "comments[0].text", "has 4001 characters"),
    ],
)
def test_a_comment_beyond_its_bounds_is_refused_at_its_field(
    changes: dict[str, Any], path: str, problem: str
) -> None:
    assert errors_of(at_gate(), comment(**changes)) == [(path, problem)]


def test_every_mistake_is_told_at_once() -> None:
    told = errors_of(at_gate(), comment(line=0, text=""), comment(), comment(path=""))
    assert [path for path, _ in told] == [
        "comments[0].text",
        "comments[0].line",
        "comments[2].path",
    ]


def test_comments_at_their_bounds_are_taken_and_one_more_is_not() -> None:
    process = at_gate()
    many = (comment(),) * limits.GATE_COMMENTS_MAX
    assert errors_of(process, *many, comment()) == [("comments", "are 101")]
    assert code_of(process.decide_gate(CHANGES, comments=many)) == "accepted"
    assert process.visit.unresolved is None, "what was accepted can be bound"


def test_comments_that_could_not_be_bound_together_are_refused() -> None:
    long = comment(text="ü" * limits.COMMENT_TEXT_CHARS_MAX)
    (told,) = errors_of(at_gate(), *(long,) * 10)
    assert told[0] == "comments"


def test_an_approval_carries_no_comments() -> None:
    process = at_gate()
    refused = process.decide_gate(comments=(comment(),))
    assert code_of(refused) == "comments_invalid"
    assert process.state.state is RunState.AWAITING_REVIEW


def test_no_text_decides_without_an_explicit_decision() -> None:
    process = at_gate()
    process.decide_gate(CHANGES, note="LGTM, approved!", comments=(comment(text="Approve."),))
    assert process.visit.node == "mend"


DECIDE = {"decide": {"roles": ["maintainer", "lead"], "people": ["carol"]}}


@pytest.mark.parametrize(
    "person, roles, code",
    [
        ("carol", (), "accepted"),
        ("ann", ("lead",), "accepted"),
        ("ann", ("guest", "maintainer"), "accepted"),
        ("ann", (), "not_permitted"),
        ("ann", ("guest",), "not_permitted"),
        ("maintainer", (), "not_permitted"),
        ("Carol", (), "not_permitted"),
    ],
)
@pytest.mark.parametrize("decision", GateDecision)
def test_only_those_the_definition_names_may_decide(
    decision: GateDecision, person: str, roles: tuple[str, ...], code: str
) -> None:
    process = at_gate(**DECIDE)
    before = process.state
    verdict = process.decide_gate(decision, decided_by=person, roles=roles)
    assert code_of(verdict) == code
    if isinstance(verdict, Rejected):
        assert process.state == before
        assert verdict.details == {"roles": ["maintainer", "lead"], "people": ["carol"]}


def test_a_gate_without_a_word_about_it_takes_everyone() -> None:
    assert code_of(at_gate().decide_gate(decided_by="anybody")) == "accepted"


def test_the_actions_and_the_attention_item_say_who_may_decide() -> None:
    process = at_gate(**DECIDE)
    actions = {each.action.value: each.deciders for each in allowed_actions(process.state)}
    assert actions["approve"] == actions["request_changes"]
    assert actions["approve"] is not None
    assert actions["approve"].people == ("carol",)
    assert actions["cancel"] is None
    (item,) = project(process.state).attention
    assert item.detail.endswith("(by carol or anyone of role maintainer or lead only)")
