"""What is copied, as one JSON array: DuckDB takes rows from that many times faster than by row."""

from collections.abc import Iterable

from pointsman.storage.journal import StoredEvent


def events_text(events: Iterable[StoredEvent]) -> str:
    """Return stored events as one JSON array of their positions and texts."""
    rows = (b'{"position":%d,"stored":%b}' % (each.position, each.text) for each in events)
    return f"[{b','.join(rows).decode()}]"


def occurrences_text(occurrences: Iterable[bytes]) -> str:
    """Return stored occurrences as one JSON array."""
    return f"[{b','.join(occurrences).decode()}]"
