"""Schedules and their occurrences, as they are kept: values and derived ids, no clock, no cron.

An occurrence is one wish to start a run, durable before the start is asked for. That it was
dispatched says only which run was made; how that run ends is told by the run alone.
"""

import hashlib
from datetime import UTC, datetime
from enum import StrEnum

from pointsman.graph.model import JsonScalar, Model


class MissedSlots(StrEnum):
    """What becomes of slots that passed while no server fired schedules."""

    SKIP = "skip"
    LATEST = "latest"
    ALL = "all"


class Overlap(StrEnum):
    """Whether a slot starts a run while an earlier one of the schedule still goes on."""

    ALLOW = "allow"
    SKIP = "skip"


class StartWish(Model):
    """What a start would be asked for; ``workflow`` is an id, or an absolute path of a file."""

    workflow: str
    repository: str
    inputs: dict[str, JsonScalar]


class Schedule(Model):
    """A schedule with where it stands.

    ``revision`` counts what people changed, ``version`` every change of the row. Slots up to
    ``considered_ms`` have been decided; ``next_ms`` is the next one, or ``None`` while paused.
    ``passed_over`` counts slots that the policy for missed ones let go.
    """

    schedule_id: str
    wish: StartWish
    cron: str
    zone: str
    missed: MissedSlots
    overlap: Overlap
    enabled: bool
    created_by: str
    created_at_ms: int
    changed_by: str
    changed_at_ms: int
    revision: int
    version: int
    considered_ms: int
    next_ms: int | None
    passed_over: int


class Trigger(StrEnum):
    """Who asked for an occurrence: the schedule's own time, a person, or a host's scheduler."""

    SLOT = "slot"
    MANUAL = "manual"
    HOST = "host"


class OccurrenceState(StrEnum):
    """Where an occurrence stands. Only ``pending`` ones may still start a run."""

    PENDING = "pending"
    DISPATCHED = "dispatched"
    REFUSED = "refused"
    SKIPPED = "skipped"


class Snapshot(Model):
    """The definition that was chosen for an occurrence.

    ``text`` is kept until the run exists, which keeps the definition from then on.
    """

    source: str
    digest: str
    text: str | None


class Reason(Model):
    """Why an occurrence started nothing: a stable code, and words."""

    code: str
    message: str


class Occurrence(Model):
    """One wish to start a run. Its id is the start's command id, so it starts at most one.

    ``run_id`` and ``settled_at_ms`` are the receipt of its dispatch, and no outcome. A skipped one
    names the earlier occurrence that held it back.
    """

    occurrence_id: str
    schedule_id: str | None
    trigger: Trigger
    slot_ms: int | None
    wish: StartWish
    asked_by: str
    created_at_ms: int
    state: OccurrenceState
    snapshot: Snapshot | None = None
    run_id: str | None = None
    settled_at_ms: int | None = None
    reason: Reason | None = None
    held_back_by: str | None = None


def slot_occurrence_id(schedule_id: str, slot_ms: int) -> str:
    """Name what a schedule starts at a slot, the same for whoever derives it and whenever."""
    assert slot_ms % 60_000 == 0, f"{schedule_id}: {slot_ms} is no whole minute"
    slot = datetime.fromtimestamp(slot_ms / 1000, UTC)
    return f"{schedule_id}@{slot:%Y-%m-%dT%H:%MZ}"


def manual_occurrence_id(schedule_id: str, command_id: str) -> str:
    """Name what a person's command starts of a schedule, however often it is sent."""
    digest = hashlib.sha256(command_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{schedule_id}+{digest[:24]}"
