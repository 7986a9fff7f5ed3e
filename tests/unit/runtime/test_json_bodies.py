"""Goal: a key that stands twice is seen wherever it stands, and nothing else is judged here."""

import asyncio

import pytest
from starlette.types import Message

from pointsman.runtime.gateway.json_bodies import NAMED_MAX, duplicate_keys, whole_body


@pytest.mark.parametrize(
    "body, keys",
    [
        (b'{"a": 1, "b": {"a": 2}}', []),
        (b'{"a": 1, "a": 1}', ["a"]),
        (b'[{"b": {"c": 1, "c": 2}}]', ["c"]),
        (b'{"a": 1, "\\u0061": 2}', ["a"]),
        (b"no json", []),
        (b"\xff", []),
        (b"[" * 100_000, []),
        (b"", []),
    ],
)
def test_a_key_that_stands_twice_is_found(body: bytes, keys: list[str]) -> None:
    assert duplicate_keys(body) == keys


def test_no_more_than_a_few_keys_are_named() -> None:
    pairs = ", ".join(f'"k{number}": 1, "k{number}": 2' for number in range(100))
    assert len(duplicate_keys(f"{{{pairs}}}".encode())) == NAMED_MAX


def test_a_body_in_pieces_is_read_once_and_given_on_as_it_came() -> None:
    sent: list[Message] = [
        {"type": "http.request", "body": b'{"a"', "more_body": True},
        {"type": "http.request", "body": b": 1}", "more_body": False},
        {"type": "http.disconnect"},
    ]
    given = iter(sent)

    async def receive() -> Message:
        return next(given)

    async def read() -> None:
        body, again = await whole_body(receive)
        assert body == b'{"a": 1}'
        assert [await again() for _ in sent] == sent

    asyncio.run(read())
