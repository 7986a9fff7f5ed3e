"""Every metric of Pointsman, declared once, and how each is counted.

What stands in the journal is read there when somebody asks (``runtime.views.measures``): it needs
no counting, and no crash makes it wrong. What only a process knows, because it happens and is
gone, is counted in memory that all processes of a server share (``shared_counts``). Labels are
bounded lists; no id, name or text of a run, a workflow or a repository is ever one.
"""

from collections.abc import Iterable
from itertools import product
from typing import Final, Literal, NamedTuple, get_args

from prometheus_client import Counter, Gauge, Histogram

import pointsman
from pointsman.actors.metric_labels import (
    COMMANDS,
    OTHER,
    PROVIDERS,
    REPORT_CODES,
    ActorPlace,
    Age,
    HostKind,
    IntentOutcome,
    LeaseLoss,
    SqlOutcome,
    WorktreeRole,
)
from pointsman.actors.shared_counts import shared
from pointsman.graph.events import Event
from pointsman.graph.intents import Intent, LaunchExecution
from pointsman.graph.projection import AttentionKind, DeadlineKind
from pointsman.graph.rejections import RejectionCode
from pointsman.graph.run import RunState

Kind = Literal["counter", "gauge", "histogram"]


def _kinds(union: object) -> tuple[str, ...]:
    return tuple(each.model_fields["kind"].default for each in get_args(get_args(union)[0]))


_COMMIT_BUCKETS_S: Final = (1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.1, 0.5, 2.5)
_ANSWER_BUCKETS_S: Final = (5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_LATENESS_BUCKETS_S: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)


class Declared(NamedTuple):
    """One metric: its name, what it tells, and each label with all the values it may have."""

    name: str
    kind: Kind
    help: str
    labels: dict[str, tuple[str, ...]]


DECLARED: Final[dict[str, Declared]] = {}


def _declare(name: str, kind: Kind, told: str, labels: dict[str, Iterable[str]]) -> Declared:
    assert name not in DECLARED, f"{name} is declared twice"
    domains = {label: tuple(map(str, values)) for label, values in labels.items()}
    DECLARED[name] = Declared(name, kind, told, domains)
    return DECLARED[name]


def _gauge_read(name: str, told: str, **labels: Iterable[str]) -> Declared:
    return _declare(name, "gauge", told, labels)


def _counter_read(name: str, told: str, **labels: Iterable[str]) -> Declared:
    return _declare(name, "counter", told, labels)


def _counter(name: str, told: str, **labels: Iterable[str]) -> Counter:
    declared = _declare(name, "counter", told, labels)
    with shared():
        counter = Counter(name, told, tuple(labels), registry=None)
        _begin(counter, declared)
    return counter


def _gauge(
    name: str, told: str, mode: Literal["livesum", "livemax"], **labels: Iterable[str]
) -> Gauge:
    declared = _declare(name, "gauge", told, labels)
    with shared():
        gauge = Gauge(name, told, tuple(labels), registry=None, multiprocess_mode=mode)
        _begin(gauge, declared)
    return gauge


def _histogram(
    name: str, told: str, buckets: tuple[float, ...], **labels: Iterable[str]
) -> Histogram:
    declared = _declare(name, "histogram", told, labels)
    with shared():
        histogram = Histogram(name, told, tuple(labels), registry=None, buckets=buckets)
        _begin(histogram, declared)
    return histogram


def _begin(metric: Counter | Gauge | Histogram, declared: Declared) -> None:
    """Make every series there may be: they are all known, and none is made later."""
    if declared.labels:
        for values in product(*declared.labels.values()):
            metric.labels(*values)


# --- read from the journal, the disk and the supervisor when somebody asks ---

