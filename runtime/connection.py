"""A connection to a server: requests that survive a lost answer, and resumable streams.

Every refusal is raised as ``PointsmanError`` with the server's own code.
"""

import json
import threading
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import httpx

from pointsman.graph.model import Model
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.trace import TraceEntry

_RETRY_PAUSES_S: Final = (0.1, 0.3, 1.0, 2.0)
T = TypeVar("T", bound=Model)


class StreamEvent(Model):
    """One event of a subscription; ``cursor`` resumes right after it.

    ``event`` is ``entry`` (data is a ``TraceEntry``), ``output`` (data has ``subject`` and
    ``line``), ``snapshot`` (a ``RunView``: the cursor was not ours, look at all of it anew) or
    ``end`` (the run has ended and all was sent).
    """

    event: str
    cursor: str | None
    data: dict[str, Any]

    @property
    def entry(self) -> TraceEntry:
        """The entry of the trace, for an ``entry`` event."""
        return TraceEntry.model_validate(self.data)


class Connection:
    """Sends to one server. May be shared by threads."""

    def __init__(
        self,
        url: str,
        token: str,
        timeout_s: float,
        transport: httpx.BaseTransport | None,
    ) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._pause = threading.Event()
        self._http = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout_s,
            transport=transport,
            # The server is on this machine: a proxy of the environment must not get the token.
            trust_env=False,
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def ready(self) -> bool:
        """Whether the server can take commands now."""
        try:
            return self._http.get("/readyz").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def get(self, path: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return what is at an address."""
        found: dict[str, Any] = self.send("GET", path, params=params).json()
        return found

    def post(self, path: str, body: Model, answer: type[T], wait_s: float = 0.0) -> T:
        """Send a body as JSON; an answer that takes ``wait_s`` is waited for."""
        return answer.model_validate_json(self.send_body("POST", path, body, wait_s).content)

    def send_body(self, method: str, path: str, body: Model, wait_s: float = 0.0) -> httpx.Response:
        """Send a body as JSON, and return whatever is answered to it."""
        return self.send(
            method,
            path,
            content=body.model_dump_json().encode(),
            headers={"Content-Type": "application/json"},
            timeout=httpx.Timeout(self._timeout_s, read=self._timeout_s + wait_s),
        )

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send, again after a lost connection; raise the server's problem."""
        for pause_s in (*_RETRY_PAUSES_S, None):
            try:
                response = self._http.request(method, path, **options)
                break
            except httpx.TransportError as error:
                if pause_s is None:
                    raise _unreachable(self._url, error) from error
            self._pause.wait(pause_s)
        if response.is_error:
            raise _problem(response)
        return response

    def stream(self, path: str, cursor: str) -> Iterator[StreamEvent]:
        """Yield a subscription's events from after the cursor on; lost connections are taken up."""
        failures = 0
        while True:
            try:
                for event in self._connected(path, cursor):
                    failures = 0
                    cursor = event.cursor if event.cursor is not None else cursor
                    yield event
                    if event.event == "end":
                        return
            except httpx.TransportError as error:
                if failures >= len(_RETRY_PAUSES_S):
                    raise _unreachable(self._url, error) from error
            else:
                if failures >= len(_RETRY_PAUSES_S):
                    raise _unreachable(self._url, None)
            self._pause.wait(_RETRY_PAUSES_S[failures])
            failures += 1

    def _connected(self, path: str, cursor: str) -> Iterator[StreamEvent]:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": cursor}
        with self._http.stream("GET", path, headers=headers) as response:
            if response.is_error:
                response.read()
                raise _problem(response)
            yield from _events(response.iter_lines())


def part_of_path(text: str) -> str:
    """Quote one part of a path: an id with a slash must not become another address."""
    return str(httpx.URL("/").copy_with(path="/" + text.replace("/", "%2F")).raw_path[1:], "ascii")


def _events(lines: Iterator[str]) -> Iterator[StreamEvent]:
    """Read server-sent events; lines that begin with a colon only keep the connection alive."""
    event, cursor, data = "message", None, list[str]()
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line == "":
            if data:
                yield StreamEvent(event=event, cursor=cursor, data=json.loads("\n".join(data)))
            event, cursor, data = "message", None, []
        elif name == "event":
            event = value
        elif name == "id":
            cursor = value
        elif name == "data":
            data.append(value)


def _problem(response: httpx.Response) -> PointsmanError:
    try:
        told = response.json()
        return PointsmanError(told["code"], told["detail"], told.get("details") or {})
    except (ValueError, KeyError, TypeError):
        message = f"the server answered {response.status_code} without saying why"
        return PointsmanError("internal_error", message)


def _unreachable(url: str, error: Exception | None) -> PointsmanError:
    why = str(error) or type(error).__name__ if error is not None else "the stream ended early"
    return PointsmanError("server_unreachable", f"no answer from {url}: {why}")
