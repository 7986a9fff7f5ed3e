"""Schedules as people keep them: putting, removing and looking at them. Nothing here starts a run.

Works on the journal alone, so that the command line needs no server for it. Firing is
``runtime.scheduling.scheduler``'s.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from pointsman.actors.clock import Clock
from pointsman.graph.binding import InputProblems, check_inputs
from pointsman.graph.limits import SCHEDULES_MAX
from pointsman.graph.model import Model
from pointsman.graph.problem import meant
from pointsman.graph.schedule import MissedSlots, Overlap, Schedule, StartWish
from pointsman.runtime.definitions import Definition, find_definition
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.scheduling.schedule_views import (
    OccurrenceView,
    PutSchedule,
    RemoveSchedule,
    ScheduleReply,
    ScheduleView,
    occurrence_view,
)
from pointsman.runtime.scheduling.slots import SlotError, Slots, upcoming, zone_of
from pointsman.runtime.views.work_views import timestamp
from pointsman.runtime.wire.paths import absolute
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import JournalFullError, ReceiptConflictError
from pointsman.storage.receipts import CommandReceipt
from pointsman.storage.schedules import ScheduleChange, ScheduleConflictError

UPCOMING_SHOWN: Final = 3
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_DECISIONS_MAX: Final = 5


class Schedules:
    """What people may do with schedules. Every change may be repeated under its command id."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock

    def all(self) -> list[ScheduleView]:
        """Return every schedule, by name."""
        return [self._view(each) for each in self._journal.schedules.schedules(SCHEDULES_MAX)]

    def get(self, name: str) -> ScheduleView:
        """Return one schedule; raises ``schedule_unknown``."""
        return self._view(known_schedule(self._journal, name))

    def occurrences(self, name: str, limit: int = 100) -> list[OccurrenceView]:
        """Return what a schedule has started or not, newest first; also of a removed one."""
        found = self._journal.schedules.occurrences(name, limit)
        if not found:
            known_schedule(self._journal, name)
        return [occurrence_view(self._journal, each) for each in found]

    def occurrence(self, occurrence_id: str) -> OccurrenceView:
        """Return one occurrence; raises ``occurrence_unknown``."""
        found = self._journal.schedules.occurrence(occurrence_id)
        if found is None:
            raise PointsmanError(
                "occurrence_unknown", f"there is no occurrence {occurrence_id[:200]!r}"
            )
        return occurrence_view(self._journal, found)

    def put(self, name: str, request: PutSchedule) -> ScheduleReply:
        """Make a schedule, or replace the revision that was read.

        Raises ``schedule_invalid``, ``schedule_conflict``, ``schedules_full``, and for a new or
        changed wish whatever keeps its workflow from being started with these inputs.
        """
        if not _NAME.fullmatch(name):
            raise PointsmanError(
                "schedule_invalid",
                f"{name[:80]!r} is no name of a schedule: use lower-case letters, digits, '.', '_'"
                " and '-', at most 64",
                {"field": "name"},
            )
        return self._settled(name, request.command_id, request, lambda: self._put(name, request))

    def remove(self, name: str, request: RemoveSchedule) -> ScheduleReply:
        """Remove the revision that was read. Its occurrences and their runs are kept."""

        def decide() -> ScheduleChange:
            found = known_schedule(self._journal, name)
            _demand_revision(name, found, request.expected_revision)
            return ScheduleChange(name, found.version, None)

        return self._settled(name, request.command_id, request, decide)

    def _settled(
        self, name: str, command_id: str, request: Model, decide: Callable[[], ScheduleChange]
    ) -> ScheduleReply:
        """Decide and write until the row is still the one that was decided from."""
        scope = f"schedule:{name}"
        asked = _digest_of(request)
        for _ in range(_DECISIONS_MAX):
            receipt = self._journal.receipt(scope, command_id)
            if receipt is not None:
                return _first_answer(receipt, asked)
            change = decide()
            revision = change.schedule.revision if change.schedule is not None else None
            reply = ScheduleReply(schedule_id=name, revision=revision, duplicate=False)
            answer = CommandReceipt(scope, command_id, asked, "", reply.model_dump_json().encode())
            try:
                self._journal.schedules.change(
                    ScheduleChange(name, change.expected_version, change.schedule, receipt=answer)
                )
            except (ScheduleConflictError, ReceiptConflictError):
                continue
            except JournalFullError as error:
                raise PointsmanError("journal_full", str(error)) from error
            return reply
        raise PointsmanError("busy", f"the schedule {name} is being changed by others; try again")

    def _put(self, name: str, request: PutSchedule) -> ScheduleChange:
        found = self._journal.schedules.schedule(name)
        _demand_revision(name, found, request.expected_revision)
        wish = self._valid_wish(request, found)
        now = self._clock.now_ms()
        slots = valid_slots(request.cron, request.zone)
        begins_anew = (
            found is None
            or not found.enabled
            or (found.cron, found.zone) != (request.cron, request.zone)
        )
        considered = now if found is None or begins_anew else found.considered_ms
        next_ms = slots.next_after(considered)
        if next_ms is None:
            message = f"{request.cron!r} names no day that will ever come"
            raise PointsmanError("schedule_invalid", message, {"field": "cron"})
        if found is None and len(self._journal.schedules.schedules(SCHEDULES_MAX)) == SCHEDULES_MAX:
            raise PointsmanError("schedules_full", f"there are {SCHEDULES_MAX} schedules already")
        schedule = Schedule(
            schedule_id=name,
            wish=wish,
            cron=request.cron,
            zone=request.zone,
            missed=MissedSlots(request.missed),
            overlap=Overlap(request.overlap),
            enabled=request.enabled,
            created_by=found.created_by if found is not None else request.requested_by,
            created_at_ms=found.created_at_ms if found is not None else now,
            changed_by=request.requested_by,
            changed_at_ms=now,
            revision=found.revision + 1 if found is not None else 1,
            version=found.version + 1 if found is not None else 1,
            considered_ms=considered,
            next_ms=next_ms if request.enabled else None,
            passed_over=found.passed_over if found is not None else 0,
        )
        return ScheduleChange(name, schedule.version - 1, schedule)

    def _valid_wish(self, request: PutSchedule, found: Schedule | None) -> StartWish:
        """Return what is to be started; one that stands already is not judged again.

        Else a schedule could not be paused once its workflow is broken.
        """
        repository = absolute(request.repository)
        workflow = named_workflow(request.workflow, repository)
        wish = {"workflow": workflow, "repository": repository, "inputs": request.inputs}
        # As text: to Python 1, 1.0 and True are equal.
        if found is not None and _text_of(found.wish.model_dump()) == _text_of(wish):
            return found.wish
        return valid_wish(workflow, repository, request.inputs)

    def _view(self, schedule: Schedule) -> ScheduleView:
        last = self._journal.schedules.occurrences(schedule.schedule_id, 1)
        return ScheduleView(
            schedule_id=schedule.schedule_id,
            workflow=schedule.wish.workflow,
            repository=schedule.wish.repository,
            inputs=schedule.wish.inputs,
            cron=schedule.cron,
            zone=schedule.zone,
            missed=schedule.missed.value,
            overlap=schedule.overlap.value,
            enabled=schedule.enabled,
            created_by=schedule.created_by,
            created_at=timestamp(schedule.created_at_ms),
            changed_by=schedule.changed_by,
            changed_at=timestamp(schedule.changed_at_ms),
            revision=schedule.revision,
            next=_next_slots(schedule),
            passed_over=schedule.passed_over,
            last=occurrence_view(self._journal, last[0]) if last else None,
        )


