"""Goal: what says one thing twice is refused, by every surface that takes JSON."""

import json

import httpx

from pointsman.runtime.gateway.app import BODY_BYTES_MAX
from tests.harness.core import envelope
from tests.harness.fake_host import Launched
from tests.harness.gateway import OPERATOR_TOKEN, GatewayServer


def post(server: GatewayServer, path: str, body: str, token: str) -> httpx.Response:
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    return httpx.post(f"{server.url}{path}", headers=headers, content=body)


def test_a_request_with_a_key_twice_is_refused_by_name(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    body = '{"command_id": "c", "requested_by": "ann", "reason": "a", "reason": "b"}'
    told = post(server, f"/api/runs/{run_id}/cancel", body, OPERATOR_TOKEN)
    assert told.status_code == 422
    assert told.json()["code"] == "request_invalid"
    assert told.json()["details"] == {"keys": ["reason"]}
    assert server.view(run_id).state == "running"


def test_a_report_with_a_key_twice_is_refused_and_can_be_mended(
    server: GatewayServer, run_id: str, agent: Launched
) -> None:
    good = envelope(data={"safe": True})
    arguments = json.dumps(good).replace('"safe": true', '"safe": true, "safe": false')
    call = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "%s", %s}}'
    body = call % ("workflow_report", f'"arguments": {arguments}')
    told = post(server, "/mcp", body, agent.token).json()["result"]["structuredContent"]
    assert (told["ok"], told["code"], told["retry"]) == (False, "invalid", "fix_and_resend")
    assert "'safe'" in told["message"]
    assert server.report(agent.token, good)["ok"]


def test_a_body_without_a_length_is_still_bounded(server: GatewayServer) -> None:
    headers = {"Authorization": f"Bearer {OPERATOR_TOKEN}", "Content-Type": "application/json"}
    chunks = (b" " * 65_536 for _ in range(BODY_BYTES_MAX // 65_536 + 2))
    told = httpx.post(f"{server.url}/api/runs", headers=headers, content=chunks, timeout=30)
    assert told.status_code == 413
    assert told.json()["code"] == "request_too_large"
