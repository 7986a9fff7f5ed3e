"""Goal: who may ask what, and that every refusal tells its code, what is safe and what to do."""

import json
import re
import socket
from typing import Any

import httpx
import pytest

from pointsman.actors.messages import Answer, Message
from pointsman.graph import limits
from pointsman.runtime.client import Client
from pointsman.runtime.problems import PROBLEMS, PointsmanError
from tests.harness.gateway import OPERATOR_TOKEN, GatewayServer

BEARER = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}


def problem_in(response: httpx.Response) -> dict[str, Any]:
    """Return the problem document of a response, which must be a whole one."""
    told: dict[str, Any] = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert told["status"] == response.status_code
    assert told["problem"] == PROBLEMS[told["code"]].number
    assert all(told[part] for part in ("type", "title", "detail", "safe", "next"))
    return told


def get(server: GatewayServer, path: str, **headers: str) -> httpx.Response:
    return httpx.get(server.url + path, headers={**BEARER, **headers})


def post(server: GatewayServer, path: str, body: Any) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {**BEARER, "Content-Type": "application/json"}
    return httpx.post(server.url + path, content=content, headers=headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {OPERATOR_TOKEN}"},
        {"Authorization": f"Bearer {OPERATOR_TOKEN}x"},
        {"Authorization": "Bearer é".encode("latin-1")},
    ],
)
@pytest.mark.parametrize("path", ["/api/runs", "/api/openapi.json", "/api/nonsense", "/api"])
def test_everything_below_api_needs_the_operators_token(
    server: GatewayServer, path: str, headers: dict[str, str]
) -> None:
    response = httpx.get(server.url + path, headers=headers)
    assert problem_in(response)["code"] == "unauthorized"
    assert response.headers["www-authenticate"] == "Bearer"


def test_an_agents_token_is_no_operators_token(server: GatewayServer, definition: str) -> None:
    server.start(definition, task="greet")
    agent = server.host.launched("implement.1.1")
    with Client(server.url, agent.token) as client, pytest.raises(PointsmanError) as refused:
        client.runs()
    assert refused.value.code == "unauthorized"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "evil.example:8000"},
        {"Host": "["},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
@pytest.mark.parametrize("path", ["/api/runs", "/mcp", "/healthz"])
def test_other_web_pages_and_rebound_names_are_refused_even_with_the_token(
    server: GatewayServer, path: str, headers: dict[str, str]
) -> None:
    assert problem_in(get(server, path, **headers))["code"] == "origin_refused"


def test_no_answer_allows_another_origin(server: GatewayServer) -> None:
    response = get(server, "/api/runs", Origin="http://127.0.0.1:5173")
    assert response.status_code == 200
    assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize("query", ["after=18446744073709551616", "limit=9223372036854775808"])
def test_a_number_that_no_journal_reaches_is_told_as_a_mistake(
    server: GatewayServer, definition: str, query: str
) -> None:
    run_id = server.start(definition, task="greet")
    told = problem_in(get(server, f"/api/runs/{run_id}/trace?{query}"))
    assert told["code"] == "request_invalid"


@pytest.mark.parametrize("path", ["/", "/v1/runs", "/v1", "/api/runs/x/y", "/docs", "/mcp/x"])
def test_unknown_routes_are_problems_and_nothing_is_served_below_v1(
    server: GatewayServer, path: str
) -> None:
    assert problem_in(get(server, path))["code"] == "not_found"


