"""What a journal holds, in numbers: what can be told of it without a name of anything."""

from collections.abc import Mapping
from typing import NamedTuple

from pointsman.graph.projection import AttentionKind
from pointsman.graph.run import RunState
from pointsman.storage.filesystem import Size


class Waiting(NamedTuple):
    """One thing that waits for a person."""

    kind: AttentionKind
    since_ms: int


class Tally(NamedTuple):
    """All of one moment. ``deadlines`` lie ahead, ``due`` have come, ``late`` a while ago.

    ``size`` is ``None`` of a journal that is in no file.
    """

    runs: Mapping[RunState, int]
    waiting: tuple[Waiting, ...]
    outbox: int
    deadlines: int
    due: int
    late: int
    position: int
    size: Size | None
