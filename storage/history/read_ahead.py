"""Reads a shard's next batch while DuckDB works on the one before: each needs about a core."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from pointsman.storage.journal import Journal, StoredEvent


@dataclass(frozen=True, slots=True)
class _Ahead:
    journal: Journal
    after: int
    found: Future[tuple[StoredEvent, ...]]


class ReadAhead:
    """The batch after the last full one of each shard. The log only grows, so it stays true."""

    def __init__(self) -> None:
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="history-read")
        self._ahead: dict[str, _Ahead] = {}

    def batch(
        self, shard: str, journal: Journal, after: int, events_max: int
    ) -> tuple[StoredEvent, ...]:
        """Return the batch after a position, and begin to read the next if this one is full."""
        ahead = self._ahead.pop(shard, None)
        fits = ahead is not None and ahead.journal is journal and ahead.after == after
        # What was read early may be short of what is there now, but only nothing would mislead.
        found = ahead.found.result() if ahead is not None and fits else ()
        found = found or journal.stored_events(after, events_max)
        if len(found) >= events_max:
            last = found[-1].position
            reading = self._reader.submit(journal.stored_events, last, events_max)
            self._ahead[shard] = _Ahead(journal, last, reading)
        return found

    def close(self) -> None:
        """Wait for a read in flight, and let go of the thread."""
        self._reader.shutdown(cancel_futures=True)
