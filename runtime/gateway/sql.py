"""The history over HTTP: statements, Parquet files of everything, and making it again."""

import asyncio
import contextlib
import secrets
from collections.abc import Iterator
from time import perf_counter
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from pointsman.actors import metrics
from pointsman.actors.history import ArrowAnswer, AsksHistory
from pointsman.actors.metric_labels import SqlOutcome
from pointsman.runtime.history_problems import told
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.wire.history import (
    CUT,
    ExportReply,
    ExportRequest,
    Form,
    RebuildReply,
    RebuildRequest,
    SqlRequest,
)
from pointsman.storage.history.limits import Limits
from pointsman.storage.history.tables import TABLES

AT_ONCE_MAX: Final = 4
MEDIA_TYPES: Final = {
    Form.JSON: "application/jsonl",
    Form.CSV: "text/csv; charset=utf-8",
    Form.ARROW: "application/vnd.apache.arrow.stream",
    Form.PARQUET: "application/vnd.apache.parquet",
}
_LOOK_FOR_CLIENT_EVERY_S: Final = 0.25
_OUTCOMES: Final = {
    "sql_refused": SqlOutcome.REFUSED,
    "sql_too_long": SqlOutcome.TOO_LONG,
    "sql_busy": SqlOutcome.BUSY,
    "history_in_use": SqlOutcome.UNAVAILABLE,
    "history_unavailable": SqlOutcome.UNAVAILABLE,
    "history_refused": SqlOutcome.UNAVAILABLE,
}


def routes(historian: AsksHistory) -> APIRouter:
    """Whatever the history is asked; nothing here can change a run."""
    router = APIRouter(prefix="/api")
    under_way = asyncio.Semaphore(AT_ONCE_MAX)

    @router.post("/sql", response_class=Response)
    async def sql(body: SqlRequest, request: Request) -> Response:
        with _counted():
            if under_way.locked():
                raise PointsmanError("sql_busy", f"{AT_ONCE_MAX} statements are under way")
            async with under_way:
                answer = await _answered(historian, body, request)
        return _written(answer, body.format)

    @router.post("/history/export")
    async def export(body: ExportRequest) -> ExportReply:
        with told():
            await historian.export(body.folder)
        return ExportReply(folder=body.folder, tables=[each.name for each in TABLES])

    @router.post("/history/rebuild")
    async def rebuild(_: RebuildRequest) -> RebuildReply:
        with told():
            await historian.rebuild()
        return RebuildReply(rebuilt=True)

    return router


@contextlib.contextmanager
def _counted() -> Iterator[None]:
    """Count a statement by how it ended."""
    began_s, outcome = perf_counter(), SqlOutcome.CANCELED
    try:
        yield
        outcome = SqlOutcome.ANSWERED
    except PointsmanError as error:
        outcome = _OUTCOMES.get(error.code, SqlOutcome.FAILED)
        raise
    finally:
        metrics.sql_ended(outcome, perf_counter() - began_s)


async def _answered(historian: AsksHistory, body: SqlRequest, request: Request) -> ArrowAnswer:
    """Ask, and end the statement when its client goes away."""
    asked_id = secrets.token_hex(8)
    limits = Limits(rows_max=body.rows_max)
    asking = asyncio.ensure_future(historian.ask(asked_id, body.statement, limits))
    try:
        while not (await asyncio.wait({asking}, timeout=_LOOK_FOR_CLIENT_EVERY_S))[0]:
            if await request.is_disconnected():
                await historian.interrupt(asked_id)
        with told():
            return await asking
    finally:
        asking.cancel()


def _written(answer: ArrowAnswer, form: Form) -> Response:
    # Loaded when it is needed: a server that is just starting has more urgent work.
    from pointsman.runtime import answers
    from pointsman.storage.history.answer import table_of

    headers = {CUT: "true" if answer.cut else "false"}
    if form is Form.ARROW:
        return Response(answer.stream, media_type=MEDIA_TYPES[form], headers=headers)
    pieces = answers.written(table_of(answer.stream), form)
    return StreamingResponse(pieces, media_type=MEDIA_TYPES[form], headers=headers)
