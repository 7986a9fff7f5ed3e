"""The client of a running server: the same operations over HTTP, typed, for scripts and the CLI.

Every refusal is raised as ``PointsmanError`` with the server's own code. A mutation whose
answer was lost is sent again with the same command id, a bounded number of times, so that it
happens once.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import httpx
from pydantic import TypeAdapter
from ulid import ULID

from pointsman.graph.events import SkillSnapshot
from pointsman.graph.results import GateComment
from pointsman.runtime.config import DataDirectory, default_data_directory
from pointsman.runtime.connection import Connection, StreamEvent, part_of_path
from pointsman.runtime.discovery import running_server
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.attention import AttentionView
from pointsman.runtime.views.queries import RunGraph, RunRow, RunView, TraceEntry
from pointsman.runtime.wire import actions as acts
from pointsman.runtime.wire.history import (
    CUT,
    ExportReply,
    ExportRequest,
    Form,
    RebuildReply,
    RebuildRequest,
    SqlRequest,
)
from pointsman.runtime.wire.requests import (
    SaveReply,
    SaveRequest,
    SkillsPage,
    StartReply,
    StartRequest,
    ValidateRequest,
    Validation,
    WorkflowsPage,
)
from pointsman.runtime.wire.workspaces import (
    PruneReply,
    PruneRequest,
    WorkspacesPage,
    WorkspaceView,
)
from pointsman.runtime.workflows import WorkflowFile, WorkflowRow
from pointsman.storage.history.limits import ROWS_MAX

if TYPE_CHECKING:  # reading a run needs no Arrow
    from pointsman.storage.history.answer import Answer

__all__ = ["Client", "StreamEvent", "new_command_id"]

_ATTENTION: Final = TypeAdapter(list[AttentionView])
_ROWS: Final = TypeAdapter(list[RunRow])
_TRACE: Final = TypeAdapter(list[TraceEntry])
# A statement has its own bound; before it is asked, the history may have much to copy.
_SQL_WAIT_S: Final = 300.0
_HISTORY_WAIT_S: Final = 3_600.0


def new_command_id() -> str:
    """Draw an id for one wish; keep it to ask for the same wish again."""
    return str(ULID())


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
        self._connection = Connection(url, token, timeout_s, transport)

    @classmethod
    def connect(cls, data: Path | None = None, *, timeout_s: float = 30.0) -> Self:
        """Speak to the running server of a data directory, of this user's unless one is named.

        Raises ``server_unreachable`` when there is none.
        """
        directory = DataDirectory(data) if data is not None else default_data_directory()
        server = running_server(directory)
        if server is None:
            raise PointsmanError("server_unreachable", f"no server runs on {directory.path}")
        return cls(server.url, server.token, timeout_s=timeout_s)

    def close(self) -> None:
        """Let go of the connections."""
        self._connection.close()

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
        return self._connection.ready()

    def validate(self, text: str, name: str = "workflow.yaml") -> Validation:
        """Check a definition's text; all its problems at once."""
        body = ValidateRequest(text=text, name=name)
        return self._connection.post("/api/definitions/validate", body, Validation)

    def workflows(self, repository: str) -> list[WorkflowRow]:
        """List a project's workflows and the examples, broken and not runnable ones included."""
        response = self._connection.send("GET", "/api/workflows", params={"repository": repository})
        return WorkflowsPage.model_validate_json(response.content).workflows

    def workflow(self, repository: str, name: str) -> WorkflowFile:
        """Return one workflow with its text, by its id or its file's name."""
        params = {"repository": repository}
        response = self._connection.send(
            "GET", f"/api/workflows/{part_of_path(name)}", params=params
        )
        return WorkflowFile.model_validate_json(response.content)

    def save_workflow(
        self, repository: str, file: str, text: str, expected_revision: str | None
    ) -> SaveReply:
        """Save a workflow file's text over the revision that was read; ``None`` for a new file."""
        body = SaveRequest(repository=repository, text=text, expected_revision=expected_revision)
        address = f"/api/workflows/{part_of_path(file)}"
        response = self._connection.send_body("PUT", address, body)
        return SaveReply.model_validate_json(response.content)

    def skills(self, repository: str, provider: str) -> list[SkillSnapshot]:
        """List the skills a provider has in a project, with source and fingerprint."""
        params = {"repository": repository, "provider": provider}
        response = self._connection.send("GET", "/api/skills", params=params)
        return SkillsPage.model_validate_json(response.content).skills

    def start(
        self,
        *,
        definition: str,
        source: str,
        repository: str,
        inputs: dict[str, Any],
        started_by: str,
        command_id: str,
    ) -> StartReply:
        """Start a run. The same command id with the same wish returns the first run."""
        body = StartRequest(
            command_id=command_id,
            definition=definition,
            source=source,
            repository=repository,
            inputs=inputs,
            started_by=started_by,
        )
        return self._connection.post("/api/runs", body, StartReply)

    def runs(self, states: tuple[str, ...] = (), limit: int = 100) -> list[RunRow]:
        """List runs, newest first."""
        response = self._connection.get("/api/runs", {"state": list(states), "limit": limit})
        return _ROWS.validate_python(response["runs"])

    def run(self, run_id: str) -> RunView:
        """Look at a run."""
        return RunView.model_validate_json(
            self._connection.send("GET", f"/api/runs/{part_of_path(run_id)}").content
        )

    def trace(self, run_id: str, after: int = -1) -> list[TraceEntry]:
        """Return what happened in a run, in order."""
        response = self._connection.get(f"/api/runs/{part_of_path(run_id)}/trace", {"after": after})
        return _TRACE.validate_python(response["entries"])

    def graph(self, run_id: str) -> str:
        """Return a run's workflow as a Mermaid flowchart, with the path taken."""
        response = self._connection.send("GET", f"/api/runs/{part_of_path(run_id)}/graph")
        return RunGraph.model_validate_json(response.content).mermaid

    def attention(self, limit: int = 100) -> list[AttentionView]:
        """List what waits for a person, longest waiting first."""
        return _ATTENTION.validate_python(
            self._connection.get("/api/attention", {"limit": limit})["items"]
        )

    def workspaces(self) -> list[WorkspaceView]:
        """List the worktrees on the host's machine, and why each is kept."""
        response = self._connection.send("GET", "/api/workspaces")
        return WorkspacesPage.model_validate_json(response.content).workspaces

    def prune_workspaces(self, run_ids: Sequence[str] = ()) -> PruneReply:
        """Remove removable worktrees of ended runs, of all or of those named."""
        body = PruneRequest(run_ids=list(run_ids))
        return self._connection.post("/api/workspaces/prune", body, PruneReply)

    def sql(self, statement: str, rows_max: int = ROWS_MAX) -> "Answer":
        """Ask the history of all runs one SELECT; ``answer.table`` is an Arrow table."""
        from pointsman.storage.history.answer import Answer, table_of

        body = SqlRequest(statement=statement, format=Form.ARROW, rows_max=rows_max)
        response = self._connection.send_body("POST", "/api/sql", body, _SQL_WAIT_S)
        return Answer(table_of(response.content), cut=response.headers[CUT] == "true")

    def export_history(self, folder: Path) -> list[str]:
        """Have the server write all tables of the history as Parquet; return their names."""
        body = ExportRequest(folder=folder.resolve())
        reply = self._connection.post("/api/history/export", body, ExportReply, _HISTORY_WAIT_S)
        return reply.tables

    def rebuild_history(self) -> None:
        """Have the server make the history again from the journal."""
        address = "/api/history/rebuild"
        self._connection.post(address, RebuildRequest(), RebuildReply, _HISTORY_WAIT_S)

    def limits(self) -> dict[str, int]:
        """Return the published bounds."""
        return TypeAdapter(dict[str, int]).validate_python(self._connection.get("/api/limits", {}))

    def cancel(
        self,
        run_id: str,
        *,
        requested_by: str,
        command_id: str,
        reason: str | None = None,
        wait_s: float = 10.0,
    ) -> acts.CancelReply:
        """End a run and wait, up to ``wait_s``, for the end of its processes."""
        body = acts.CancelRequest(
            command_id=command_id, reason=reason, requested_by=requested_by, wait_s=wait_s
        )
        return self._connection.post(_address(run_id, body), body, acts.CancelReply, wait_s)

    def act(self, run_id: str, request: acts.ActionRequest) -> acts.CommandReply:
        """Do what a person asks of a run; the methods below name what each action needs."""
        return self._connection.post(_address(run_id, request), request, acts.CommandReply)

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
        review_set_id: str | None = None,
    ) -> acts.CommandReply:
        """Decide a gate against the revision, and the review, that were seen."""
        body = acts.GateRequest.model_validate(
            {
                "command_id": command_id,
                "gate_id": gate_id,
                "revision": revision,
                "review_set_id": review_set_id,
                "decision": decision,
                "note": note,
                "decided_by": decided_by,
                "roles": list(roles),
                "comments": list(comments),
            }
        )
        return self.act(run_id, body)

    def resume(
        self, run_id: str, *, attempt_id: str, revision: int, requested_by: str, command_id: str
    ) -> acts.CommandReply:
        """Let an interrupted native session go on."""
        body = acts.ResumeRequest(
            command_id=command_id,
            attempt_id=attempt_id,
            revision=revision,
            requested_by=requested_by,
        )
        return self.act(run_id, body)

    def retry(
        self, run_id: str, *, visit_id: str, revision: int, requested_by: str, command_id: str
    ) -> acts.CommandReply:
        """Have an unresolved visit tried again, as a new attempt."""
        body = acts.RetryRequest(
            command_id=command_id, visit_id=visit_id, revision=revision, requested_by=requested_by
        )
        return self.act(run_id, body)

    def review_again(
        self, run_id: str, *, visit_id: str, revision: int, requested_by: str, command_id: str
    ) -> acts.CommandReply:
        """Have the change reviewed anew, where its review is of no use any more."""
        body = acts.ReviewAgainRequest(
            command_id=command_id, visit_id=visit_id, revision=revision, requested_by=requested_by
        )
        return self.act(run_id, body)

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
    ) -> acts.CommandReply:
        """Answer what the native harness asks."""
        body = acts.AnswerRequest(
            command_id=command_id,
            attempt_id=attempt_id,
            request_id=request_id,
            allow=allow,
            text=text,
            answered_by=answered_by,
        )
        return self.act(run_id, body)

    def follow(self, run_id: str, after: str | int = -1) -> Iterator[StreamEvent]:
        """Yield what happens in a run, from after the cursor on, until the run has ended.

        A lost connection is taken up again after the last event; ``server_unreachable`` is
        raised when that does not succeed.
        """
        return self._connection.stream(f"/api/runs/{part_of_path(run_id)}/events", str(after))

    def output(self, run_id: str, cursor: str = "") -> Iterator[StreamEvent]:
        """Yield what happens in a run, and what its agents and checks print, until its end."""
        return self._connection.stream(f"/api/runs/{part_of_path(run_id)}/output", cursor)


def _address(run_id: str, request: acts.ActionRequest) -> str:
    return f"/api/runs/{part_of_path(run_id)}/{request.path}"
