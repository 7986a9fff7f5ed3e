"""The HTTP application: native API, reporting endpoint, health, and problem documents.

Only wiring and shapes; what is done stands in ``operations``, what is read in ``queries``.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

import pointsman
from pointsman.actors.history import AsksHistory
from pointsman.graph import limits
from pointsman.runtime.gateway import routes
from pointsman.runtime.gateway.guard import Guard, problem_response
from pointsman.runtime.gateway.operations import Operations
from pointsman.runtime.gateway.reporting import ReportingEndpoint
from pointsman.runtime.gateway.scheduling import Scheduling
from pointsman.runtime.gateway.scheduling import routes as schedule_routes
from pointsman.runtime.gateway.scraping import Scraping
from pointsman.runtime.gateway.scraping import routes as metrics_routes
from pointsman.runtime.gateway.sql import routes as sql_routes
from pointsman.runtime.gateway.streams import OutputLogs
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.spans.asked_by import AskedBy
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import JournalCorruptError

log = structlog.get_logger()

# A definition of the allowed size with its characters escaped, and the inputs beside it.
BODY_BYTES_MAX: Final = 4 * limits.DEFINITION_FILE_BYTES_MAX

_BY_STATUS: Final = {404: "not_found", 405: "method_not_allowed", 413: "request_too_large"}


def create_app(
    operations: Operations,
    journal: Journal,
    operator_token: str,
    output_logs: OutputLogs,
    scheduling: Scheduling,
    scraping: Scraping,
    historian: AsksHistory,
    stopping: Callable[[], bool] = lambda: False,
) -> FastAPI:
    """Return the application; ``stopping`` ends subscriptions when the server shuts down."""
    reporting = ReportingEndpoint(operations.reports)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with reporting.running(), scheduling.running():
            yield

    app = FastAPI(
        title="Pointsman",
        version=pointsman.__version__,
        lifespan=lifespan,
        # The documentation pages would load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.include_router(routes.health(operations))
    app.include_router(routes.reads(journal))
    app.include_router(routes.catalogue(operations.catalogue))
    app.include_router(routes.workspaces(operations.workspaces))
    app.include_router(routes.mutations(operations))
    app.include_router(schedule_routes(scheduling))
    app.include_router(metrics_routes(scraping))
    app.include_router(sql_routes(historian))
    app.include_router(routes.subscriptions(journal, output_logs, stopping))
    app.router.routes.append(Route("/mcp", endpoint=reporting))
    app.add_exception_handler(PointsmanError, _told)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(JournalCorruptError, _corrupt)
    app.add_exception_handler(HTTPException, _by_status)
    app.add_middleware(AskedBy)
    app.add_middleware(
        Guard,
        operator_token=operator_token,
        metrics_token=scraping.token,
        body_bytes_max=BODY_BYTES_MAX,
    )
    return app


async def _told(_: Request, error: Exception) -> Response:
    assert isinstance(error, PointsmanError)
    return problem_response(error)


async def _corrupt(_: Request, error: Exception) -> Response:
    log.error("journal_corrupt", error=str(error))
    return problem_response(PointsmanError("journal_corrupt", str(error)))


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # What was sent is not repeated: it may be large, or secret.
    wrong = [{"where": list(each["loc"]), "problem": each["msg"]} for each in error.errors()[:100]]
    told = "; ".join(f"{'.'.join(map(str, each['where']))}: {each['problem']}" for each in wrong)
    return problem_response(PointsmanError("request_invalid", told[:2_000], {"fields": wrong}))


async def _by_status(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _BY_STATUS.get(error.status_code, "request_invalid")
    message = error.detail
    if code == "not_found":
        message = f"nothing is served at {request.url.path[:200]}"
    return problem_response(PointsmanError(code, message))
