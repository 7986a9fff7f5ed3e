"""A whole server in a thread: real HTTP on a loopback port, real actors, and a fake host.

A test steers the host, speaks to the server as its clients do, and waits on what the server
itself tells; ``restart`` begins anew on the same journal, as a new process would.
"""

import asyncio
import itertools
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from mcp.client.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from pointsman.actors.clock import Clock, SystemClock
from pointsman.actors.messages import Answer, Message
from pointsman.actors.metric_labels import WorktreeRole
from pointsman.actors.shared_counts import counting
from pointsman.graph import ids
from pointsman.runtime.client import Client
from pointsman.runtime.gateway.app import create_app
from pointsman.runtime.gateway.operations import Operations
from pointsman.runtime.gateway.scheduling import Scheduling
from pointsman.runtime.gateway.scraping import Scraping
from pointsman.runtime.views.measures import Measures
from pointsman.runtime.views.queries import RunView
from pointsman.runtime.views.trace import TraceEntry
from pointsman.storage.journal import Journal
from tests.harness.fake_host import FakeHost
from tests.harness.in_process import InProcessSupervisor
from tests.harness.in_process_historian import InProcessHistorian
from tests.harness.journals import OpenJournal

OPERATOR_TOKEN = "operator-token-of-the-test"
METRICS_TOKEN = "metrics-token-of-the-test"
_PATIENCE_S = 20.0


class Tapped:
    """A supervisor whose answers a test may hold up or lose, as a network may."""

    def __init__(self, inner: InProcessSupervisor) -> None:
        self.inner = inner
        self.after_tell: Callable[[Message, Answer], None] = lambda message, answer: None

    async def tell(self, message: Message) -> Answer:
        answer = await self.inner.tell(message)
        self.after_tell(message, answer)
        return answer

    async def status(self) -> dict[str, int]:
        return await self.inner.status()


class GatewayServer:
    """Use it as a context manager; ``client`` speaks to it as the operator."""

    client: Client
    tapped: Tapped

    def __init__(self, open_journal: OpenJournal, host: FakeHost, home: Path) -> None:
        self._open_journal = open_journal
        self.host = host
        self._home = home
        self._numbers = itertools.count(1)
        self._tokens = itertools.count(1)
        self._port = 0
        self.output_logs: list[tuple[str, Path]] = []
        self.clock: Clock = SystemClock()
        self.counts = home / "counts"
        self.worktrees: dict[WorktreeRole, int] = {}

    def __enter__(self) -> "GatewayServer":
        self._start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop()

    def restart(self, *, keep_client: bool = False) -> None:
        """Stop everything and begin again on the same journal, host and port."""
        kept = self.client
        self._stop(close_client=not keep_client)
        self._start()
        if keep_client:
            self.client.close()
            self.client = kept

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def _start(self) -> None:
        ready: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)))
        self._thread.start()
        self._loop = ready.result(_PATIENCE_S)
        self.client = Client(self.url, OPERATOR_TOKEN)
        assert self.client.ready()

    def _stop(self, *, close_client: bool = True) -> None:
        if close_client:
            self.client.close()
        self._uvicorn.should_exit = True
        self._thread.join(_PATIENCE_S)
        assert not self._thread.is_alive(), "the server did not stop"

    async def _serve(self, ready: "Future[asyncio.AbstractEventLoop]") -> None:
        journal = self._open_journal()
        supervisor = InProcessSupervisor(journal, self.host, mint=self._mint_token)
        self.tapped = Tapped(supervisor)
        loop = asyncio.get_running_loop()

        def wake(subject: str) -> None:
            loop.call_soon_threadsafe(supervisor.wake_soon, subject)

        self.host.wake = wake
        operations = Operations(journal, self.tapped, self.host, self._mint_run_id, home=self._home)
        self.scheduling = Scheduling(journal, operations.start, self.clock, fires=False)
        historian = InProcessHistorian(self._home / "history.duckdb", journal)
        app = create_app(
            operations,
            journal,
            OPERATOR_TOKEN,
            lambda run_id: self.output_logs,
            self.scheduling,
            self._scraping(journal),
            historian,
            stopping=lambda: self._uvicorn.should_exit,
        )
        self._uvicorn = _Announcing(app, lambda: ready.set_result(loop))
        with socket.create_server(("127.0.0.1", self._port)) as listener:
            self._port = listener.getsockname()[1]
            await supervisor.start()
            try:
                with counting(self.counts):
                    await self._uvicorn.serve([listener])
            finally:
                historian.stop()
                await supervisor.stop()
                self.host.wake = lambda subject: None
                journal.close()

    def _scraping(self, journal: Journal) -> Scraping:
        measures = Measures(journal, self.clock, self.counts, lambda: self.worktrees)
        return Scraping(measures, self.tapped, METRICS_TOKEN)

    def _mint_run_id(self) -> str:
        return ids.run_id(0, f"{next(self._numbers):026d}")

    def _mint_token(self) -> str:
        """As the real ones are, each is another also after a restart."""
        return f"token-{next(self._tokens)}"

    # --- what tests say to it ---

    def fire_schedules(self) -> None:
        """Let the scheduler look once, at what the clock says now."""
        tick = asyncio.run_coroutine_threadsafe(self.scheduling.scheduler.tick(), self._loop)
        tick.result(_PATIENCE_S)

    def start(self, definition: str, command_id: str = "start-1", **inputs: Any) -> str:
        """Start a run of a definition's text and return its id."""
        return self.client.start(
            definition=definition,
            source="test.yaml",
            repository="/repo",
            inputs=inputs,
            started_by="ann",
            command_id=command_id,
        ).run_id

    def until(self, run_id: str, kind: str, count: int = 1) -> TraceEntry:
        """Follow a run until the ``count``-th event of a kind, and return it."""
        seen = 0
        for event in self.client.follow(run_id):
            if event.event == "entry" and event.entry.kind == kind:
                seen += 1
                if seen == count:
                    return event.entry
        raise AssertionError(f"the run ended without {kind}")

    def view(self, run_id: str) -> RunView:
        return self.client.run(run_id)

    def call_tool(self, token: str, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool as an agent does, with the real MCP client."""
        return asyncio.run(_call_tool(self.url, token, name, arguments))

    def report(self, token: str, envelope: dict[str, Any]) -> dict[str, Any]:
        """Report as an agent does; return the structured answer."""
        result = self.call_tool(token, "workflow_report", envelope)
        told: dict[str, Any] = result.structured_content
        assert result.is_error is not told["ok"]
        return told


class _Announcing(uvicorn.Server):
    """Tells when it takes connections."""

    def __init__(self, app: Any, announce: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=2)
        )
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()


async def _call_tool(url: str, token: str, name: str, arguments: dict[str, Any]) -> CallToolResult:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=_PATIENCE_S) as http,
        McpClient(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        return await client.call_tool(name, arguments)
