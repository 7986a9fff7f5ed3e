"""JSON bodies as they were sent: no key may stand twice in an object.

Readers of JSON silently take the last one, so what a client reads in its own text and what is
done would differ. Bodies are looked at as bytes, before anything else reads them.
"""

import json
from typing import Any, Final

from starlette.types import Message, Receive

NAMED_MAX: Final = 10


def duplicate_keys(body: bytes) -> list[str]:
    """Return the keys that stand twice in an object; of a text that is no JSON, none."""
    found: dict[str, None] = {}

    def noted(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen and len(found) < NAMED_MAX:
                found[key] = None
            seen.add(key)

    try:
        json.loads(body, object_pairs_hook=noted)
    except (ValueError, RecursionError):
        return []  # whoever reads it next says what is wrong with it
    return list(found)


def in_words(keys: list[str]) -> str:
    """Say which keys stand twice."""
    return f"{', '.join(repr(key[:80]) for key in keys)}: the key stands twice in one object"


async def whole_body(receive: Receive) -> tuple[bytes, Receive]:
    """Read a body to its end; return it, and what gives the same messages once more."""
    messages: list[Message] = []
    while True:
        message = await receive()
        messages.append(message)
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    body = b"".join(message.get("body", b"") for message in messages)
    again = iter(messages)

    async def replayed() -> Message:
        return next(again, None) or await receive()

    return body, replayed
