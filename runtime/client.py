"""The client of a running server: the same operations over HTTP, typed, for scripts and the CLI.

Every refusal is raised as ``PointsmanError`` with the server's own code. A mutation whose
answer was lost is sent again with the same command id, a bounded number of times, so that it
happens once.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import httpx
from pydantic import TypeAdapter
from ulid import ULID

from pointsman.graph.events import SkillSnapshot
from pointsman.graph.model import Model
from pointsman.graph.results import GateComment
from pointsman.runtime.gateway import wire
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.queries import AttentionView, RunRow, RunView, TraceEntry
from pointsman.runtime.workflows import WorkflowFile, WorkflowRow

_RETRY_PAUSES_S: Final = (0.1, 0.3, 1.0, 2.0)
_ATTENTION: Final = TypeAdapter(list[AttentionView])
_ROWS: Final = TypeAdapter(list[RunRow])
_TRACE: Final = TypeAdapter(list[TraceEntry])
T = TypeVar("T", bound=Model)


def new_command_id() -> str:
    """Draw an id for one wish; keep it to ask for the same wish again."""
    return str(ULID())


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


class Client:
    """Speaks to one server. May be shared by threads."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_s: float = 30.0,
        transport: httpx.BaseTransport | None = None,
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def ready(self) -> bool:
        """Whether the server can take commands now."""
        try:
            return self._http.get("/readyz").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def validate(self, text: str, name: str = "workflow.yaml") -> wire.Validation:
        """Check a definition's text; all its problems at once."""
        body = wire.ValidateRequest(text=text, name=name)
        return self._post("/api/definitions/validate", body, wire.Validation)

    def workflows(self, repository: str) -> list[WorkflowRow]:
        """List a project's workflows and the examples, broken and not runnable ones included."""
        response = self._send("GET", "/api/workflows", params={"repository": repository})
        return wire.WorkflowsPage.model_validate_json(response.content).workflows

    def workflow(self, repository: str, name: str) -> WorkflowFile:
        """Return one workflow with its text, by its id or its file's name."""
        params = {"repository": repository}
        response = self._send("GET", f"/api/workflows/{_part(name)}", params=params)
        return WorkflowFile.model_validate_json(response.content)

    def save_workflow(
        self, repository: str, file: str, text: str, expected_revision: str | None
    ) -> wire.SaveReply:
        """Save a workflow file's text over the revision that was read; ``None`` for a new file."""
        body = wire.SaveRequest(
            repository=repository, text=text, expected_revision=expected_revision
        )
        response = self._send(
            "PUT",
            f"/api/workflows/{_part(file)}",
            content=body.model_dump_json().encode(),
            headers={"Content-Type": "application/json"},
        )
        return wire.SaveReply.model_validate_json(response.content)

    def skills(self, repository: str, provider: str) -> list[SkillSnapshot]:
        """List the skills a provider has in a project, with source and fingerprint."""
        params = {"repository": repository, "provider": provider}
        response = self._send("GET", "/api/skills", params=params)
        return wire.SkillsPage.model_validate_json(response.content).skills

    def start(
        self,
        *,
        definition: str,
        source: str,
        repository: str,
        inputs: dict[str, Any],
        started_by: str,
        command_id: str,
    ) -> wire.StartReply:
        """Start a run. The same command id with the same wish returns the first run."""
        body = wire.StartRequest(
            command_id=command_id,
            definition=definition,
            source=source,
            repository=repository,
            inputs=inputs,
            started_by=started_by,
        )
        return self._post("/api/runs", body, wire.StartReply)

    def runs(self, states: tuple[str, ...] = (), limit: int = 100) -> list[RunRow]:
        """List runs, newest first."""
        response = self._get("/api/runs", {"state": list(states), "limit": limit})
        return _ROWS.validate_python(response["runs"])

    def run(self, run_id: str) -> RunView:
        """Look at a run."""
        return RunView.model_validate_json(self._send("GET", f"/api/runs/{_part(run_id)}").content)

    def trace(self, run_id: str, after: int = -1) -> list[TraceEntry]:
        """Return what happened in a run, in order."""
        response = self._get(f"/api/runs/{_part(run_id)}/trace", {"after": after})
        return _TRACE.validate_python(response["entries"])

    def attention(self, limit: int = 100) -> list[AttentionView]:
        """List what waits for a person, longest waiting first."""
        return _ATTENTION.validate_python(self._get("/api/attention", {"limit": limit})["items"])

    def limits(self) -> dict[str, int]:
        """Return the published bounds."""
        return TypeAdapter(dict[str, int]).validate_python(self._get("/api/limits", {}))

    def cancel(
        self,
        run_id: str,
        *,
        requested_by: str,
        command_id: str,
        reason: str | None = None,
        wait_s: float = 10.0,
    ) -> wire.CancelReply:
        """End a run and wait, up to ``wait_s``, for the end of its processes."""
        body = wire.CancelRequest(
            command_id=command_id, reason=reason, requested_by=requested_by, wait_s=wait_s
        )
        return self._act(run_id, "cancel", body, wire.CancelReply, wait_s)

    def decide_gate(
        self,
        run_id: str,
        *,
        gate_id: str,
        revision: int,
        decision: str,
        decided_by: str,
        command_id: str,
        note: str | None = None,
        roles: Sequence[str] = (),
        comments: Sequence[GateComment] = (),
    ) -> wire.CommandReply:
        """Decide a gate against the revision that was seen."""
        body = wire.GateRequest.model_validate(
            {
                "command_id": command_id,
                "gate_id": gate_id,
                "revision": revision,
                "decision": decision,
                "note": note,
                "decided_by": decided_by,
                "roles": list(roles),
                "comments": list(comments),
            }
        )
        return self._act(run_id, "gate", body, wire.CommandReply)

    def resume(
        self, run_id: str, *, attempt_id: str, revision: int, requested_by: str, command_id: str
    ) -> wire.CommandReply:
        """Let an interrupted native session go on."""
        body = wire.ResumeRequest(
            command_id=command_id,
            attempt_id=attempt_id,
            revision=revision,
            requested_by=requested_by,
        )
        return self._act(run_id, "resume", body, wire.CommandReply)

    def retry(
        self, run_id: str, *, visit_id: str, revision: int, requested_by: str, command_id: str
    ) -> wire.CommandReply:
        """Have an unresolved visit tried again, as a new attempt."""
        body = wire.RetryRequest(
            command_id=command_id, visit_id=visit_id, revision=revision, requested_by=requested_by
        )
        return self._act(run_id, "retry", body, wire.CommandReply)

    def answer(
        self,
        run_id: str,
        *,
        attempt_id: str,
        request_id: str,
        allow: bool,
        answered_by: str,
        command_id: str,
        text: str | None = None,
    ) -> wire.CommandReply:
        """Answer what the native harness asks."""
        body = wire.AnswerRequest(
            command_id=command_id,
            attempt_id=attempt_id,
            request_id=request_id,
            allow=allow,
            text=text,
            answered_by=answered_by,
        )
        return self._act(run_id, "answer", body, wire.CommandReply)

    def follow(self, run_id: str, after: str | int = -1) -> Iterator[StreamEvent]:
        """Yield what happens in a run, from after the cursor on, until the run has ended.

        A lost connection is taken up again after the last event; ``server_unreachable`` is
        raised when that does not succeed.
        """
        return self._stream(f"/api/runs/{_part(run_id)}/events", str(after))

    def output(self, run_id: str, cursor: str = "") -> Iterator[StreamEvent]:
        """Yield what happens in a run, and what its agents and checks print, until its end."""
        return self._stream(f"/api/runs/{_part(run_id)}/output", cursor)

    def _act(self, run_id: str, act: str, body: Model, answer: type[T], wait_s: float = 0.0) -> T:
        return self._post(f"/api/runs/{_part(run_id)}/{act}", body, answer, wait_s)

    def _get(self, path: str, params: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self._send("GET", path, params=params).json()
        return found

    def _post(self, path: str, body: Model, answer: type[T], wait_s: float = 0.0) -> T:
        response = self._send(
            "POST",
            path,
            content=body.model_dump_json().encode(),
            headers={"Content-Type": "application/json"},
            timeout=httpx.Timeout(self._timeout_s, read=self._timeout_s + wait_s),
        )
        return answer.model_validate_json(response.content)

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
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

    def _stream(self, path: str, cursor: str) -> Iterator[StreamEvent]:
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


def _part(text: str) -> str:
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