BUILD = _gauge_read(
    "pointsman_build_info", "Always 1; the label tells what runs.", version=[pointsman.__version__]
)
RUNS = _gauge_read("pointsman_runs", "Runs in the journal, by state.", state=RunState)
ATTENTION = _gauge_read(
    "pointsman_attention_items",
    "What waits for a person, by kind and by how long it has waited.",
    kind=AttentionKind,
    age=Age,
)
ATTENTION_OLDEST = _gauge_read(
    "pointsman_attention_oldest_seconds",
    "How long the longest waiting item of a kind has waited; 0 if none waits.",
    kind=AttentionKind,
)
EVENTS = _counter_read(
    "pointsman_events_total",
    "Events committed to the journal since the server started, by kind.",
    event=_kinds(Event),
)
REPORTS_ACCEPTED = _counter_read(
    "pointsman_reports_accepted_total",
    "Reports of agents accepted since the server started, each of them in the journal.",
)
OUTBOX = _gauge_read("pointsman_outbox_depth", "Intents owed to hosts, over all runs.")
DEADLINES = _gauge_read("pointsman_deadlines", "Deadlines that are set and lie ahead.")
DEADLINES_DUE = _gauge_read(
    "pointsman_deadlines_due", "Deadlines that have come and have not fired yet."
)
DEADLINES_LATE = _gauge_read(
    "pointsman_deadlines_late", "Deadlines that came more than ten seconds ago and have not fired."
)
RUN_ACTORS = _gauge_read(
    "pointsman_run_actors",
    "Runs leased to an actor, actors pooled without a run, unended runs passivated without one.",
    place=ActorPlace,
)
SUPERVISOR_UP = _gauge_read(
    "pointsman_supervisor_up", "Whether the shard's supervisor answered this scrape."
)
HISTORY_LAG = _gauge_read(
    "pointsman_history_lag_transitions",
    "Transitions in the journal that the SQL history has not taken; absent until it is asked.",
)
SPANS_LAG = _gauge_read(
    "pointsman_spans_lag_transitions",
    "Transitions in the journal whose spans no collector has yet; absent where none is configured.",
)
JOURNAL_POSITION = _gauge_read(
    "pointsman_journal_transitions", "Transitions in the journal: the last position of its log."
)
JOURNAL_USED = _gauge_read("pointsman_journal_used_bytes", "Bytes of the journal's file in use.")
JOURNAL_MAP = _gauge_read(
    "pointsman_journal_map_bytes", "Bytes of the journal's memory map, which doubles when full."
)
WORKTREES = _gauge_read(
    "pointsman_worktrees", "Worktrees on disk, by whose they are.", role=WorktreeRole
)

# --- counted by the processes ---

_COMMIT = _histogram(
    "pointsman_commit_duration_seconds",
    "How long one transition took to become durable.",
    _COMMIT_BUCKETS_S,
)
_COMMAND = _histogram(
    "pointsman_command_duration_seconds",
    "How long a command of a person or an agent took until it was answered, refused or given up.",
    _ANSWER_BUCKETS_S,
    command=COMMANDS,
)
_REJECTED = _counter(
    "pointsman_commands_rejected_total",
    "Commands and facts that a run refused, stale ones too, by code.",
    code=RejectionCode,
)
_REFUSED = _counter(
    "pointsman_reports_refused_total",
    "Reports of agents that were refused or not judged, by code.",
    code=REPORT_CODES,
)
_REPEATED = _counter(
    "pointsman_reports_repeated_total",
    "Reports that were sent again and answered with their first receipt.",
)
_INTENTS = _counter(
    "pointsman_intents_total",
    "Tries to perform an intent, by its kind and what came of it.",
    kind=_kinds(Intent),
    outcome=IntentOutcome,
)
_LAUNCHES = _counter(
    "pointsman_provider_launches_total",
    "Tries to launch an agent, by provider and what came of it.",
    provider=PROVIDERS,
    outcome=[each for each in IntentOutcome if each is not IntentOutcome.OBSERVED],
)
_LATENESS = _histogram(
    "pointsman_deadline_lateness_seconds",
    "How long after its instant a deadline fired.",
    _LATENESS_BUCKETS_S,
    kind=DeadlineKind,
)
_LEASES = _counter("pointsman_leases_total", "Runs given to an actor under a new fencing token.")
_LEASES_LOST = _counter(
    "pointsman_leases_lost_total",
    "Leases that ended otherwise than by passivation, by reason.",
    reason=LeaseLoss,
)
_PASSIVATIONS = _counter(
    "pointsman_passivations_total", "Runs that were let go of because nothing was in flight."
)
_MAILBOX_FULL = _counter(
    "pointsman_mailbox_full_total", "Commands refused because too many waited for their run."
)
_SQL = _counter(
    "pointsman_sql_queries_total", "Queries of the history, by how they ended.", outcome=SqlOutcome
)
_SQL_SECONDS = _histogram(
    "pointsman_sql_query_duration_seconds",
    "How long a query of the history took, until its rows were there or it failed.",
    _ANSWER_BUCKETS_S,
)
_MAILBOX = _gauge(
    "pointsman_mailbox_depth", "Commands and facts waiting in the mailboxes of runs.", "livesum"
)
_HOSTS = _gauge(
    "pointsman_host_connections", "Hosts that are connected now.", "livesum", host=HostKind
)
HISTORY_POSITION: Final = "pointsman_history_position"
_HISTORY = _gauge(
    HISTORY_POSITION,
    "The last position of the journal's log that the SQL history has taken.",
    "livemax",
)
SPANS_POSITION: Final = "pointsman_spans_position"
_SPANS = _gauge(
    SPANS_POSITION,
    "The last position of the journal's log whose spans a collector has taken.",
    "livemax",
)


