"""Goal: a client that leaves in the midst of a stream is no failure; a stream that breaks is one.

Method: the guard around an application whose stream breaks, as it breaks when nobody reads it.
"""

import asyncio
from collections.abc import Iterator

import pytest
from starlette.types import Message, Receive, Scope, Send
from structlog.testing import capture_logs

from pointsman.runtime.gateway.guard import Guard

SCOPE: Scope = {
    "type": "http",
    "method": "GET",
    "path": "/api/runs/r/events",
    "headers": [(b"host", b"127.0.0.1"), (b"authorization", b"Bearer operator")],
}


async def breaking_stream(scope: Scope, receive: Receive, send: Send) -> None:
    """Begin a stream, hear from the client once more, and break."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await receive()
    raise ExceptionGroup("a stream", [ConnectionError("nobody reads")])


def ask(messages: Iterator[Message]) -> list[Message]:
    """Send one request whose client then says the messages; return what it was sent."""
    sent: list[Message] = []

    async def receive() -> Message:
        return next(messages)

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(Guard(breaking_stream, "operator", "metrics", 100)(SCOPE, receive, send))
    return sent


def test_a_stream_that_its_client_has_left_ends_without_a_word() -> None:
    with capture_logs() as logged:
        sent = ask(iter([{"type": "http.disconnect"}]))
    assert [each["type"] for each in sent] == ["http.response.start"]
    assert logged == []


def test_a_stream_that_breaks_under_its_client_is_logged_and_broken_off() -> None:
    with capture_logs() as logged, pytest.raises(ExceptionGroup):
        ask(iter([{"type": "http.request", "body": b"", "more_body": False}]))
    assert [each["event"] for each in logged] == ["request_failed"]
