"""``/metrics``: what Prometheus scrapes, in the format it asks for."""

import asyncio
from typing import Annotated, Final, NamedTuple

import structlog
from fastapi import APIRouter, Header
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.responses import Response

from pointsman.actors.supervising import Supervising
from pointsman.actors.workers import WorkerLostError
from pointsman.runtime.gateway.guard import METRICS_PATH
from pointsman.runtime.views.measures import Measures, Status

log = structlog.get_logger()

# Prometheus waits ten seconds by default, and what the journal says is worth having without it.
_STATUS_PATIENCE_S: Final = 2.0


class Scraping(NamedTuple):
    """What a scrape asks. ``token`` opens ``/metrics`` and nothing else."""

    measures: Measures
    supervisor: Supervising
    token: str

    async def answer(self, accept: str) -> Response:
        """Measure, and write it as it is asked for."""
        status = await self._status()
        found = await asyncio.to_thread(self.measures.families, status)
        registry = CollectorRegistry()
        registry.register(_Measured(found))
        encode, media_type = choose_encoder(accept)
        return Response(encode(registry), media_type=media_type)

    async def _status(self) -> Status | None:
        try:
            return await asyncio.wait_for(self.supervisor.status(), _STATUS_PATIENCE_S)
        except (WorkerLostError, TimeoutError) as error:
            log.warning("supervisor_not_measured", error=repr(error))
            return None


class _Measured(Collector):
    """What was measured, as the client library's encoders take it."""

    def __init__(self, found: list[Metric]) -> None:
        self._found = found

    def collect(self) -> list[Metric]:
        return self._found


def routes(scraping: Scraping) -> APIRouter:
    """The one page for Prometheus."""
    router = APIRouter()

    @router.get(METRICS_PATH, include_in_schema=False)
    async def scrape(accept: Annotated[str, Header()] = "") -> Response:
        return await scraping.answer(accept)

    return router