def committed(seconds: float) -> None:
    """Count a transition that is durable."""
    _COMMIT.observe(seconds)


def command_ended(command: str, seconds: float) -> None:
    """Count a command that came through the gateway, however it was answered."""
    _COMMAND.labels(_one_of(command, COMMANDS)).observe(seconds)


def command_rejected(code: RejectionCode) -> None:
    """Count a refusal of a run."""
    _REJECTED.labels(code).inc()


def report_refused(code: str) -> None:
    """Count a report that was refused, or that nobody judged."""
    _REFUSED.labels(_one_of(code, REPORT_CODES)).inc()


def report_repeated() -> None:
    """Count a report that was answered before."""
    _REPEATED.inc()


def intent_tried(intent: Intent, outcome: IntentOutcome) -> None:
    """Count a try to perform an intent, and that of a launch by its provider."""
    _INTENTS.labels(intent.kind, outcome).inc()
    if isinstance(intent, LaunchExecution):
        _LAUNCHES.labels(_one_of(intent.agent.provider, PROVIDERS), outcome).inc()


def deadline_fired(kind: DeadlineKind, late_ms: int) -> None:
    """Count a deadline that its run has taken."""
    _LATENESS.labels(kind).observe(max(late_ms, 0) / 1000)


def run_leased() -> None:
    """Count a lease."""
    _LEASES.inc()


def lease_lost(reason: LeaseLoss) -> None:
    """Count a lease that ended before its run was let go of."""
    _LEASES_LOST.labels(reason).inc()


def run_passivated() -> None:
    """Count a run that was let go of."""
    _PASSIVATIONS.inc()


def mailbox_entered() -> None:
    """Count a command that waits from now on."""
    _MAILBOX.inc()


def mailbox_left() -> None:
    """Count a command that waits no longer."""
    _MAILBOX.dec()


def mailbox_was_full() -> None:
    """Count a command that did not even wait."""
    _MAILBOX_FULL.inc()


def host_connected(host: HostKind) -> None:
    """Count a host in; it counts no longer once this process has ended."""
    _HOSTS.labels(host).inc()


def host_disconnected(host: HostKind) -> None:
    """Count a host out."""
    _HOSTS.labels(host).dec()


def sql_ended(outcome: SqlOutcome, seconds: float) -> None:
    """Count a query of the history."""
    _SQL.labels(outcome).inc()
    _SQL_SECONDS.observe(seconds)


def history_taken(position: int) -> None:
    """Tell how far the history has come; the lag is what the journal has beyond it."""
    _HISTORY.set(position)


def spans_sent(position: int) -> None:
    """Tell how far a collector has the spans of runs; the lag is what the journal has beyond it."""
    _SPANS.set(position)


def _one_of(value: str, known: tuple[str, ...]) -> str:
    return value if value in known else OTHER
