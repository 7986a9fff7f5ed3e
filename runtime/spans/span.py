"""A span: something that began and is over, under an identity that is derived and never drawn.

A run is one trace. Whoever derives its spans, and however often after whatever crash, gives them
the same ids, so that a collector that was told twice keeps one, and an agent can be told its
parent before anybody has told a collector of it.
"""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pointsman.graph import ids

Value = str | int | bool
NS_PER_MS: Final = 1_000_000


class SpanRef(NamedTuple):
    """Names a span, as W3C Trace Context does: 128 bits of its trace and 64 of its own."""

    trace: int
    span: int


@dataclass(frozen=True, slots=True)
class Note:
    """A moment of a span."""

    name: str
    at_ns: int
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Span:
    """Something that is over. ``failed`` says why it did not come to its good end.

    ``link`` names a span of another trace that it belongs to as well. Attributes and notes are
    ids, names, numbers and codes: no text of an agent or of a person ever leaves by them.
    ``answers``: a client waited for it.
    """

    ref: SpanRef
    parent: SpanRef | None
    name: str
    began_ns: int
    ended_ns: int
    attributes: Mapping[str, Value] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    failed: str | None = None
    link: SpanRef | None = None
    answers: bool = False


def ref_of(subject: str) -> SpanRef:
    """Name the span of a run, a visit, an attempt, a check or a branch, by its id."""
    return SpanRef(_number("trace", ids.run_of(subject), 16), _number("span", subject, 8))


def made_ref(trace: int) -> SpanRef:
    """Name a span that nobody else has to name: it happens once, and is told once at most."""
    return SpanRef(trace, secrets.randbits(64) or 1)


def traceparent(subject: str) -> str:
    """Return what tells a process that it works for this subject (W3C ``traceparent``)."""
    trace, span = ref_of(subject)
    return f"00-{trace:032x}-{span:016x}-01"


def _number(what: str, name: str, size: int) -> int:
    digest = hashlib.sha256(f"pointsman {what} {name}".encode()).digest()
    return int.from_bytes(digest[:size]) or 1  # zero is no valid id
