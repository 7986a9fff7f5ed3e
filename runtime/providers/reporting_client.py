"""The agent's side of reporting: one call of the workflow's tool with the official MCP client.

A connection that fails is tried again for a while, with the same arguments and hence the same
retry key: the engine may just be starting again, and a report that it has accepted already is
answered as an exact retry. The token is read from the environment and goes nowhere else.
"""

import asyncio
import json
import os
import time
from typing import Any, Final

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from pointsman.runtime.providers.base import REPORT_TOKEN, REPORT_URL

REPORT_TOOL: Final = "workflow_report"
CONTRACT_TOOL: Final = "workflow_report_contract"
_PATIENCE_S: Final = 60.0
_ANSWER_S_MAX: Final = 30.0
_PAUSE_FIRST_S: Final = 0.1
_PAUSE_S_MAX: Final = 2.0


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
        try:
            return await _call(tool, arguments)
        except (httpx2.HTTPError, MCPError, OSError, TimeoutError, ExceptionGroup) as error:
            if (refusal := _refusal(error)) is not None:
                return refusal
            if time.monotonic() + pause_s > give_up_at:
                raise TimeoutError(f"the workflow could not be reached: {error!r}") from error
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _PAUSE_S_MAX)


async def _call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {os.environ[REPORT_TOKEN]}"}
    # A proxy of the environment must not see what stays on this machine.
    async with httpx2.AsyncClient(headers=headers, timeout=_ANSWER_S_MAX, trust_env=False) as http:
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


def _refusal(error: BaseException) -> dict[str, Any] | None:
    """Return the answer of a server that is there and refuses us; trying again is no use."""
    if isinstance(error, BaseExceptionGroup):
        answers = (_refusal(inner) for inner in error.exceptions)
        return next((answer for answer in answers if answer is not None), None)
    if isinstance(error, httpx2.HTTPStatusError):
        status = error.response.status_code
        if status in (401, 403):
            return {"ok": False, "code": "unauthorized", "status": status}
    return None
