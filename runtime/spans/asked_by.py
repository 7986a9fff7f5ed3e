"""The span that a request is made in: what its ``traceparent`` header says (W3C Trace Context)."""

from contextvars import ContextVar
from typing import Final

from opentelemetry.trace import get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from pointsman.runtime.spans.span import SpanRef

asked_by: ContextVar[SpanRef | None] = ContextVar("asked_by", default=None)

_READING: Final = TraceContextTextMapPropagator()


class AskedBy:
    """Keeps the caller's span for as long as its request is answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).get("traceparent") if scope["type"] == "http" else None
        if given is None:
            await self._app(scope, receive, send)
            return
        kept = asked_by.set(_read(given))
        try:
            await self._app(scope, receive, send)
        finally:
            asked_by.reset(kept)


def _read(traceparent: str) -> SpanRef | None:
    """Read the header; what is no ``traceparent`` is as good as none."""
    found = get_current_span(_READING.extract({"traceparent": traceparent})).get_span_context()
    return SpanRef(found.trace_id, found.span_id) if found.is_valid else None
