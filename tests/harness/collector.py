"""A collector of spans on the loopback: takes OTLP over HTTP as any other does, and keeps it."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class SpanCollector:
    """Listens from its making on; ``refuses`` has it answer 503, as one that is overloaded."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.refuses = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def named(self, name: str) -> list[Span]:
        """Return the spans of one name."""
        return [each for each in self.spans if each.name == name]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = 503 if collector.refuses or self.path != "/v1/traces" else 200
                if status == 200:
                    collector.take(ExportTraceServiceRequest.FromString(body))
                self.send_response(status)
                self.send_header("Content-Type", "application/x-protobuf")
                self.end_headers()
                self.wfile.write(ExportTraceServiceResponse().SerializeToString())

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def take(self, request: ExportTraceServiceRequest) -> None:
        """Keep what a request brought."""
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.spans += scope.spans
