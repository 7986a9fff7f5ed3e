"""The port to the schedules of a shard's journal, and what one change of them is.

Two implementations stand behind one contract suite, as with the journal itself.
"""

from dataclasses import dataclass
from typing import Protocol

from pointsman.graph.schedule import Occurrence, Schedule
from pointsman.storage.journal_errors import JournalError
from pointsman.storage.receipts import CommandReceipt


class ScheduleConflictError(JournalError):
    """The schedule is not the one that was read: read it again and decide again."""


@dataclass(frozen=True, slots=True)
class ScheduleChange:
    """One atomic change of one schedule: all of it is written, or none.

    ``expected_version`` is that of the row as it was read, 0 for one that must not exist;
    ``schedule`` is ``None`` to remove it. An occurrence that exists already is left as it is:
    its id says that it is the same wish.
    """

    schedule_id: str
    expected_version: int
    schedule: Schedule | None
    occurrences: tuple[Occurrence, ...] = ()
    receipt: CommandReceipt | None = None

    def __post_init__(self) -> None:
        """Refuse a change that does not agree with itself: only a bug can make one."""
        if self.schedule is not None:
            assert self.schedule.schedule_id == self.schedule_id, self.schedule_id
            assert self.schedule.version == self.expected_version + 1, self.schedule_id
        owners = {each.schedule_id for each in self.occurrences}
        assert owners <= {self.schedule_id}, f"{self.schedule_id}: occurrences of {owners}"


class ScheduleStore(Protocol):
    """The schedules of a shard. Every write is durable when its call returns."""

    def change(self, change: ScheduleChange) -> None:
        """Write one change of a schedule with its occurrences and its receipt.

        Raises ``ScheduleConflictError``, ``ReceiptConflictError`` or ``JournalFullError``;
        nothing was written then.
        """
        ...

    def add(self, occurrence: Occurrence) -> bool:
        """Write an occurrence; ``False`` when its id exists, which then stays as it is."""
        ...

    def replace(self, read: Occurrence, now: Occurrence) -> bool:
        """Write an occurrence over what was read; ``False`` when it is no longer that."""
        ...

    def schedule(self, schedule_id: str) -> Schedule | None:
        """Return one schedule."""
        ...

    def schedules(self, limit: int = 1_000) -> tuple[Schedule, ...]:
        """Return schedules in the order of their ids."""
        ...

    def due(self, now_ms: int, limit: int = 100) -> tuple[Schedule, ...]:
        """Return schedules whose next slot is at or before ``now_ms``, earliest first."""
        ...

    def occurrence(self, occurrence_id: str) -> Occurrence | None:
        """Return one occurrence."""
        ...

    def occurrences(self, schedule_id: str, limit: int = 100) -> tuple[Occurrence, ...]:
        """Return a schedule's occurrences, the newest first."""
        ...

    def stored_occurrences(self) -> tuple[bytes, ...]:
        """Return every occurrence's JSON in the order of their ids, for copying them."""
        ...

    def pending(self, limit: int = 100) -> tuple[Occurrence, ...]:
        """Return occurrences whose start has no answer yet, the oldest first."""
        ...
