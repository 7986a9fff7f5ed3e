"""Goal: what a reviewer wrote reaches the next agent, the trace and every client, over HTTP."""

import pytest

from pointsman.graph.results import GateComment
from pointsman.runtime.problems import PointsmanError
from tests.harness.core import envelope
from tests.harness.gateway import GatewayServer
from tests.integration.gateway.steps import at_the_gate, both_journals, decide

HEAD = "3" * 40
COMMENTS = [
    GateComment(path="src/a.py", line=7, text="Why twice?"),
    GateComment(path="README.md", text="Say why."),
]


def binding(definition: str) -> str:
    """Let the implementing agent bind what the gate said."""
    inputs = (
        "    inputs: {findings: {from: gate.approve.comments, optional: true}}\n"
        "    instructions: Do it."
    )
    return definition.replace("    instructions: Do it.", inputs)


def restricted(definition: str) -> str:
    who = "title: Approve the change\n    decide: {roles: [maintainer], people: [carol]}"
    return definition.replace("title: Approve the change", who)


@both_journals
def test_comments_reach_the_next_visit_and_survive_a_restart(
    server: GatewayServer, definition: str
) -> None:
    run_id = server.start(binding(definition), task="greet")
    agent = server.host.launched("implement.1.1")
    server.report(agent.token, envelope(data={"safe": True}))
    server.host.finish(agent.attempt_id, head_commit=HEAD)
    server.until(run_id, "run_suspended")
    gate = server.view(run_id).gate
    assert gate is not None
    assert gate.head_commit == HEAD
    decide(server, run_id, gate, "request_changes", comments=COMMENTS, roles=["maintainer"])
    server.host.launched("implement.2.1")
    server.restart()
    (entry,) = [e for e in server.client.trace(run_id) if e.kind == "gate_decided"]
    assert entry.evidence == "decision"
    assert entry.data["commit"] == HEAD
    assert entry.text == (
        "changes requested by ann (maintainer) [src/a.py:7: Why twice?; README.md: Say why.]"
    )
    entered = [e for e in server.client.trace(run_id) if e.kind == "node_entered"][-1]
    shown = [each.model_dump(mode="json") for each in COMMENTS]
    assert entered.data["inputs"] == {"findings": shown}
    assert server.view(run_id).results["approve"]["comments"] == shown


def test_a_comment_beyond_its_bounds_is_refused_with_its_field_and_the_gate_waits(
    server: GatewayServer, definition: str
) -> None:
    run_id, gate = at_the_gate(server, definition)
    version = server.view(run_id).version
    wrong = [GateComment(path="a.py", line=0, text="x")]
    with pytest.raises(PointsmanError) as refused:
        decide(server, run_id, gate, "request_changes", comments=wrong)
    assert refused.value.code == "comments_invalid"
    assert [each["path"] for each in refused.value.details["fields"]] == ["comments[0].line"]
    assert server.view(run_id).version == version
    assert server.view(run_id).state == "awaiting_review"


def test_who_is_not_named_is_refused_and_every_surface_says_who_is(
    server: GatewayServer, definition: str
) -> None:
    run_id, gate = at_the_gate(server, restricted(definition))
    assert gate.deciders is not None
    assert (gate.deciders.roles, gate.deciders.people) == (("maintainer",), ("carol",))
    version = server.view(run_id).version
    with pytest.raises(PointsmanError) as refused:
        decide(server, run_id, gate, roles=["guest"])
    assert refused.value.code == "not_permitted"
    assert refused.value.kind.status == 403
    assert refused.value.details == {"roles": ["maintainer"], "people": ["carol"]}
    assert server.view(run_id).version == version
    approve = server.view(run_id).allowed_actions[0]
    assert approve.deciders == gate.deciders
    (item,) = server.client.attention()
    assert "carol or anyone of role maintainer" in item.detail
    assert decide(server, run_id, gate, roles=["maintainer"]).state == "completed"
