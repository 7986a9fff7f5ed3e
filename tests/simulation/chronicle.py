"""What really happened in a simulated world, written down by the world itself as it happens.

The checkers read this and the journals' rows, never the opinion of the code under test.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from pointsman.actors.messages import Message
from pointsman.graph.events import Event
from pointsman.graph.projection import Projection
from pointsman.graph.replies import Reply
from pointsman.graph.run import Run
from pointsman.graph.schedule import Occurrence, Schedule
from pointsman.storage.journal import Journal, Transition
from pointsman.storage.schedules import ScheduleChange


@dataclass(frozen=True, slots=True)
class Act:
    """Something done outside the journal: by which kind of order, under which key, to what."""

    at_s: float
    kind: str
    key: str
    subject: str
    run_id: str


class Checker(Protocol):
    """States one invariant. Each call yields what is wrong; nothing is the good answer.

    Whoever states one looks only at what it needs; the rest looks at nothing.
    """

    def committed(self, transition: Transition, before: Run | None) -> Iterator[str]:
        """Look at a transition right after it became durable."""
        return iter(())

    def acted(self, act: Act) -> Iterator[str]:
        """Look at an act of the outside world as it happens."""
        return iter(())

    def scheduled(self, before: Schedule | None, change: ScheduleChange) -> Iterator[str]:
        """Look at a change of a schedule right after it became durable."""
        return iter(())

    def dispatched(self, occurrence: Occurrence) -> Iterator[str]:
        """Look at what became of an occurrence right after that became durable."""
        return iter(())

    def at_end(self, journal: Journal) -> Iterator[str]:
        """Look at everything once the world has come to rest."""
        return iter(())


@dataclass
class Chronicle:
    """The world's own log, and the checkers who read along."""

    now_s: Callable[[], float]
    checkers: list[Checker] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    latest: dict[str, Run] = field(default_factory=dict)
    projected: dict[str, Projection] = field(default_factory=dict)
    acts: list[Act] = field(default_factory=list)
    acknowledged: list[tuple[Message, Reply]] = field(default_factory=list)
    leases: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    story: list[tuple[float, str, str]] = field(default_factory=list)

    def count(self, what: str, by: int = 1) -> None:
        """Count something for the summary."""
        self.counts[what] = self.counts.get(what, 0) + by

    def tell(self, run_id: str, what: str) -> None:
        """Add a line to the story."""
        self.story.append((self.now_s(), run_id, what))

    def committed(self, transition: Transition) -> None:
        """Note that a transition is durable."""
        for each in transition.events:
            self.tell(transition.run_id, f"{each.sequence:>4} {_told(each.event)}")
        before = self.latest.get(transition.run_id)
        for checker in self.checkers:
            self.violations += checker.committed(transition, before)
        self.latest[transition.run_id] = transition.run
        self.projected[transition.run_id] = transition.projection
        self.count("commits")
        self.count("events", len(transition.events))

    def acted(self, act: Act) -> None:
        """Note that something was done outside."""
        self.acts.append(act)
        self.tell(act.run_id, f"     host: {act.kind} {act.key}")
        for checker in self.checkers:
            self.violations += checker.acted(act)
        self.count("acts")

    def scheduled(self, before: Schedule | None, change: ScheduleChange) -> None:
        """Note that a change of a schedule is durable, with the occurrences it made."""
        for each in change.occurrences:
            self.tell(each.occurrence_id, each.state)
        for checker in self.checkers:
            self.violations += checker.scheduled(before, change)
        self.count("occurrences", len(change.occurrences))

    def dispatched(self, occurrence: Occurrence) -> None:
        """Note that an occurrence was dispatched, or given up."""
        self.tell(occurrence.occurrence_id, f"{occurrence.state} {occurrence.run_id or ''}")
        for checker in self.checkers:
            self.violations += checker.dispatched(occurrence)
        self.count(f"occurrences {occurrence.state}")

    def close(self, journal: Journal) -> None:
        """Have everything looked at once more."""
        for checker in self.checkers:
            self.violations += checker.at_end(journal)


_UNTOLD = {"kind", "workflow", "work", "inputs", "references", "considered", "run_id"}


def _told(event: Event) -> str:
    """Say on one line what an event says."""
    fields = event.model_dump(mode="json", exclude=_UNTOLD, exclude_defaults=True)
    return " ".join([event.kind, *(f"{name}={value}" for name, value in fields.items())])
