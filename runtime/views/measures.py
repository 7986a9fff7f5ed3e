"""What ``/metrics`` shows: the journal's state of this moment, and what all processes counted.

States are read when they are asked for, so they cannot drift from the journal. Counts of what is
in the journal are taken from its log, each event exactly once, whichever process committed it and
died; they begin with the server, as Prometheus expects of counters.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Final

import orjson
import structlog
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

import pointsman
from pointsman.actors import metrics, shared_counts
from pointsman.actors.clock import Clock
from pointsman.actors.metric_labels import ActorPlace, Age, WorktreeRole
from pointsman.actors.metrics import Declared
from pointsman.graph.run import ENDED_STATES
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import JournalCorruptError
from pointsman.storage.tally import Tally

log = structlog.get_logger()

LATE_MS: Final = 10_000
_EVENTS_MAX: Final = 10_000
_HOUR_MS: Final = 3_600_000
_AGES: Final = ((_HOUR_MS, Age.MINUTES), (24 * _HOUR_MS, Age.HOURS), (168 * _HOUR_MS, Age.DAYS))

Status = Mapping[str, int]
Series = dict[tuple[str, ...], float]
CountWorktrees = Callable[[], Mapping[WorktreeRole, int]]


_LAGS: Final = {
    metrics.HISTORY_POSITION: metrics.HISTORY_LAG,
    metrics.SPANS_POSITION: metrics.SPANS_LAG,
}


class Measures:
    """All metrics of one server. ``counts`` is the folder in which its processes count."""

    def __init__(
        self, journal: Journal, clock: Clock, counts: Path, worktrees: CountWorktrees
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._counts = counts
        self._worktrees = worktrees
        self._events = _EventCounts(journal)

    def families(self, status: Status | None) -> list[Metric]:
        """Measure now; ``status`` is the supervisor's, ``None`` if it did not answer.

        It reads files and the journal: call it in a thread.
        """
        now_ms = self._clock.now_ms()
        tally = self._journal.tally(now_ms, LATE_MS)
        counted = list(shared_counts.merged(self._counts))
        found = [
            *_of_runs(tally),
            *_of_waiting(tally, now_ms),
            *self._of_events(),
            *_of_actors(tally, status),
            *_lags(tally, counted),
            *self._of_worktrees(),
            _one(metrics.BUILD, 1, pointsman.__version__),
            *counted,
        ]
        return sorted(found, key=lambda each: each.name)

    def _of_events(self) -> Iterator[Metric]:
        counts = self._events.up_to_now()
        yield _by(metrics.EVENTS, {(kind,): count for kind, count in counts.items()})
        yield _one(metrics.REPORTS_ACCEPTED, counts["report_accepted"])

    def _of_worktrees(self) -> Iterator[Metric]:
        try:
            found = self._worktrees()
        except OSError as error:
            log.warning("not_measured", error=str(error))
            return
        yield _by(metrics.WORKTREES, {(role,): found.get(role, 0) for role in WorktreeRole})


class _EventCounts:
    """Counts the events of the journal's log, from the place it had when this was made."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._after = journal.last_position()
        self._counts = Counter(dict.fromkeys(metrics.EVENTS.labels["event"], 0))
        self._lock = Lock()

    def up_to_now(self) -> Counter[str]:
        """Return the counts with all that is committed by now; behind a damaged row, until it."""
        with self._lock:
            try:
                while found := self._journal.stored_events(self._after, _EVENTS_MAX):
                    self._counts.update(orjson.loads(e.text)["event"]["kind"] for e in found)
                    self._after = found[-1].position
            except JournalCorruptError as error:
                log.error("not_measured", error=str(error))
            return self._counts.copy()


def _of_runs(tally: Tally) -> Iterator[Metric]:
    yield _by(metrics.RUNS, {(state,): count for state, count in tally.runs.items()})
    yield _one(metrics.OUTBOX, tally.outbox)
    yield _one(metrics.DEADLINES, tally.deadlines)
    yield _one(metrics.DEADLINES_DUE, tally.due)
    yield _one(metrics.DEADLINES_LATE, tally.late)
    yield _one(metrics.JOURNAL_POSITION, tally.position)
    if tally.size is not None:
        yield _one(metrics.JOURNAL_USED, tally.size.used_bytes)
        yield _one(metrics.JOURNAL_MAP, tally.size.map_bytes)


def _of_waiting(tally: Tally, now_ms: int) -> Iterator[Metric]:
    kinds, ages = metrics.ATTENTION.labels["kind"], metrics.ATTENTION.labels["age"]
    items: Series = {(kind, age): 0 for kind in kinds for age in ages}
    oldest_s: Series = {(kind,): 0.0 for kind in kinds}
    for kind, since_ms in tally.waiting:
        waited_ms = max(now_ms - since_ms, 0)
        items[kind, _age(waited_ms)] += 1
        oldest_s[kind,] = max(oldest_s[kind,], waited_ms / 1000)
    yield _by(metrics.ATTENTION, items)
    yield _by(metrics.ATTENTION_OLDEST, oldest_s)


def _age(waited_ms: int) -> Age:
    return next((age for below_ms, age in _AGES if waited_ms < below_ms), Age.WEEKS)


def _of_actors(tally: Tally, status: Status | None) -> Iterator[Metric]:
    yield _one(metrics.SUPERVISOR_UP, status is not None)
    if status is None:
        return
    unended = sum(count for state, count in tally.runs.items() if state not in ENDED_STATES)
    places: Series = {
        (ActorPlace.LEASED,): status["runs_leased"],
        (ActorPlace.POOLED,): status["workers_idle"],
        # A run that has just ended may still be leased.
        (ActorPlace.PASSIVATED,): max(unended - status["runs_leased"], 0),
    }
    yield _by(metrics.RUN_ACTORS, places)


def _lags(tally: Tally, counted: list[Metric]) -> Iterator[Metric]:
    """Tell how far the journal is ahead of those who follow it and have told where they are."""
    lags = {
        metrics.HISTORY_POSITION: metrics.HISTORY_LAG,
        metrics.SPANS_POSITION: metrics.SPANS_LAG,
    }
    for each in counted:
        if (lag := lags.get(each.name)) is not None:
            yield _one(lag, max(tally.position - each.samples[0].value, 0))


def _one(declared: Declared, value: float, *labels: str) -> Metric:
    return _by(declared, {labels: value})


def _by(declared: Declared, values: Series) -> Metric:
    family = CounterMetricFamily if declared.kind == "counter" else GaugeMetricFamily
    metric = family(declared.name, declared.help, labels=list(declared.labels))
    for labels, value in values.items():
        metric.add_metric(list(labels), float(value))
    return metric
