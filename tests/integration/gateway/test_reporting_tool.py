"""Goal: the MCP endpoint tells the truth about its tools, and lets nobody in but the attempt."""

import httpx
import pytest

from pointsman.actors.messages import Answer, Message
from pointsman.runtime.gateway.reporting import BODY_BYTES_MAX
from tests.harness.fake_host import Launched
from tests.harness.gateway import GatewayServer
from tests.integration.gateway.steps import report, reports_in


def test_oversized_report_is_refused_with_its_size_and_nothing_is_recorded(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    version = server.view(run_id).version
    answer = server.report(agent.token, report(summary="ü" * 33_000))
    assert (answer["code"], answer["retry"]) == ("too_large", "fix_and_resend")
    assert "bytes" in answer["fields"][0]["problem"]
    assert server.view(run_id).version == version


def test_body_far_above_the_limit_is_refused_before_it_is_parsed(
    server: GatewayServer, agent: Launched
) -> None:
    response = httpx.post(
        f"{server.url}/mcp",
        content=b"[" * (BODY_BYTES_MAX + 1),
        headers={"Authorization": f"Bearer {agent.token}", "Content-Type": "application/json"},
    )
    assert response.status_code == 413


@pytest.mark.parametrize("depth", [50, 20_000])
def test_deeply_nested_report_is_refused_without_harm(
    server: GatewayServer, agent: Launched, depth: int
) -> None:
    nested = "[" * depth + "]" * depth
    body = (
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "workflow_report",'
        f' "arguments": {{"data": {nested}}}}}}}'
    )
    response = httpx.post(f"{server.url}/mcp", content=body, headers=_headers(agent.token))
    assert response.status_code in (200, 400)
    assert server.report(agent.token, report())["ok"]


def _headers(token: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }


@pytest.mark.parametrize("authorization", [None, "Bearer wrong", "Bearer", "Basic dG9rZW4tMQ=="])
def test_bad_bearer_gets_a_plain_401_without_oauth_metadata(
    server: GatewayServer, agent: Launched, authorization: str | None
) -> None:
    headers = {"Authorization": authorization} if authorization is not None else {}
    response = httpx.post(f"{server.url}/mcp", json={}, headers=headers)
    assert response.status_code == 401
    assert response.json() == {"error": "unauthorized"}
    assert "www-authenticate" not in response.headers


def test_operators_token_cannot_report(server: GatewayServer, agent: Launched) -> None:
    response = httpx.post(
        f"{server.url}/mcp", json={}, headers={"Authorization": "Bearer operator-token-of-the-test"}
    )
    assert response.status_code == 401


def test_tools_are_the_same_for_every_step_and_tell_the_truth_about_themselves(
    server: GatewayServer, agent: Launched
) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    response = httpx.post(f"{server.url}/mcp", json=body, headers=_headers(agent.token))
    tools = {tool["name"]: tool for tool in response.json()["result"]["tools"]}
    assert set(tools) == {"workflow_report", "workflow_report_contract"}
    assert tools["workflow_report"]["annotations"] == {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert tools["workflow_report_contract"]["annotations"]["readOnlyHint"] is True
    schema = tools["workflow_report"]["inputSchema"]
    assert not {"anyOf", "oneOf", "allOf", "$ref"} & set(schema)


def test_contract_tool_shows_the_steps_own_fields_and_changes_nothing(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    version = server.view(run_id).version
    result = server.call_tool(agent.token, "workflow_report_contract", {})
    told = result.structured_content
    assert not result.is_error
    assert told["step"] == "implement"
    assert set(told["data"]["fields"]) == {"safe", "risk", "count"}
    assert server.view(run_id).version == version


def test_codex_sub_agent_cannot_report_for_its_parent(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    params = {
        "name": "workflow_report",
        "arguments": report(),
        "_meta": {"x-codex-turn-metadata": {"thread_source": "subagent"}},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    response = httpx.post(f"{server.url}/mcp", json=body, headers=_headers(agent.token))
    told = response.json()["result"]
    assert told["isError"]
    assert told["structuredContent"]["code"] == "not_bound"
    assert reports_in(server, run_id) == []


def test_what_goes_wrong_inside_is_told_as_an_incident_and_never_shown(
    server: GatewayServer, agent: Launched
) -> None:
    def fail(message: Message, answer: Answer) -> None:
        raise RuntimeError("a detail of the inside")

    server.tapped.after_tell = fail
    answer = server.report(agent.token, report())
    assert (answer["code"], answer["retry"]) == ("internal_error", "resend_unchanged")
    assert "inside" not in str(answer)


def test_an_unknown_tool_is_named(server: GatewayServer, agent: Launched) -> None:
    params = {"name": "workflow_cancel", "arguments": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    response = httpx.post(f"{server.url}/mcp", json=body, headers=_headers(agent.token))
    assert "workflow_cancel" in response.json()["error"]["message"]
