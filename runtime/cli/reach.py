"""How a command reaches runs: the journal for reading, a server for acting.

Acting uses the data directory's running server, or else starts one inside this process for as
long as the command needs it. Reading needs none: without a server it opens the journal itself.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeVar

from pointsman.graph.run import RunState
from pointsman.runtime import discovery
from pointsman.runtime.cli.terminal import Terminal
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views import queries
from pointsman.runtime.views.attention import AttentionView, attention
from pointsman.runtime.views.queries import RunRow, RunView, TraceEntry
from pointsman.storage.journal import Journal

if TYPE_CHECKING:
    from pointsman.runtime.client import Client

T = TypeVar("T")

_STARTING_SERVER_PATIENCE_S: Final = 30.0
_LOOK_AGAIN_S: Final = 0.2


class Reader(Protocol):
    """What can be asked about runs, of a server or of the journal itself."""

    def runs(self, states: tuple[str, ...] = (), limit: int = 100) -> list[RunRow]:
        """List runs, newest first."""
        ...

    def run(self, run_id: str) -> RunView:
        """Look at a run."""
        ...

    def trace(self, run_id: str, after: int = -1) -> list[TraceEntry]:
        """Return what happened in a run, in order."""
        ...

    def graph(self, run_id: str) -> str:
        """Return a run's workflow as a Mermaid flowchart, with the path taken."""
        ...

    def attention(self, limit: int = 100) -> list[AttentionView]:
        """List what waits for a person, longest waiting first."""
        ...


class JournalReader:
    """Reads the journal without a server; ``None`` stands for a directory without any run."""

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal

    def runs(self, states: tuple[str, ...] = (), limit: int = 100) -> list[RunRow]:
        if self._journal is None:
            return []
        wanted = frozenset(map(RunState, states)) or None
        return queries.runs(self._journal, wanted, limit)

    def run(self, run_id: str) -> RunView:
        return queries.run_view(self._known(run_id), run_id)

    def trace(self, run_id: str, after: int = -1) -> list[TraceEntry]:
        return queries.trace(self._known(run_id), run_id, after)

    def graph(self, run_id: str) -> str:
        return queries.graph(self._known(run_id), run_id).mermaid

    def attention(self, limit: int = 100) -> list[AttentionView]:
        return attention(self._journal, limit) if self._journal is not None else []

    def _known(self, run_id: str) -> Journal:
        if self._journal is None:
            raise PointsmanError("run_unknown", f"there is no run {run_id[:80]!r}")
        return self._journal


@contextlib.contextmanager
def reading(data: DataDirectory) -> Iterator[Reader]:
    """Give the running server to read from, else the journal."""
    with contextlib.ExitStack() as undo:
        server = discovery.running_server(data)
        if server is not None:
            from pointsman.runtime.client import Client

            yield undo.enter_context(Client(server.url, server.token))
            return
        from pointsman.runtime.journals import open_journal_read_only

        journal = open_journal_read_only(data)
        if journal is not None:
            undo.callback(journal.close)
        yield JournalReader(journal)


class Reach:
    """Keeps a server within a command's reach, from ``with`` to its end.

    A server of another process may end at any time; ``ask`` and ``renew`` then find or start
    the next one. Whatever was asked has a command id, so asking again does it once.
    """

    def __init__(self, data: DataDirectory, terminal: Terminal) -> None:
        self._data = data
        self._terminal = terminal
        self._undo = contextlib.ExitStack()
        self._client: Client | None = None
        self.embedded = False

    def __enter__(self) -> Self:
        try:
            self._connect()
        except BaseException:
            self._undo.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._undo.close()

    @property
    def client(self) -> "Client":
        """The client of the server in reach."""
        assert self._client is not None, "used outside of its with statement"
        return self._client

    def ask(self, question: "Callable[[Client], T]") -> T:
        """Ask the server, and once more when it went away."""
        try:
            return question(self.client)
        except PointsmanError as error:
            if error.code != "server_unreachable":
                raise
        self.renew()
        return question(self.client)

    def renew(self) -> None:
        """Let go of a server that does not answer, and find or start another."""
        self._terminal.say("The server went away; going on from the journal.", style="dim")
        self._undo.close()
        self._connect()

    def _connect(self) -> None:
        from pointsman.runtime.client import Client

        url, token = self._server()
        self._client = self._undo.enter_context(Client(url, token))

    def _server(self) -> tuple[str, str]:
        """Find the running server or become it; another process may be becoming it just now."""
        give_up = time.monotonic() + _STARTING_SERVER_PATIENCE_S
        while True:
            server = discovery.running_server(self._data)
            if server is not None:
                self.embedded = False
                return server.url, server.token
            try:
                return self._embedded()
            except PointsmanError as error:
                if error.code != "data_directory_in_use" or time.monotonic() > give_up:
                    raise
            threading.Event().wait(_LOOK_AGAIN_S)

    def _embedded(self) -> tuple[str, str]:
        # Loading the actors takes a second, which reading commands need not pay.
        from pointsman.runtime.app import start_runtime

        runtime = self._undo.enter_context(start_runtime(self._data))
        self.embedded = True
        return runtime.url, runtime.token
