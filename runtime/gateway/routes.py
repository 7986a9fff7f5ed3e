"""The routes of the native API, by what they are for."""

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.responses import JSONResponse, PlainTextResponse, Response

from pointsman.graph import limits
from pointsman.graph.model import Model
from pointsman.graph.run import RunState
from pointsman.runtime.gateway.catalogue import Catalogue
from pointsman.runtime.gateway.operations import Operations
from pointsman.runtime.gateway.streams import Cursor, OutputLogs, cursor_of, happenings
from pointsman.runtime.gateway.workspaces import Workspaces
from pointsman.runtime.problems import PointsmanError, page_text
from pointsman.runtime.views import queries
from pointsman.runtime.views.attention import AttentionView, attention
from pointsman.runtime.wire import actions as acts
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
from pointsman.runtime.wire.workspaces import PruneReply, PruneRequest, WorkspacesPage
from pointsman.runtime.workflows import WorkflowFile
from pointsman.storage.journal import Journal

Limit = Annotated[int, Query(ge=1, le=1_000)]
# The largest number that every JSON reader keeps exactly; the journal's own keys end later.
_NUMBER_MAX: Final = 2**53 - 1
After = Annotated[int, Query(ge=-1, le=_NUMBER_MAX)]
AtMost = Annotated[int | None, Query(ge=1, le=_NUMBER_MAX)]
Repository = Annotated[str, Query(min_length=1, max_length=500)]
Provider = Annotated[str, Query(min_length=1, max_length=limits.NAME_CHARS_MAX)]


class RunsPage(Model):
    """Runs, newest first."""

    runs: list[queries.RunRow]


class TracePage(Model):
    """What happened in a run, in order."""

    run_id: str
    entries: list[queries.TraceEntry]


class AttentionPage(Model):
    """What waits for a person, longest waiting first."""

    items: list[AttentionView]


def health(operations: Operations) -> APIRouter:
    """Whether the server lives, whether it can work, and what its problem codes mean."""
    router = APIRouter()

    @router.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @router.get("/readyz")
    async def readyz() -> Response:
        ready = await operations.ready()
        told = {"status": "ready" if ready else "not ready"}
        return JSONResponse(told, status_code=200 if ready else 503)

    @router.get("/problems/{number}", response_class=PlainTextResponse)
    async def problem_page(number: str) -> Response:
        text = page_text(number)
        if text is None:
            raise PointsmanError("not_found", f"there is no problem {number[:80]!r}")
        return PlainTextResponse(text, media_type="text/markdown; charset=utf-8")

    return router


def reads(journal: Journal) -> APIRouter:
    """Reads, answered from the journal without waking a run."""
    router = APIRouter(prefix="/api")

    @router.get("/runs")
    async def list_runs(
        state: Annotated[list[RunState] | None, Query()] = None, limit: Limit = 100
    ) -> RunsPage:
        states = frozenset(state) if state else None
        return RunsPage(runs=queries.runs(journal, states, limit))

    @router.get("/runs/{run_id}")
    async def get_run(run_id: str) -> queries.RunView:
        return queries.run_view(journal, run_id)

    @router.get("/runs/{run_id}/graph")
    async def get_graph(run_id: str) -> queries.RunGraph:
        return queries.graph(journal, run_id)

    @router.get("/runs/{run_id}/trace")
    async def get_trace(run_id: str, after: After = -1, limit: AtMost = None) -> TracePage:
        return TracePage(run_id=run_id, entries=queries.trace(journal, run_id, after, limit))

    @router.get("/attention")
    async def list_attention(limit: Limit = 100) -> AttentionPage:
        return AttentionPage(items=attention(journal, limit))

    @router.get("/limits")
    async def list_limits() -> dict[str, int]:
        return limits.published()

    return router


def catalogue(workflows: Catalogue) -> APIRouter:
    """The workflow files of projects on the host's machine."""
    router = APIRouter(prefix="/api")

    @router.get("/workflows")
    async def list_workflows(repository: Repository) -> WorkflowsPage:
        return await workflows.list(repository)

    @router.get("/workflows/{name}")
    async def get_workflow(name: str, repository: Repository) -> WorkflowFile:
        return await workflows.get(repository, name)

    @router.put("/workflows/{name}")
    async def save_workflow(name: str, body: SaveRequest) -> SaveReply:
        return await workflows.save(name, body)

    @router.get("/skills")
    async def list_skills(repository: Repository, provider: Provider) -> SkillsPage:
        return await workflows.skills(repository, provider)

    return router


def workspaces(kept: Workspaces) -> APIRouter:
    """The worktrees on the host's machine."""
    router = APIRouter(prefix="/api")

    @router.get("/workspaces")
    async def list_workspaces() -> WorkspacesPage:
        return await kept.page()

    @router.post("/workspaces/prune")
    async def prune_workspaces(body: PruneRequest) -> PruneReply:
        return await kept.prune(body)

    return router


def mutations(operations: Operations) -> APIRouter:
    """Everything that changes something; each may be repeated under its command id."""
    router = APIRouter(prefix="/api")

    @router.post("/definitions/validate")
    async def validate(body: ValidateRequest) -> Validation:
        return await operations.validate(body.text, body.name)

    @router.post("/runs")
    async def start(body: StartRequest) -> StartReply:
        return await operations.start(body)

    @router.post("/runs/{run_id}/gate")
    async def decide_gate(run_id: str, body: acts.GateRequest) -> acts.CommandReply:
        return await operations.act(run_id, body)

    @router.post("/runs/{run_id}/resume")
    async def resume(run_id: str, body: acts.ResumeRequest) -> acts.CommandReply:
        return await operations.act(run_id, body)

    @router.post("/runs/{run_id}/retry")
    async def retry(run_id: str, body: acts.RetryRequest) -> acts.CommandReply:
        return await operations.act(run_id, body)

    @router.post("/runs/{run_id}/review-again")
    async def review_again(run_id: str, body: acts.ReviewAgainRequest) -> acts.CommandReply:
        return await operations.act(run_id, body)

    @router.post("/runs/{run_id}/answer")
    async def answer(run_id: str, body: acts.AnswerRequest) -> acts.CommandReply:
        return await operations.act(run_id, body)

    @router.post("/runs/{run_id}/cancel")
    async def cancel(run_id: str, body: acts.CancelRequest) -> acts.CancelReply:
        return await operations.cancel(run_id, body)

    return router


def subscriptions(
    journal: Journal, output_logs: OutputLogs, stopping: Callable[[], bool]
) -> APIRouter:
    """Server-sent events; ``Last-Event-ID`` resumes right after an event."""
    router = APIRouter(prefix="/api")

    def resumed(
        run_id: str,
        after: str = "",
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Cursor:
        """Judge the request before the stream begins: afterwards no problem can be told."""
        queries.known_summary(journal, run_id)
        return cursor_of(last_event_id or after)

    @router.get("/runs/{run_id}/events", response_class=EventSourceResponse)
    async def follow_events(
        run_id: str, cursor: Annotated[Cursor, Depends(resumed)]
    ) -> AsyncIterator[ServerSentEvent]:
        async for event in happenings(journal, run_id, cursor, stopping):
            yield event

    @router.get("/runs/{run_id}/output", response_class=EventSourceResponse)
    async def follow_output(
        run_id: str, cursor: Annotated[Cursor, Depends(resumed)]
    ) -> AsyncIterator[ServerSentEvent]:
        async for event in happenings(journal, run_id, cursor, stopping, output_logs):
            yield event

    return router
