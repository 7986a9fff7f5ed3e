"""The agent's side of reporting: one call of the workflow's tool with the official MCP client.

A connection that fails is tried again for a while, with the same arguments and hence the same
retry key: the engine may just be starting again, and a report that it has accepted already is
answered as an exact retry. The token is read from the environment and goes nowhere else.
"""

import asyncio
import json
import os
import time
from http import HTTPStatus
from typing import Any, Final

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import INVALID_PARAMS, METHOD_NOT_FOUND, CallToolResult, TextContent

from pointsman.runtime.providers.base import REPORT_TOKEN, REPORT_URL

REPORT_TOOL: Final = "workflow_report"
CONTRACT_TOOL: Final = "workflow_report_contract"
_PATIENCE_S: Final = 60.0
_ANSWER_S_MAX: Final = 30.0
_PAUSE_FIRST_S: Final = 0.1
_PAUSE_S_MAX: Final = 2.0
_RPC_REFUSALS: Final = frozenset({METHOD_NOT_FOUND, INVALID_PARAMS})


def report(arguments: dict[str, Any]) -> dict[str, Any]:
    """Submit a report and return the workflow's reply."""
    return asyncio.run(_persistently(REPORT_TOOL, arguments))


def read_contract() -> dict[str, Any]:
    """Read what the report must hold."""
    return asyncio.run(_persistently(CONTRACT_TOOL, {}))


async def _persistently(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    give_up_at = time.monotonic() + _PATIENCE_S
    pause_s = _PAUSE_FIRST_S
    while True:
        statuses: list[int] = []
        try:
            return await _call(tool, arguments, statuses)
        except (httpx2.HTTPError, MCPError, OSError, TimeoutError, ExceptionGroup) as error:
            if (refusal := _refusal(error, statuses)) is not None:
                return refusal
            if time.monotonic() + pause_s > give_up_at:
                raise TimeoutError(f"the workflow could not be reached: {error!r}") from error
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _PAUSE_S_MAX)


async def _call(tool: str, arguments: dict[str, Any], statuses: list[int]) -> dict[str, Any]:
    async def note(response: httpx2.Response) -> None:
        # The client's errors do not tell with which status the server refused it.
        statuses.append(response.status_code)

    async with httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {os.environ[REPORT_TOKEN]}"},
        timeout=_ANSWER_S_MAX,
        trust_env=False,  # a proxy of the environment must not see what stays on this machine
        event_hooks={"response": [note]},
    ) as http:
        transport = streamable_http_client(os.environ[REPORT_URL], http_client=http)
        async with Client(transport) as client:
            result = await client.call_tool(tool, arguments, read_timeout_seconds=_ANSWER_S_MAX)
    return _reply(result)


def _reply(result: CallToolResult) -> dict[str, Any]:
    if result.structured_content is not None:
        return dict(result.structured_content)
    text = "".join(part.text for part in result.content if isinstance(part, TextContent))
    try:
        reply = json.loads(text)
    except ValueError:
        reply = None
    return reply if isinstance(reply, dict) else {"ok": not result.is_error, "text": text}


def _refusal(error: Exception, statuses: list[int]) -> dict[str, Any] | None:
    """Return the answer of a server that is there and refuses us; trying again is no use."""
    if statuses and statuses[-1] in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return {"ok": False, "code": "unauthorized", "status": statuses[-1]}
    if (answer := _rpc_error(error)) is not None and answer.code in _RPC_REFUSALS:
        return {"ok": False, "code": "refused", "text": answer.message}
    return None


def _rpc_error(error: BaseException) -> MCPError | None:
    if isinstance(error, BaseExceptionGroup):
        found = (_rpc_error(inner) for inner in error.exceptions)
        return next((inner for inner in found if inner is not None), None)
    return error if isinstance(error, MCPError) else None
