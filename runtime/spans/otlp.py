"""Spans in OpenTelemetry's own shape, given to one of its exporters.

Only this module loads OpenTelemetry, and only where a collector is configured.
"""

from collections.abc import Sequence
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

import pointsman
from pointsman.runtime.spans.span import Span, SpanRef

_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)


class Collector:
    """Takes spans to a collector; what it needs to know stands in ``OTEL_*`` variables."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        self._exporter = exporter or OTLPSpanExporter()
        named = {"service.name": "pointsman", "service.version": pointsman.__version__}
        self._resource = Resource(named).merge(OTELResourceDetector().detect())
        self._scope = InstrumentationScope("pointsman", pointsman.__version__)

    def send(self, spans: Sequence[Span]) -> bool:
        """Give spans to the collector; ``False`` when it did not take them."""
        readable = [self._readable(each) for each in spans]
        return self._exporter.export(readable) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """End, with what is being sent."""
        self._exporter.shutdown()

    def _readable(self, span: Span) -> ReadableSpan:
        failed = Status(StatusCode.ERROR, span.failed) if span.failed else Status()
        return ReadableSpan(
            span.name,
            context=_context(span.ref),
            parent=_context(span.parent) if span.parent is not None else None,
            resource=self._resource,
            attributes=span.attributes,
            events=[Event(each.name, each.attributes, each.at_ns) for each in span.notes],
            links=[Link(_context(span.link))] if span.link is not None else [],
            kind=SpanKind.SERVER if span.answers else SpanKind.INTERNAL,
            status=failed,
            start_time=span.began_ns,
            end_time=span.ended_ns,
            instrumentation_scope=self._scope,
        )


def _context(ref: SpanRef) -> SpanContext:
    return SpanContext(ref.trace, ref.span, is_remote=False, trace_flags=_SAMPLED)
