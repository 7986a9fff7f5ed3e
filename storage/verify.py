"""Verify: fold a run's events again and compare with everything that was derived of them.

It reads through the journal's port only, so it holds any implementation to the same account. A
run that changes meanwhile is read again; nothing is repaired here.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from pointsman.graph.events import RecordedEvent
from pointsman.graph.intents import Intent
from pointsman.graph.projection import AttentionItem, Deadline, Projection
from pointsman.graph.run import Run, RunState
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import JournalCorruptError
from pointsman.storage.verify_schedules import schedule_problems

Fold: TypeAlias = Callable[[Iterable[RecordedEvent]], Run | None]
Project: TypeAlias = Callable[[Run], Projection]

_ROWS_MAX: Final = 1 << 31
_END_OF_TIME_MS: Final = (1 << 63) - 1
_READINGS_MAX: Final = 3


class Damage(StrEnum):
    """What is wrong: rows that everything follows from, or rows that follow from those."""

    HISTORY = "history"
    DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. ``subject`` is the run, or the schedule; none for the journal."""

    subject: str | None
    text: str
    damage: Damage

    def __str__(self) -> str:
        return self.text if self.subject is None else f"{self.subject}: {self.text}"


@dataclass(frozen=True, slots=True)
class _Indexes:
    """The lists over all runs, read once; what is listed with its run, by run."""

    deadlines: Mapping[str, frozenset[str]]
    attention: Mapping[str, frozenset[str]]
    active: frozenset[str]
    by_state: dict[str, RunState]

    @classmethod
    def of(cls, journal: Journal) -> "_Indexes":
        return cls(
            deadlines=_by_run(journal.due(_END_OF_TIME_MS, _ROWS_MAX)),
            attention=_by_run(journal.attention(_ROWS_MAX)),
            active=frozenset(journal.active_runs()),
            by_state={
                summary.run_id: state
                for state in RunState
                for summary in journal.runs(frozenset({state}), _ROWS_MAX)
            },
        )


def verify(journal: Journal, run_id: str, fold: Fold, project: Project) -> tuple[Finding, ...]:
    """Return what is wrong with one run's rows; nothing is the good answer."""
    problems: tuple[Finding, ...] = ()
    for _ in range(_READINGS_MAX):
        try:
            before = journal.summary(run_id)
            indexes = _Indexes.of(journal)
        except JournalCorruptError as error:
            return (Finding(None, str(error), Damage.DERIVED),)
        problems = tuple(_problems(journal, indexes, run_id, fold, project))
        # Several reads are no snapshot: a commit among them looks like a disagreement.
        if not problems or journal.summary(run_id) == before:
            break
    return problems


def verify_all(journal: Journal, fold: Fold, project: Project) -> tuple[Finding, ...]:
    """Return what is wrong with any run, schedule, the log, and rows that belong to no run."""
    try:
        indexes = _Indexes.of(journal)
        listed = [summary.run_id for summary in journal.runs(None, _ROWS_MAX)]
    except JournalCorruptError as error:
        # Without the lists there is nothing to compare with; each run can still be verified.
        return (Finding(None, str(error), Damage.DERIVED),)
    suspects = [
        run_id
        for run_id in listed
        if any(True for _ in _problems(journal, indexes, run_id, fold, project))
    ]
    problems = [each for run in suspects for each in verify(journal, run, fold, project)]
    schedules = (
        Finding(subject, text, Damage.HISTORY) for subject, text in schedule_problems(journal)
    )
    strays = _strays(journal, indexes, frozenset(listed))
    return (*problems, *strays, *_log_problems(journal), *schedules)


def _problems(
    journal: Journal, indexes: _Indexes, run_id: str, fold: Fold, project: Project
) -> Iterator[Finding]:
    try:
        events = journal.events(run_id)
        if [each.sequence for each in events] != list(range(len(events))):
            yield Finding(run_id, "its events are not contiguous", Damage.HISTORY)
            return
        run = fold(events)
    except JournalCorruptError as error:
        yield Finding(run_id, str(error), Damage.HISTORY)
        return
    except AssertionError as error:
        yield Finding(run_id, f"its events do not fold: {error}", Damage.HISTORY)
        return
    if run is None:
        yield Finding(run_id, "it has no events", Damage.HISTORY)
        return
    try:
        differing = _differing(journal, indexes, run, project(run))
    except JournalCorruptError as error:
        yield Finding(run_id, str(error), Damage.DERIVED)
        return
    for name in differing:
        text = f"the {name} stored is not what its events give"
        yield Finding(run_id, text, Damage.DERIVED)


def _differing(
    journal: Journal, indexes: _Indexes, run: Run, projection: Projection
) -> tuple[str, ...]:
    """Name what is stored otherwise than it follows from the folded run."""
    run_id = run.run_id
    nothing: frozenset[str] = frozenset()
    compared = (
        ("checkpoint", journal.run(run_id), run),
        ("summary", journal.summary(run_id), projection.summary),
        ("outbox", _texts(journal.outbox(run_id)), _texts(projection.outbox)),
        ("deadlines", indexes.deadlines.get(run_id, nothing), _texts(projection.deadlines)),
        ("attention items", indexes.attention.get(run_id, nothing), _texts(projection.attention)),
        ("state index", indexes.by_state.get(run_id), projection.summary.state),
        ("active index", run_id in indexes.active, _is_active(projection)),
    )
    return tuple(name for name, stored, computed in compared if stored != computed)


def _texts(rows: Iterable[Intent | Deadline | AttentionItem]) -> frozenset[str]:
    return frozenset(row.model_dump_json() for row in rows)


def _by_run(rows: Iterable[Deadline | AttentionItem]) -> Mapping[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        found[row.run_id].add(row.model_dump_json())
    return {run_id: frozenset(texts) for run_id, texts in found.items()}


def _is_active(projection: Projection) -> bool:
    return bool(projection.outbox or projection.summary.open_work)


def _strays(journal: Journal, indexes: _Indexes, listed: frozenset[str]) -> Iterator[Finding]:
    timed = indexes.deadlines.keys() | indexes.attention.keys()
    named = timed | indexes.active | indexes.by_state.keys()
    for run_id in sorted(named - listed):
        # A run that began after the list was read is in order: it has its row.
        if journal.summary(run_id) is None:
            text = "it stands in an index and has no row of its own"
            yield Finding(run_id, text, Damage.DERIVED)


def _log_problems(journal: Journal) -> Iterator[Finding]:
    """The log must be contiguous, and tell of every event once and in order."""
    told: dict[str, int] = {}
    after = 0
    # Read before the log: of a run that began meanwhile the log may not have told yet.
    listed = [summary.run_id for summary in journal.runs(None, _ROWS_MAX)]
    try:
        while entries := journal.log(after, 1_000):
            for entry in entries:
                if entry.position != after + 1:
                    yield Finding(None, f"the log lacks position {after + 1}", Damage.HISTORY)
                if entry.first_sequence != told.get(entry.run_id, 0):
                    text = "the log tells of its events out of order"
                    yield Finding(entry.run_id, text, Damage.HISTORY)
                told[entry.run_id] = entry.last_sequence + 1
                after = entry.position
    except JournalCorruptError as error:
        yield Finding(None, str(error), Damage.HISTORY)
        return
    for run_id in listed:
        summary = journal.summary(run_id)
        # A run may have gone on since the log was read; it cannot have fewer events.
        if summary is not None and not 1 <= told.get(run_id, 0) <= summary.version:
            yield Finding(run_id, "the log and its summary disagree", Damage.DERIVED)