def test_another_method_is_told_so(server: GatewayServer) -> None:
    assert problem_in(httpx.delete(f"{server.url}/api/runs", headers=BEARER))["code"] == (
        "method_not_allowed"
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        {},
        {"command_id": "c", "gate_id": "g", "revision": "3", "decision": "approve"},
        {"command_id": "c", "gate_id": "g", "revision": True, "decision": "approve"},
        {"command_id": "c", "gate_id": "g", "revision": 3, "decision": "merge"},
        {"command_id": "", "gate_id": "g", "revision": 3, "decision": "approve"},
        {"command_id": "c" * 129, "gate_id": "g", "revision": 3, "decision": "approve"},
        {"command_id": "\ud800", "gate_id": "g", "revision": 3, "decision": "approve"},
        {"command_id": "c", "gate_id": "g", "revision": 3, "decision": "approve", "run_id": "r"},
    ],
)
def test_a_body_of_the_wrong_shape_is_refused_field_by_field_without_repeating_it(
    server: GatewayServer, definition: str, body: Any
) -> None:
    run_id = server.start(definition, task="greet")
    if isinstance(body, dict) and body:
        body["decided_by"] = "a person with a secret"
    told = problem_in(post(server, f"/api/runs/{run_id}/gate", body))
    assert told["code"] == "request_invalid"
    assert told["details"]["fields"]
    assert "secret" not in json.dumps(told)


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "state=sleeping"])
def test_queries_are_bounded(server: GatewayServer, query: str) -> None:
    assert problem_in(get(server, f"/api/runs?{query}"))["code"] == "request_invalid"


def test_a_body_above_the_limit_is_refused_before_it_is_parsed(server: GatewayServer) -> None:
    told = problem_in(post(server, "/api/definitions/validate", b" " * (4 * 1024 * 1024 + 1)))
    assert told["code"] == "request_too_large"


def test_a_body_of_unknown_length_is_counted_while_it_comes(server: GatewayServer) -> None:
    response = httpx.post(
        f"{server.url}/api/definitions/validate",
        content=(b" " * 1024 * 1024 for _ in range(5)),
        headers={**BEARER, "Content-Type": "application/json"},
    )
    assert problem_in(response)["code"] == "request_too_large"


def test_a_definition_of_the_largest_size_still_fits(server: GatewayServer) -> None:
    text = "#" * (limits.DEFINITION_FILE_BYTES_MAX + 1)
    validation = server.client.validate(text)
    assert [each.code for each in validation.problems]


def test_the_unexpected_is_told_as_an_incident_and_never_shown(
    server: GatewayServer, definition: str
) -> None:
    def fail(message: Message, answer: Answer) -> None:
        raise RuntimeError("a detail of the inside")

    server.tapped.after_tell = fail
    with pytest.raises(PointsmanError) as refused:
        server.start(definition, task="greet")
    assert refused.value.code == "internal_error"
    assert re.fullmatch(r"[0-9a-f]{12}", refused.value.details["incident"])
    assert "inside" not in refused.value.message


def test_a_problems_page_is_served_under_the_type_it_names(server: GatewayServer) -> None:
    told = problem_in(get(server, "/api/runs/nonsense"))
    page = httpx.get(server.url + told["type"])
    assert page.text.startswith(f"# {told['problem']} run_unknown")
    assert problem_in(httpx.get(f"{server.url}/problems/PM9999"))["code"] == "not_found"


def test_health_needs_no_token_and_tells_nothing_else(server: GatewayServer) -> None:
    assert httpx.get(f"{server.url}/healthz").json() == {"status": "alive"}
    assert httpx.get(f"{server.url}/readyz").json() == {"status": "ready"}


def test_the_published_limits_are_the_cores(server: GatewayServer) -> None:
    assert server.client.limits() == limits.published()


def test_lists_can_be_filtered_by_state(server: GatewayServer, definition: str) -> None:
    run_id = server.start(definition, task="greet")
    assert [row.run_id for row in server.client.runs(("running", "unresolved"))] == [run_id]
    assert server.client.runs(("completed",)) == []


def test_a_server_that_is_gone_is_unreachable() -> None:
    # Bound and not listening: nobody answers there, and nobody else can take the port.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with Client(f"http://127.0.0.1:{taken.getsockname()[1]}", OPERATOR_TOKEN) as client:
            assert not client.ready()
            with pytest.raises(PointsmanError) as refused:
                client.runs()
    assert refused.value.code == "server_unreachable"


@pytest.mark.parametrize("command_id", ["a\0b", "ü/%2F ..", "x" * 128])
def test_any_text_can_be_a_command_id(
    server: GatewayServer, definition: str, command_id: str
) -> None:
    first = server.start(definition, command_id=command_id, task="greet")
    assert server.start(definition, command_id=command_id, task="greet") == first
