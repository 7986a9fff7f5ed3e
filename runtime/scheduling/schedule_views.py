"""What travels about schedules: requests, answers, and what clients are shown of them."""

from typing import Annotated, Any, Literal

from pydantic import StringConstraints

from pointsman.graph import limits
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.schedule import Occurrence
from pointsman.runtime.views.work_views import timestamp
from pointsman.runtime.wire.requests import CommandId, Id, Person
from pointsman.storage.journal import Journal

Cron = Annotated[str, StringConstraints(min_length=1, max_length=limits.CRON_CHARS_MAX)]
Zone = Annotated[str, StringConstraints(min_length=1, max_length=limits.NAME_CHARS_MAX)]


class PutSchedule(Model):
    """A schedule as it shall be. ``expected_revision`` is ``null`` for one that must not exist."""

    command_id: CommandId
    workflow: Id
    repository: Id
    inputs: dict[str, Any] = {}
    cron: Cron
    zone: Zone = "UTC"
    missed: Literal["skip", "latest", "all"] = "latest"
    overlap: Literal["allow", "skip"] = "allow"
    enabled: bool = True
    requested_by: Person
    expected_revision: int | None = None


class RemoveSchedule(Model):
    """Remove the revision that was read."""

    command_id: CommandId
    requested_by: Person
    expected_revision: int


class RunSchedule(Model):
    """Start a schedule's workflow now, as an occurrence of its own."""

    command_id: CommandId
    requested_by: Person


class HostOccurrence(Model):
    """One firing of a host's own scheduler: of a schedule here, or of a workflow that it names.

    ``occurrence_id`` is the host's durable id: told again, it starts nothing again.
    """

    occurrence_id: CommandId
    schedule: Id | None = None
    workflow: Id | None = None
    repository: Id | None = None
    inputs: dict[str, Any] = {}
    requested_by: Person


class ScheduleReply(Model):
    """An accepted change. ``revision`` is the schedule's after it, ``null`` when it is removed."""

    schedule_id: str
    revision: int | None
    duplicate: bool


class ReasonView(Model):
    """Why an occurrence started nothing."""

    code: str
    message: str


class OccurrenceView(Model):
    """One occurrence. ``state`` is that of its dispatch; ``run_state`` is the run's own, now."""

    occurrence_id: str
    schedule_id: str | None
    trigger: str
    slot: str | None
    created_at: str
    state: str
    workflow: str
    repository: str
    definition_source: str | None
    definition_digest: str | None
    run_id: str | None
    settled_at: str | None
    run_state: str | None
    reason: ReasonView | None
    held_back_by: str | None


class OccurrenceReply(Model):
    """An occurrence that was asked for; ``duplicate`` when it had started its run before."""

    occurrence: OccurrenceView
    duplicate: bool


class ScheduleView(Model):
    """A schedule; ``next`` are its next slots in its zone, none while it is paused.

    ``passed_over`` counts slots that were missed and not caught up, by its policy; of a long time
    at once it counts the newest only.
    """

    schedule_id: str
    workflow: str
    repository: str
    inputs: dict[str, JsonScalar]
    cron: str
    zone: str
    missed: str
    overlap: str
    enabled: bool
    created_by: str
    created_at: str
    changed_by: str
    changed_at: str
    revision: int
    next: list[str]
    passed_over: int
    last: OccurrenceView | None


class SchedulesPage(Model):
    """All schedules. ``firing`` tells whether this server starts what comes due.

    ``trouble`` is what keeps it from doing so, if anything does.
    """

    schedules: list[ScheduleView]
    firing: bool
    trouble: str | None


class OccurrencesPage(Model):
    """Occurrences of a schedule, newest first."""

    occurrences: list[OccurrenceView]


def occurrence_view(journal: Journal, occurrence: Occurrence) -> OccurrenceView:
    """Return what clients are shown; the run's state is read from the run itself."""
    run = journal.summary(occurrence.run_id) if occurrence.run_id is not None else None
    snapshot, reason = occurrence.snapshot, occurrence.reason
    settled_ms = occurrence.settled_at_ms
    return OccurrenceView(
        occurrence_id=occurrence.occurrence_id,
        schedule_id=occurrence.schedule_id,
        trigger=occurrence.trigger.value,
        slot=timestamp(occurrence.slot_ms) if occurrence.slot_ms is not None else None,
        created_at=timestamp(occurrence.created_at_ms),
        state=occurrence.state.value,
        workflow=occurrence.wish.workflow,
        repository=occurrence.wish.repository,
        definition_source=snapshot.source if snapshot is not None else None,
        definition_digest=snapshot.digest if snapshot is not None else None,
        run_id=occurrence.run_id,
        settled_at=timestamp(settled_ms) if settled_ms is not None else None,
        run_state=run.state.value if run is not None else None,
        reason=ReasonView(code=reason.code, message=reason.message) if reason is not None else None,
        held_back_by=occurrence.held_back_by,
    )
