"""A small reporting endpoint for tests of agents: the official MCP server, a bearer, a notebook.

It judges nothing; it writes down what was called with which arguments and answers as told.
"""

import json
import socket
import threading
from collections.abc import Callable
from typing import Any, Final, Self

import uvicorn
from mcp.server.lowlevel import Server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    Tool,
)
from starlette.types import ASGIApp, Receive, Scope, Send

from pointsman.actors.host import ReportingAccess
from pointsman.runtime.providers.reporting_client import CONTRACT_TOOL, REPORT_TOOL

TOKEN: Final = "token-of-this-attempt"
ACCEPTED: Final[dict[str, Any]] = {"ok": True, "receipt": {"receipt_id": "receipt-1"}}

Answer = Callable[[str, dict[str, Any]], dict[str, Any]]


class ReportStub:
    """The endpoint; it listens while the ``with`` lasts, between ``start`` and ``stop``."""

    def __init__(self, answer: Answer = lambda tool, arguments: ACCEPTED) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._answer = answer
        # Bound from the start, so that the port stays ours while the endpoint is down.
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._socket.close()
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def access(self) -> ReportingAccess:
        return ReportingAccess(url=f"http://127.0.0.1:{self.port}/mcp", token=TOKEN)

    @property
    def reports(self) -> list[dict[str, Any]]:
        """The arguments of every report so far."""
        return [arguments for tool, arguments in self.calls if tool == REPORT_TOOL]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        server = Server("stub", on_list_tools=self._list_tools, on_call_tool=self._call_tool)
        app = _BearerGate(server.streamable_http_app(stateless_http=True, json_response=True))
        config = uvicorn.Config(app, host="127.0.0.1", port=self.port, log_level="error", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join()
            self._server = None

    async def _list_tools(self, _: object, __: object) -> ListToolsResult:
        schema = {"type": "object"}
        names = (REPORT_TOOL, CONTRACT_TOOL)
        return ListToolsResult(tools=[Tool(name=name, input_schema=schema) for name in names])

    async def _call_tool(self, _: object, params: CallToolRequestParams) -> CallToolResult:
        arguments = dict(params.arguments or {})
        self.calls.append((params.name, arguments))
        reply = self._answer(params.name, arguments)
        return CallToolResult(
            content=[TextContent(type="text", text=json.dumps(reply))],
            structured_content=reply,
            is_error=not reply.get("ok", True),
        )


class _BearerGate:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        bearer = f"Bearer {TOKEN}".encode()
        if scope["type"] != "http" or headers.get(b"authorization") == bearer:
            await self._app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})