def known_schedule(journal: Journal, name: str) -> Schedule:
    """Return a schedule; raises ``schedule_unknown`` with the name that was probably meant."""
    found = journal.schedules.schedule(name)
    if found is None:
        known = [each.schedule_id for each in journal.schedules.schedules(SCHEDULES_MAX)]
        hint = meant(name, known)
        raise PointsmanError("schedule_unknown", f"there is no schedule {name[:80]!r}; {hint}")
    return found


def valid_slots(cron: str, zone: str) -> Slots:
    """Return the slots of an expression; raises ``schedule_invalid``."""
    try:
        zone_of(zone)
    except SlotError as error:
        raise PointsmanError("schedule_invalid", str(error), {"field": "zone"}) from error
    try:
        return Slots(cron, zone)
    except SlotError as error:
        raise PointsmanError("schedule_invalid", str(error), {"field": "cron"}) from error


def named_workflow(workflow: str, repository: str) -> str:
    """Return an id as it is, and a file's path as an absolute one: it is read much later."""
    is_file = workflow.endswith((".yaml", ".yml")) or "/" in workflow
    return absolute(str(Path(repository) / workflow)) if is_file else workflow


def valid_wish(workflow: str, repository: str, inputs: Mapping[str, Any]) -> StartWish:
    """Return a wish that could be started now, as far as files tell."""
    definition = definition_of(workflow, repository)
    checked = check_inputs(definition.workflow, inputs)
    if isinstance(checked, InputProblems):
        fields = [each.model_dump(mode="json") for each in checked.fields]
        told = "; ".join(f"{each['path']} {each['problem']}" for each in fields)
        raise PointsmanError("input_invalid", told, {"fields": fields})
    return StartWish(workflow=workflow, repository=repository, inputs=dict(inputs))


def definition_of(workflow: str, repository: str) -> Definition:
    """Return the definition a wish means now."""
    if not Path(repository).is_dir():
        raise PointsmanError("repository_missing", f"there is no folder {repository[:500]}")
    return find_definition(workflow, Path(repository))


def _demand_revision(name: str, found: Schedule | None, expected: int | None) -> None:
    revision = found.revision if found is not None else None
    if revision != expected:
        is_now = f"has revision {revision}" if revision is not None else "does not exist"
        raise PointsmanError(
            "schedule_conflict",
            f"the schedule {name} {is_now}, and the request names"
            f" {expected if expected is not None else 'none, for a new one'}",
            {"revision": revision, "expected_revision": expected},
        )


def _text_of(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _digest_of(request: Model) -> str:
    """Return a digest of what was asked; inputs may be anything here, valid or not."""
    text = type(request).__name__ + _text_of(request.model_dump(mode="json"))
    return hashlib.sha256(text.encode()).hexdigest()


def _first_answer(receipt: CommandReceipt, asked: str) -> ScheduleReply:
    if receipt.digest != asked:
        raise PointsmanError(
            "command_id_reused", "this command id was used for another command; use a new one"
        )
    reply = ScheduleReply.model_validate_json(receipt.reply)
    return reply.model_copy(update={"duplicate": True})


def _next_slots(schedule: Schedule) -> list[str]:
    """Return the next slots as the clocks of the zone will show them; none while paused."""
    if schedule.next_ms is None:
        return []
    try:
        slots = Slots(schedule.cron, schedule.zone)
    except SlotError:
        return []
    zone = ZoneInfo(schedule.zone)
    found = upcoming(slots, schedule.next_ms - 1, UPCOMING_SHOWN)
    return [
        datetime.fromtimestamp(slot / 1000, zone).isoformat(timespec="minutes") for slot in found
    ]
