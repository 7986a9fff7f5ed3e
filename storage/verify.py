"""Verify: fold a run's events again and compare with everything that was derived of them.

It reads through the journal's port only, so it holds any implementation to the same account. A
run that changes meanwhile is read again; nothing is repaired here.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pointsman.graph.events import RecordedEvent
from pointsman.graph.intents import Intent
from pointsman.graph.projection import AttentionItem, Deadline, Projection
from pointsman.graph.run import Run, RunState
from pointsman.storage.journal import Journal, JournalCorruptError

Fold: TypeAlias = Callable[[Iterable[RecordedEvent]], Run | None]
Project: TypeAlias = Callable[[Run], Projection]

_ROWS_MAX: Final = 1 << 31
_END_OF_TIME_MS: Final = (1 << 63) - 1
_READINGS_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class _Indexes:
    """The lists over all runs, read once."""

    deadlines: tuple[Deadline, ...]
    attention: tuple[AttentionItem, ...]
    active: frozenset[str]
    by_state: dict[str, RunState]

    @classmethod
    def of(cls, journal: Journal) -> "_Indexes":
        return cls(
            deadlines=journal.due(_END_OF_TIME_MS, _ROWS_MAX),
            attention=journal.attention(_ROWS_MAX),
            active=frozenset(journal.active_runs()),
            by_state={
                summary.run_id: state
                for state in RunState
                for summary in journal.runs(frozenset({state}), _ROWS_MAX)
            },
        )


def verify(journal: Journal, run_id: str, fold: Fold, project: Project) -> tuple[str, ...]:
    """Return what is wrong with one run's rows; nothing is the good answer."""
    problems: tuple[str, ...] = ()
    for _ in range(_READINGS_MAX):
        try:
            before = journal.summary(run_id)
            indexes = _Indexes.of(journal)
        except JournalCorruptError as error:
            return (str(error),)
        problems = tuple(_problems(journal, indexes, run_id, fold, project))
        # Several reads are no snapshot: a commit among them looks like a disagreement.
        if not problems or journal.summary(run_id) == before:
            break
    return problems


def verify_all(journal: Journal, fold: Fold, project: Project) -> tuple[str, ...]:
    """Return what is wrong with any run, with the log, and with rows that belong to no run."""
    try:
        indexes = _Indexes.of(journal)
        listed = [summary.run_id for summary in journal.runs(None, _ROWS_MAX)]
    except JournalCorruptError as error:
        # Without the lists there is nothing to compare with; each run can still be verified.
        return (str(error),)
    suspects = [
        run_id
        for run_id in listed
        if any(True for _ in _problems(journal, indexes, run_id, fold, project))
    ]
    problems = [each for run in suspects for each in verify(journal, run, fold, project)]
    return (*problems, *_strays(indexes, frozenset(listed)), *_log_problems(journal))


def _problems(
    journal: Journal, indexes: _Indexes, run_id: str, fold: Fold, project: Project
) -> Iterator[str]:
    try:
        events = journal.events(run_id)
        checkpoint = journal.run(run_id)
        summary = journal.summary(run_id)
        outbox = journal.outbox(run_id)
    except JournalCorruptError as error:
        yield f"{run_id}: {error}"
        return
    if [each.sequence for each in events] != list(range(len(events))):
        yield f"{run_id}: its events are not contiguous"
        return
    try:
        run = fold(events)
    except AssertionError as error:
        yield f"{run_id}: its events do not fold: {error}"
        return
    if run is None:
        yield f"{run_id}: it has no events"
        return
    projection = project(run)
    compared = (
        ("checkpoint", checkpoint, run),
        ("summary", summary, projection.summary),
        ("outbox", _of(run_id, outbox), _of(run_id, projection.outbox)),
        ("deadlines", _of(run_id, indexes.deadlines), _of(run_id, projection.deadlines)),
        ("attention items", _of(run_id, indexes.attention), _of(run_id, projection.attention)),
        ("state index", indexes.by_state.get(run_id), projection.summary.state),
        ("active index", run_id in indexes.active, _is_active(projection)),
    )
    for name, stored, computed in compared:
        if stored != computed:
            yield f"{run_id}: the {name} stored is not what its events give"


def _of(run_id: str, rows: Sequence[Intent | Deadline | AttentionItem]) -> set[str]:
    return {row.model_dump_json() for row in rows if row.run_id == run_id}


def _is_active(projection: Projection) -> bool:
    return bool(projection.outbox or projection.summary.open_work)


def _strays(indexes: _Indexes, listed: frozenset[str]) -> Iterator[str]:
    timed = {row.run_id for row in indexes.deadlines} | {row.run_id for row in indexes.attention}
    named = timed | indexes.active | indexes.by_state.keys()
    for run_id in sorted(named - listed):
        yield f"{run_id}: it stands in an index and has no row of its own"


def _log_problems(journal: Journal) -> Iterator[str]:
    """The log must be contiguous, and tell of every event once and in order."""
    told: dict[str, int] = {}
    after = 0
    while entries := journal.log(after, 1_000):
        for entry in entries:
            if entry.position != after + 1:
                yield f"the log lacks position {after + 1}"
            if entry.first_sequence != told.get(entry.run_id, 0):
                yield f"{entry.run_id}: the log tells of its events out of order"
            told[entry.run_id] = entry.last_sequence + 1
            after = entry.position
    for summary in journal.runs(None, _ROWS_MAX):
        # A run may have gone on since the log was read; it cannot have fewer events.
        if told.get(summary.run_id, 0) < 1 or summary.version < told[summary.run_id]:
            yield f"{summary.run_id}: the log and its summary disagree"
