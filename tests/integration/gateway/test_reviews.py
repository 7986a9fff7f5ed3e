"""Goal: parallel reviews as clients meet them over HTTP, and as reviewers report on them."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from pointsman.actors.host import ProviderCapability
from pointsman.graph.work import HostRunStatus
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.queries import RunView
from pointsman.runtime.views.review_views import BranchView
from tests.harness.core import envelope
from tests.harness.fake_host import HEAD
from tests.harness.gateway import OPERATOR_TOKEN, GatewayServer
from tests.integration.gateway.reviewed import DATA, REVIEWED, complete
from tests.integration.gateway.steps import refusal_of

OTHER = "9" * 40


def branch_of(view: RunView, name: str) -> BranchView:
    return next(each for each in view.reviews["review"].branches if each.branch == name)


def approve(server: GatewayServer, run_id: str, command_id: str, **more: Any) -> None:
    gate = server.view(run_id).gate
    assert gate is not None
    server.client.decide_gate(
        run_id,
        gate_id=gate.gate_id,
        revision=gate.revision,
        decision="approve",
        decided_by="ann",
        command_id=command_id,
        **more,
    )


def review_again(server: GatewayServer, run_id: str) -> None:
    offered = {each.action.value: each for each in server.view(run_id).allowed_actions}
    again = offered["review_again"]
    assert again.revision is not None
    server.client.review_again(
        run_id,
        visit_id=again.target,
        revision=again.revision,
        requested_by="ann",
        command_id="again-1",
    )


def test_each_reviewer_has_the_contract_of_its_own_branch(
    server: GatewayServer, reviewing: str
) -> None:
    for branch, other in (("code", "ux"), ("ux", "code")):
        launched = server.host.launched(f"reviewers.1.{branch}.1")
        told = server.call_tool(launched.token, "workflow_report_contract", {}).structured_content
        assert told is not None
        assert told["step"] == f"reviewers.{branch}"
        refused = server.report(launched.token, envelope(data=DATA[other]))
        assert refused["code"] == "invalid"
        assert server.report(launched.token, envelope(data=DATA[branch]))["ok"]


def test_reviewers_at_work_are_shown_with_claims_and_verifications_apart(
    server: GatewayServer, reviewing: str
) -> None:
    complete(server, "code")
    server.until(reviewing, "branch_ended")
    view = server.view(reviewing)
    review = view.reviews["review"]
    assert (review.under_way, review.frozen_commit, review.generation) == (True, HEAD, 1)
    done, working = branch_of(view, "code"), branch_of(view, "ux")
    assert (done.state.value, working.state.value) == ("completed", "working")
    assert done.attempt is not None
    assert done.attempt.report is not None
    assert done.attempt.report.data == {"blockers": 0}
    assert done.at_settlement is not None
    assert done.at_settlement.verdict == "as_frozen"
    assert working.at_settlement is None


def test_a_gate_tells_its_review_and_takes_a_decision_on_it(
    server: GatewayServer, at_a_reviewed_gate: str
) -> None:
    gate = server.view(at_a_reviewed_gate).gate
    assert gate is not None
    assert gate.review is not None
    assert (gate.review.frozen_commit, gate.review.stale) == (HEAD, False)
    with pytest.raises(PointsmanError) as excinfo:
        approve(
            server, at_a_reviewed_gate, "a-1", review_set_id=f"{at_a_reviewed_gate}.reviewers.7"
        )
    assert refusal_of(excinfo) == "stale_revision"
    approve(server, at_a_reviewed_gate, "a-2", review_set_id=gate.review.review_set_id)
    server.until(at_a_reviewed_gate, "run_completed")


def test_no_client_says_where_the_change_stands(
    server: GatewayServer, at_a_reviewed_gate: str
) -> None:
    gate = server.view(at_a_reviewed_gate).gate
    assert gate is not None
    told = httpx.post(
        f"{server.url}/api/runs/{at_a_reviewed_gate}/gate",
        headers={"Authorization": f"Bearer {OPERATOR_TOKEN}"},
        json={
            "command_id": "x",
            "gate_id": gate.gate_id,
            "revision": gate.revision,
            "decision": "approve",
            "decided_by": "ann",
            "head": {"head_commit": HEAD},
        },
    )
    assert told.status_code == 422
    assert "head" in told.json()["detail"]


def test_an_overtaken_approval_is_refused_and_the_change_can_be_reviewed_again(
    server: GatewayServer, at_a_reviewed_gate: str
) -> None:
    server.host.head = OTHER
    with pytest.raises(PointsmanError) as excinfo:
        approve(server, at_a_reviewed_gate, "a-1")
    assert refusal_of(excinfo) == "review_stale"
    assert excinfo.value.kind.number == "PM0066"
    view = server.view(at_a_reviewed_gate)
    assert view.gate is not None
    assert view.gate.review is not None
    assert (view.gate.review.stale, view.gate.review.head_seen) == (True, OTHER)
    assert "approve" not in view.gate.offered
    review_again(server, at_a_reviewed_gate)
    complete(server, "code", "ux", visit=2)
    server.until(at_a_reviewed_gate, "run_suspended", 2)
    review = server.view(at_a_reviewed_gate).reviews["review"]
    assert (review.generation, review.frozen_commit) == (2, OTHER)
    approve(server, at_a_reviewed_gate, "a-2")
    server.until(at_a_reviewed_gate, "run_completed")
    assert "review again" in server.client.graph(at_a_reviewed_gate)


def test_a_head_that_cannot_be_read_leaves_the_gate_as_it_is(
    server: GatewayServer, at_a_reviewed_gate: str
) -> None:
    server.host.head = None
    with pytest.raises(PointsmanError) as excinfo:
        approve(server, at_a_reviewed_gate, "a-1")
    assert refusal_of(excinfo) == "head_unknown"
    server.host.head = HEAD
    approve(server, at_a_reviewed_gate, "a-1")
    server.until(at_a_reviewed_gate, "run_completed")


def test_an_interrupted_reviewer_is_named_and_tried_again_by_itself(
    server: GatewayServer, reviewing: str
) -> None:
    launched = server.host.launched("reviewers.1.ux.1")
    server.host.finish(launched.attempt_id, HostRunStatus.INTERRUPTED)
    server.until(reviewing, "branch_interrupted")
    view = server.view(reviewing)
    (item,) = server.client.attention()
    assert (item.node, item.branch) == ("reviewers", "ux")
    retry = next(each for each in view.allowed_actions if each.action.value == "retry")
    assert retry.target == branch_of(view, "ux").branch_id
    assert retry.revision is not None
    server.client.retry(
        reviewing,
        visit_id=retry.target,
        revision=retry.revision,
        requested_by="ann",
        command_id="retry-1",
    )
    again = server.host.launched("reviewers.1.ux.2")
    server.report(again.token, envelope(data=DATA["ux"]))
    server.host.finish(again.attempt_id)
    complete(server, "code")
    server.until(reviewing, "run_suspended")
    assert server.view(reviewing).reviews["review"].outcome == "all_completed"


def test_the_drawing_of_a_run_counts_reviewers_and_the_way_to_the_join(
    server: GatewayServer, at_a_reviewed_gate: str
) -> None:
    drawn = server.client.graph(at_a_reviewed_gate)
    assert 'n_reviewers -->|"taken 1×"| n_reviewers_B_code' in drawn
    assert 'n_reviewers_B_ux -->|"taken 1×"| n_review' in drawn
    assert 'n_review -->|"taken 1×"| n_approve' in drawn


def test_a_reviewer_that_cannot_review_here_keeps_the_run_from_being_started(
    server: GatewayServer,
) -> None:
    server.host.capabilities = (
        ProviderCapability(provider="scripted", version="1", modes=("edit",), resume=True),
    )
    with pytest.raises(PointsmanError) as excinfo:
        server.start(REVIEWED)
    assert refusal_of(excinfo) == "provider_mode_unsupported"
    assert "reviewers.ux needs scripted in mode review" in excinfo.value.message


def test_a_skill_of_a_reviewer_is_missed_at_the_start_and_kept_with_its_fingerprint(
    server: GatewayServer, tmp_path: Path
) -> None:
    skilled = REVIEWED.replace("mode: review}\n        focus: words", "mode: review, skill: words}")
    with pytest.raises(PointsmanError) as excinfo:
        server.start(skilled)
    assert refusal_of(excinfo) == "skill_missing"
    assert "reviewers.ux needs the skill 'words'" in excinfo.value.message
    folder = tmp_path / ".agents" / "skills" / "words"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("Read well.")
    run_id = server.start(skilled)
    (skill,) = server.client.trace(run_id)[0].data["skills"]
    assert (skill["name"], skill["source"]) == ("words", str(folder))
