"""The outermost gate of the HTTP application, before any route: who asks, and from where.

The server listens on the loopback only. A web page in the user's own browser reaches that too,
so the ``Host`` header must be a loopback name (else a rebound DNS name would do), and an
``Origin`` must be one as well. Everything below ``/api`` needs the operator's token; ``/metrics``
is also open to a token that opens nothing else. What goes wrong unexpectedly is logged under an
incident id and never shown.
"""

import secrets
from typing import Final
from urllib.parse import urlsplit

import structlog
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pointsman.runtime.gateway.json_bodies import duplicate_keys, in_words, whole_body
from pointsman.runtime.problems import PointsmanError, document

log = structlog.get_logger()

LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
METRICS_PATH: Final = "/metrics"
PROBLEM_TYPE: Final = "application/problem+json"


def problem_response(error: PointsmanError) -> JSONResponse:
    """Return the answer that tells a problem."""
    headers = {"WWW-Authenticate": "Bearer"} if error.code == "unauthorized" else None
    return JSONResponse(
        document(error), status_code=error.kind.status, media_type=PROBLEM_TYPE, headers=headers
    )


def bearer_token(headers: Headers) -> str | None:
    """Return the bearer token of a request, if it has one."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def _has_token(headers: Headers, *wanted: bytes) -> bool:
    token = bearer_token(headers)
    return token is not None and any(
        secrets.compare_digest(token.encode(), each) for each in wanted
    )


class Guard:
    """Plain ASGI, so that no route can be reached around it."""

    def __init__(
        self, app: ASGIApp, operator_token: str, metrics_token: str, body_bytes_max: int
    ) -> None:
        assert operator_token, "an empty operator token would let everybody in"
        assert metrics_token, "an empty token of the metrics would let everybody read them"
        self._app = app
        self._token = operator_token.encode()
        self._metrics_token = metrics_token.encode()
        self._body_bytes_max = body_bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope["path"], Headers(scope=scope))
        if refusal is not None:
            await problem_response(refusal)(scope, receive, send)
            return
        await self._guarded(scope, receive, send)

    def _refusal(self, path: str, headers: Headers) -> PointsmanError | None:
        if not _is_loopback(f"//{headers.get('host', '')}"):
            return PointsmanError("origin_refused", "the Host header names no loopback address")
        origin = headers.get("origin")
        if origin is not None and not _is_loopback(origin):
            return PointsmanError("origin_refused", "requests from other web pages are refused")
        if path == "/api" or path.startswith("/api/"):
            if not _has_token(headers, self._token):
                return PointsmanError("unauthorized", "this needs the operator's bearer token")
        elif path == METRICS_PATH and not _has_token(headers, self._metrics_token, self._token):
            return PointsmanError("unauthorized", "this needs the bearer token of the metrics")
        declared = headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > self._body_bytes_max:
            return PointsmanError("request_too_large", self._too_large())
        return None

    def _too_large(self) -> str:
        return f"the body has more than {self._body_bytes_max} bytes"

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = _Exchange(receive, send, self._body_bytes_max)
        receive = exchange.receive
        try:
            if scope["method"] in _WITH_BODY and scope["path"].startswith("/api/"):
                body, receive = await whole_body(receive)
                if keys := duplicate_keys(body):
                    refusal = PointsmanError("request_invalid", in_words(keys), {"keys": keys})
                    await problem_response(refusal)(scope, receive, send)
                    return
            await self._app(scope, receive, exchange.send)
        except HTTPException:
            # Of the body's bound: what the application itself raises is told there.
            told = PointsmanError("request_too_large", self._too_large())
            await problem_response(told)(scope, receive, send)
        except Exception:
            if exchange.begun and exchange.gone:
                return  # nobody is there any more to send the rest of a stream to
            incident = secrets.token_hex(6)
            log.exception("request_failed", incident=incident, path=scope["path"])
            if exchange.begun:
                raise
            error = PointsmanError(
                "internal_error",
                f"something went wrong; the server's log has it under {incident}",
                {"incident": incident},
            )
            await problem_response(error)(scope, receive, send)


class _Exchange:
    """One request and its answer: ``begun`` once the answer is, ``gone`` once the client is."""

    def __init__(self, receive: Receive, send: Send, body_bytes_max: int) -> None:
        self._receive = receive
        self._send = send
        self._bytes_left = body_bytes_max
        self.begun = False
        self.gone = False

    async def receive(self) -> Message:
        """Take the next message, and count what a body without a declared length brings."""
        message = await self._receive()
        self.gone = self.gone or message["type"] == "http.disconnect"
        self._bytes_left -= len(message.get("body", b""))
        if self._bytes_left < 0:
            # Of this type, because it is the one that FastAPI lets through while it parses.
            raise HTTPException(413)
        return message

    async def send(self, message: Message) -> None:
        self.begun = self.begun or message["type"] == "http.response.start"
        await self._send(message)


def _is_loopback(url: str) -> bool:
    try:
        return urlsplit(url).hostname in LOOPBACK_NAMES
    except ValueError:
        return False
