"""The journal's port: what a durable store of runs promises.

Two implementations stand behind one contract suite: ``lmdb_journal`` (the product) and
``memory_journal`` (for tests and simulation). All calls are synchronous and short.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from pointsman.graph.events import RecordedEvent
from pointsman.graph.intents import Intent
from pointsman.graph.projection import AttentionItem, Deadline, Projection, RunSummary
from pointsman.graph.run import Run, RunState
from pointsman.storage.receipts import CommandReceipt
from pointsman.storage.schedules import ScheduleStore
from pointsman.storage.tally import Tally


@dataclass(frozen=True, slots=True)
class TokenBinding:
    """A bearer token's SHA-256 digest (hex) and the attempt it may report for."""

    token_digest: str
    attempt_id: str


@dataclass(frozen=True, slots=True)
class Transition:
    """One atomic step of one run: all of it is written, or none.

    ``events`` continue at ``expected_sequence``; ``run`` is their fold and becomes the
    checkpoint; ``projection`` replaces the run's rows in the outbox, the deadlines, the
    attention items and the list of runs. ``fencing_token`` is the run's newest lease.
    """

    run_id: str
    expected_sequence: int
    fencing_token: int
    events: tuple[RecordedEvent, ...]
    run: Run
    projection: Projection
    receipt: CommandReceipt | None = None
    tokens: tuple[TokenBinding, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a transition that does not agree with itself: only a bug can make one."""
        assert self.events, f"{self.run_id}: a transition without events"
        for sequence, each in enumerate(self.events, start=self.expected_sequence):
            assert (each.run_id, each.sequence) == (self.run_id, sequence), (
                f"{self.run_id}: {each.run_id}/{each.sequence} stands in the place of {sequence}"
            )
        after = self.expected_sequence + len(self.events)
        summary, projection = self.projection.summary, self.projection
        assert (self.run.run_id, self.run.version) == (self.run_id, after), self.run_id
        assert (summary.run_id, summary.version) == (self.run_id, after), self.run_id
        rows = (*projection.outbox, *projection.deadlines, *projection.attention)
        assert all(row.run_id == self.run_id for row in rows), self.run_id


# What stands for an event that cannot be read, for those who copy: one run's damage hides no other.
DAMAGED_KIND: Final = "damaged"


class StoredEvent(NamedTuple):
    """An event as it is stored: ``text`` is the JSON of its ``RecordedEvent``, at today's version.

    One that is damaged has the kind ``DAMAGED_KIND``, no time and nothing else.
    ``position`` is that of its transition in the log. A tuple, because it is made by the million.
    """

    position: int
    run_id: str
    sequence: int
    text: bytes


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A place in the shard's log: positions are contiguous from 1, in commit order."""

    position: int
    run_id: str
    first_sequence: int
    last_sequence: int


class Journal(Protocol):
    """A shard's journal. Reads never wake a run and see only whole transitions.

    A damaged row that follows from a run's events is read from those. Where these are damaged
    too, reads of that run raise ``JournalCorruptError``, and lists over all runs go without it.
    """

    @property
    def schedules(self) -> ScheduleStore:
        """The schedules that are kept beside the runs."""
        ...

    def lease(self, run_id: str) -> int:
        """Durably take the next fencing token of a run (the first is 1) and return it.

        From its return on, commits with any earlier token raise ``FencedError``.
        """
        ...

    def commit(self, transition: Transition) -> int:
        """Durably write one transition and return its log position.

        Raises ``FencedError`` (the token is not the newest lease's), ``SequenceConflictError``,
        ``ReceiptConflictError`` or ``JournalFullError``, looked at in this order; nothing was
        written then. When it returns, all is on disk.
        """
        ...

    def run(self, run_id: str) -> Run | None:
        """Return the run's folded state from its checkpoint."""
        ...

    def events(
        self, run_id: str, after: int = -1, limit: int | None = None
    ) -> tuple[RecordedEvent, ...]:
        """Return events with a sequence greater than ``after``, in order."""
        ...

    def receipt(self, scope: str, command_id: str) -> CommandReceipt | None:
        """Return the answer a command was given."""
        ...

    def attempt_of_token(self, token_digest: str) -> str | None:
        """Return the attempt a bearer token is bound to."""
        ...

    def outbox(self, run_id: str) -> tuple[Intent, ...]:
        """Return the intents a run owes, as last committed, in the order of their ids."""
        ...

    def runs(
        self, states: frozenset[RunState] | None = None, limit: int = 100
    ) -> tuple[RunSummary, ...]:
        """Return summaries of runs in any of the states (all, if none are named), newest first.

        Run ids begin with the time of their minting, which is the order meant here.
        """
        ...

    def summary(self, run_id: str) -> RunSummary | None:
        """Return one run's summary."""
        ...

    def attention(self, limit: int = 100) -> tuple[AttentionItem, ...]:
        """Return what waits for a person, longest waiting first."""
        ...

    def note_trouble(self, item: AttentionItem) -> None:
        """Durably keep that a run cannot be taken up, in the place of what was said before.

        It is no part of the run: nothing of the run is read or written.
        """
        ...

    def end_trouble(self, run_id: str) -> None:
        """Durably forget a run's trouble; no matter if it has none."""
        ...

    def troubles(self) -> tuple[AttentionItem, ...]:
        """Return every run's trouble, in the order of their ids; ``attention`` has none of them."""
        ...

    def due(self, now_ms: int, limit: int = 100) -> tuple[Deadline, ...]:
        """Return deadlines at or before ``now_ms``, earliest first."""
        ...

    def next_deadline_ms(self) -> int | None:
        """Return the earliest deadline of the shard."""
        ...

    def active_runs(self) -> tuple[str, ...]:
        """Return every run that owes an intent or has open work at a host, oldest first."""
        ...

    def log(self, after: int, limit: int) -> tuple[LogEntry, ...]:
        """Return log entries with a position greater than ``after``, in commit order."""
        ...

    def stored_events(self, after: int, events_max: int) -> tuple[StoredEvent, ...]:
        """Return the events of the log after a position, in its order, for copying them.

        Whole transitions only: the last one may go beyond ``events_max``. All are of one moment.
        """
        ...

    def tally(self, now_ms: int, late_ms: int) -> Tally:
        """Count what there is; a deadline is late when its instant is more than ``late_ms`` ago."""
        ...

    def last_position(self) -> int:
        """Return the position of the log's last entry, 0 while it is empty."""
        ...

    def close(self) -> None:
        """Release the store; later calls raise ``JournalError``."""
        ...
