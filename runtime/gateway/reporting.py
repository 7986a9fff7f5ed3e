"""The reporting tool over MCP (streamable HTTP): the one way an agent hands in its result.

The SDK's low-level server behind our own bearer gate, without sessions: every request is
authenticated for itself, so a restart of the server or a fresh token is no matter. Names and
schemas are the same for every step (some harnesses freeze the tool list); the exact contract is
data. The SDK hands the arguments over as they were sent, and only the run's core judges them.
"""

import secrets
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import mcp_types as types
import orjson
import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

import pointsman
from pointsman.actors import metrics
from pointsman.actors.metric_labels import OTHER
from pointsman.graph import limits
from pointsman.graph.contract import TOOL_NAME, TOOL_SCHEMA
from pointsman.graph.contract_text import CONTRACT_TOOL_NAME
from pointsman.runtime.gateway.guard import bearer_token
from pointsman.runtime.gateway.json_bodies import duplicate_keys, in_words, whole_body
from pointsman.runtime.gateway.reports import Reports, ambiguous, not_judged, sub_agent_refused
from pointsman.runtime.wire.requests import ReportAnswer

log = structlog.get_logger()

# An envelope of the allowed size may be sent with every character escaped (six bytes for one)
# inside its protocol frame; above this nothing is even parsed.
BODY_BYTES_MAX: Final = 6 * limits.ENVELOPE_BYTES_MAX + 16 * 1024

_TOOLS: Final = [
    types.Tool(
        name=TOOL_NAME,
        title="Report the result of this workflow step",
        description=(
            "Hand in the one report of your workflow step, when your work is done. Your "
            f"instructions hold its exact contract; {CONTRACT_TOOL_NAME} shows it again. A "
            "refused report names every mistake: mend them and call again. After a lost answer, "
            "call again with exactly the same arguments."
        ),
        input_schema=dict(TOOL_SCHEMA),
        annotations=types.ToolAnnotations(
            read_only_hint=False,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    ),
    types.Tool(
        name=CONTRACT_TOOL_NAME,
        title="Show what this workflow step must report",
        description="Show the exact report contract of your workflow step. Changes nothing.",
        input_schema={"type": "object", "properties": {}, "additionalProperties": False},
        annotations=types.ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    ),
]


class ReportingEndpoint:
    """The ASGI endpoint at ``/mcp``; ``running`` must be entered while it serves."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports
        server: Server[dict[str, Any]] = Server(
            "pointsman",
            version=pointsman.__version__,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self._sessions = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=BODY_BYTES_MAX
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """Return what keeps the endpoint able to serve."""
        return self._sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = bearer_token(Headers(scope=scope))
        if token is None or self._reports.attempt_of(token) is None:
            metrics.report_refused("unauthorized")
            # Plain, without OAuth metadata: no client shall begin an OAuth dance.
            await JSONResponse({"error": "unauthorized"}, status_code=401)(scope, receive, send)
            return
        scope["pointsman.token"] = token
        declared = Headers(scope=scope).get("content-length", "0")
        if declared.isdecimal() and int(declared) <= BODY_BYTES_MAX:
            body, receive = await whole_body(receive)
            # The SDK hands over the last of two keys, so the first look is ours.
            scope["pointsman.duplicate_keys"] = duplicate_keys(body)
        await self._sessions.handle_request(scope, receive, send)

    async def _list_tools(
        self, context: ServerRequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_TOOLS)

    async def _call_tool(
        self, context: ServerRequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        assert context.request is not None, "only HTTP requests come here"
        token: str = context.request.scope["pointsman.token"]
        keys = context.request.scope.get("pointsman.duplicate_keys")
        if params.name == TOOL_NAME and keys:
            return _told(_counted(ambiguous(in_words(keys))))
        try:
            return await self._answered(params.name, token, params.arguments or {}, context.params)
        except MCPError:
            raise
        except Exception:
            # The SDK would show the agent what went wrong inside, and the agent could do nothing
            # with it; logged under the incident, it is told like any other report not judged.
            incident = secrets.token_hex(6)
            log.exception("report_failed", incident=incident)
            answer = not_judged("internal_error", f"something went wrong ({incident})")
            return _told(_counted(answer) if params.name == TOOL_NAME else answer)

    async def _answered(
        self, name: str, token: str, arguments: dict[str, Any], params: Mapping[str, Any] | None
    ) -> types.CallToolResult:
        if name == TOOL_NAME:
            if _is_sub_agent(params):
                return _told(_counted(sub_agent_refused()))
            return _told(_counted(await self._reports.submit(token, arguments)))
        if name == CONTRACT_TOOL_NAME:
            return _told(self._reports.contract(token))
        raise MCPError(types.INVALID_PARAMS, f"there is no tool {name[:80]!r}")


def _is_sub_agent(params: Mapping[str, Any] | None) -> bool:
    """Codex lets native sub-agents use their parent's tools, and says so in the metadata."""
    meta = (params or {}).get("_meta")
    turn = meta.get("x-codex-turn-metadata") if isinstance(meta, Mapping) else None
    if isinstance(turn, str):
        try:
            turn = orjson.loads(turn)
        except orjson.JSONDecodeError:
            return False
    return isinstance(turn, Mapping) and turn.get("thread_source") == "subagent"


def _counted(answer: ReportAnswer) -> ReportAnswer:
    """Count a report that brought nothing new; what it brought is counted from the journal."""
    if answer.receipt is None:
        metrics.report_refused(answer.code or OTHER)
    elif answer.receipt.duplicate:
        metrics.report_repeated()
    return answer


def _told(answer: ReportAnswer | dict[str, Any]) -> types.CallToolResult:
    told = answer
    if isinstance(answer, ReportAnswer):
        told = answer.model_dump(mode="json", exclude_none=True)
        if answer.ok:
            del told["fields"]
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=orjson.dumps(told).decode())],
        structured_content=told,
        is_error=isinstance(answer, ReportAnswer) and not answer.ok,
    )
