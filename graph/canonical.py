"""Canonical bytes (RFC 8785) and digests that keep every JSON value apart from every other.

RFC 8785 writes ``1`` and ``1.0`` alike. To us they differ, so a digest also covers the places
of whole-numbered floats (below). Values that JSON cannot carry exactly are found by ``flaws``.
"""

import hashlib
import math
from collections.abc import Iterator
from typing import Final, NamedTuple

import rfc8785

DEPTH_MAX: Final = 100
INTEGER_MAX: Final = 2**53 - 1


class Flaw(NamedTuple):
    """A place in a value that has no canonical form, and why."""

    where: tuple[str | int, ...]
    problem: str


def _children(value: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, (list, tuple)):
        yield from enumerate(value)


def _text_problem(text: str) -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half of a surrogate pair, which is no character"
    return None


def _problem(value: object, depth: int) -> str | None:
    """Say why this one value (not its children) has no canonical form."""
    match value:
        case None | bool():
            return None
        case int():
            exact = -INTEGER_MAX <= value <= INTEGER_MAX
            return None if exact else "is an integer that JSON cannot carry exactly"
        case float():
            return None if math.isfinite(value) else "is not a finite number"
        case str():
            return _text_problem(value)
        case dict() | list() | tuple():
            return None if depth < DEPTH_MAX else "is nested too deeply"
        case _:
            return f"is no JSON value but a Python {type(value).__name__}"


def flaws(value: object) -> tuple[Flaw, ...]:
    """Return every place that keeps ``value`` from having canonical bytes; never raises."""
    found: list[Flaw] = []
    todo: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    while todo:
        where, item = todo.pop()
        problem = _problem(item, len(where))
        if problem is not None:
            found.append(Flaw(where, problem))
            continue
        for key, child in _children(item):
            if isinstance(item, dict) and not isinstance(key, str):
                found.append(Flaw((*where, repr(key)), "has a key that is no text"))
            elif isinstance(key, str) and _text_problem(key) is not None:
                found.append(Flaw((*where, ascii(key)), "has a key that is no text"))
            else:
                todo.append(((*where, key), child))
    return tuple(sorted(found, key=lambda flaw: tuple(map(str, flaw.where))))


def canonical_bytes(value: object) -> bytes:
    """Return the RFC 8785 bytes of a value that has no ``flaws``."""
    return rfc8785.dumps(value)  # type: ignore[arg-type]


def _whole_floats(value: object) -> list[list[str | int]]:
    found: list[list[str | int]] = []
    todo: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    while todo:
        where, item = todo.pop()
        if isinstance(item, float) and item.is_integer():
            found.append(list(where))
        todo.extend(((*where, key), child) for key, child in _children(item))
    return sorted(found, key=canonical_bytes)


def digest(value: object) -> str:
    """Return ``sha256:`` and the hex digest of a value that has no ``flaws``.

    Hashed are its canonical bytes; if it holds floats without a fraction, then also a line
    feed and the canonical list of their places. Canonical bytes hold no line feed, so no two
    values share an input, and a value without such floats has the plain RFC 8785 digest.
    """
    hashed = canonical_bytes(value)
    whole_floats = _whole_floats(value)
    if whole_floats:
        hashed += b"\n" + canonical_bytes(whole_floats)
    return "sha256:" + hashlib.sha256(hashed).hexdigest()
