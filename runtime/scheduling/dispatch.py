"""Starting what occurrences ask for: a schedule's own, a person's, a host scheduler's.

An occurrence is durable, with the definition chosen for it, before its start is asked for, and
the start's command id is the occurrence's. So whoever asks again, after a crash or beside another
scheduler, gets the same run. The start is the one of manual runs.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from pydantic import ValidationError

from pointsman.actors.clock import Clock
from pointsman.actors.messages import START_SCOPE
from pointsman.graph.canonical import digest
from pointsman.graph.schedule import (
    Occurrence,
    OccurrenceState,
    Reason,
    Snapshot,
    StartWish,
    Trigger,
    manual_occurrence_id,
)
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.scheduling.schedule_views import (
    HostOccurrence,
    OccurrenceReply,
    RunSchedule,
    occurrence_view,
)
from pointsman.runtime.scheduling.schedules import definition_of, known_schedule, named_workflow
from pointsman.runtime.wire.paths import absolute
from pointsman.runtime.wire.requests import StartReply, StartRequest
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import JournalFullError

log = structlog.get_logger()

Start = Callable[[StartRequest], Awaitable[StartReply]]

# How long a start is tried again that nobody could judge: no host, no worker, a full disk.
GIVE_UP_MS: Final = 15 * 60_000
_NOT_JUDGED: Final = frozenset({500, 503, 507})
# Whoever was asked may still do it: such a start is asked for until somebody answers.
_MAY_BE_TAKEN: Final = "worker_lost"
_REST_LOOKS_MAX: Final = 64
_STARTS_AT_ONCE_MAX: Final = 8
_PENDING_MAX: Final = 1_000
_REASON_CHARS_MAX: Final = 2_000


class Dispatcher:
    """Brings occurrences to their runs. ``start`` is the service that manual starts use."""

    def __init__(self, journal: Journal, start: Start, clock: Clock) -> None:
        self._journal = journal
        self._store = journal.schedules
        self._start = start
        self._clock = clock
        self._rests: dict[str, tuple[int, int]] = {}  # occurrence -> looks left, and of how many
        self._perhaps_taken: set[str] = set()

    async def dispatch_pending(self) -> None:
        """Ask for the start of everything pending; one occurrence's trouble keeps no other."""
        turn = asyncio.Semaphore(_STARTS_AT_ONCE_MAX)

        async def in_turn(occurrence: Occurrence) -> None:
            async with turn:
                await self._dispatch(occurrence)

        found = self._store.pending(_PENDING_MAX)
        still = {each.occurrence_id for each in found}
        self._rests = {name: rest for name, rest in self._rests.items() if name in still}
        self._perhaps_taken &= still
        pending = [each for each in found if not self._rests_on(each)]
        results = await asyncio.gather(*map(in_turn, pending), return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                log.error("occurrence_in_trouble", exc_info=result)

    def with_definition(self, asked: Occurrence) -> Occurrence:
        """Choose the definition as it is now; without a valid one the occurrence is refused."""
        try:
            found = definition_of(asked.wish.workflow, asked.wish.repository)
        except PointsmanError as error:
            return self.settled(asked, OccurrenceState.REFUSED, _reason(error))
        snapshot = Snapshot(
            source=found.source,
            digest=digest(found.workflow.model_dump(mode="json", exclude_none=True)),
            text=found.text,
        )
        return asked.model_copy(update={"snapshot": snapshot})

    async def run_now(self, name: str, request: RunSchedule) -> OccurrenceReply:
        """Start a schedule's workflow now, as a person's own occurrence of it."""
        occurrence_id = manual_occurrence_id(name, request.command_id)
        wish = self._wish_of_schedule(occurrence_id, name)
        return await self._asked(
            self._wished(occurrence_id, name, Trigger.MANUAL, wish, request.requested_by)
        )

    async def take(self, request: HostOccurrence) -> OccurrenceReply:
        """Start what a host's own scheduler fired, once for each of its occurrence ids."""
        if request.schedule is not None:
            if request.workflow is not None or request.repository is not None or request.inputs:
                raise PointsmanError("request_invalid", "name a schedule or a workflow, not both")
            wish = self._wish_of_schedule(request.occurrence_id, request.schedule)
        elif request.workflow is None or request.repository is None:
            raise PointsmanError("request_invalid", "name a schedule, or workflow and repository")
        else:
            repository = absolute(request.repository)
            workflow = named_workflow(request.workflow, repository)
            wish = _wish(workflow, repository, request)
        return await self._asked(
            self._wished(
                request.occurrence_id, request.schedule, Trigger.HOST, wish, request.requested_by
            )
        )

    def _wish_of_schedule(self, occurrence_id: str, schedule_id: str) -> StartWish:
        """Return what an occurrence of a schedule wished for, also if that is gone since."""
        known = self._store.occurrence(occurrence_id)
        if known is not None and known.schedule_id == schedule_id:
            return known.wish
        return known_schedule(self._journal, schedule_id).wish

    def _wished(
        self,
        occurrence_id: str,
        schedule_id: str | None,
        trigger: Trigger,
        wish: StartWish,
        asked_by: str,
    ) -> Occurrence:
        return Occurrence(
            occurrence_id=occurrence_id,
            schedule_id=schedule_id,
            trigger=trigger,
            slot_ms=None,
            wish=wish,
            asked_by=asked_by,
            created_at_ms=self._clock.now_ms(),
            state=OccurrenceState.PENDING,
        )

    async def _asked(self, wished: Occurrence) -> OccurrenceReply:
        """Make an occurrence durable once and answer with its run; a refused one is judged anew."""
        known = self._store.occurrence(wished.occurrence_id)
        if known is not None and _wish_of(known) != _wish_of(wished):
            raise PointsmanError(
                "command_id_reused",
                f"the occurrence {wished.occurrence_id} was another wish; use a new id",
            )
        duplicate = known is not None and known.state is OccurrenceState.DISPATCHED
        if known is None or known.state is OccurrenceState.REFUSED:
            made = await asyncio.to_thread(self.with_definition, wished)
            try:
                if known is None:
                    self._store.add(made)
                else:
                    self._store.replace(known, made)
            except JournalFullError as error:
                raise PointsmanError("journal_full", str(error)) from error
        now = self._store.occurrence(wished.occurrence_id)
        assert now is not None, f"{wished.occurrence_id} was written and is gone"
        settled = await self._dispatch(now)
        if settled.reason is not None:
            details = {"occurrence_id": settled.occurrence_id}
            raise PointsmanError(settled.reason.code, settled.reason.message, details)
        view = occurrence_view(self._journal, settled)
        return OccurrenceReply(occurrence=view, duplicate=duplicate)

    async def _dispatch(self, occurrence: Occurrence) -> Occurrence:
        """Ask for the start of a pending occurrence, keep its receipt, return where it stands."""
        if occurrence.state is not OccurrenceState.PENDING:
            return occurrence
        try:
            run_id = (await self._start(_request(occurrence))).run_id
        except PointsmanError as error:
            return self._failed(occurrence, error)
        except ValidationError as error:
            told = PointsmanError("request_invalid", str(error))
            return self._failed(occurrence, told)
        except Exception as error:
            log.exception("occurrence_start_failed", occurrence=occurrence.occurrence_id)
            told = PointsmanError("internal_error", f"{type(error).__name__}; see server.log")
            return self._failed(occurrence, told)
        return self._dispatched(occurrence, run_id)

    def _failed(self, occurrence: Occurrence, error: PointsmanError) -> Occurrence:
        # The start may have been committed though its answer was lost.
        receipt = self._journal.receipt(START_SCOPE, occurrence.occurrence_id)
        if receipt is not None and error.code != "command_id_reused":
            return self._dispatched(occurrence, receipt.run_id)
        name = occurrence.occurrence_id
        if error.code == _MAY_BE_TAKEN:
            self._perhaps_taken.add(name)
        age_ms = self._clock.now_ms() - occurrence.created_at_ms
        goes_on = age_ms < GIVE_UP_MS or name in self._perhaps_taken
        if error.kind.status in _NOT_JUDGED and goes_on:
            _, looks = self._rests.get(name, (0, 0))
            longer = min(max(1, 2 * looks), _REST_LOOKS_MAX)
            self._rests[name] = (longer, longer)
            log.warning("occurrence_waits", occurrence=occurrence.occurrence_id, code=error.code)
            return occurrence
        return self._keep(
            occurrence, self.settled(occurrence, OccurrenceState.REFUSED, _reason(error))
        )

    def _dispatched(self, occurrence: Occurrence, run_id: str) -> Occurrence:
        done = self.settled(occurrence, OccurrenceState.DISPATCHED, None)
        return self._keep(occurrence, done.model_copy(update={"run_id": run_id}))

    def _keep(self, occurrence: Occurrence, settled: Occurrence) -> Occurrence:
        """Write the receipt of a dispatch, unless somebody else has; return what stands."""
        try:
            written = self._store.replace(occurrence, settled)
        except JournalFullError as error:
            # It stays pending; the next tick gets the same run and writes this again.
            log.error("receipt_not_written", occurrence=occurrence.occurrence_id, error=str(error))
            return settled
        if written:
            log.info(
                "occurrence_settled",
                occurrence=occurrence.occurrence_id,
                state=settled.state.value,
                run_id=settled.run_id,
                code=settled.reason.code if settled.reason is not None else None,
            )
            return settled
        return self._store.occurrence(occurrence.occurrence_id) or settled

    def settled(
        self, occurrence: Occurrence, state: OccurrenceState, reason: Reason | None
    ) -> Occurrence:
        snapshot = occurrence.snapshot
        if snapshot is not None:
            snapshot = snapshot.model_copy(update={"text": None})
        return occurrence.model_copy(
            update={
                "state": state,
                "reason": reason,
                "snapshot": snapshot,
                "settled_at_ms": self._clock.now_ms(),
            }
        )

    def _rests_on(self, occurrence: Occurrence) -> bool:
        """Count down the rest of an occurrence whose start could not be judged."""
        left, looks = self._rests.get(occurrence.occurrence_id, (0, 0))
        if left > 0:
            self._rests[occurrence.occurrence_id] = (left - 1, looks)
        return left > 0


def _wish_of(occurrence: Occurrence) -> tuple[object, ...]:
    # As text: to Python 1, 1.0 and True are equal.
    inputs = json.dumps(occurrence.wish.inputs, sort_keys=True)
    wish = occurrence.wish
    return occurrence.trigger, occurrence.schedule_id, wish.workflow, wish.repository, inputs


def _wish(workflow: str, repository: str, request: HostOccurrence) -> StartWish:
    try:
        return StartWish(workflow=workflow, repository=repository, inputs=request.inputs)
    except ValidationError as error:
        raise PointsmanError("input_invalid", "inputs are texts, numbers and booleans") from error


def _reason(error: PointsmanError) -> Reason:
    return Reason(code=error.code, message=error.message[:_REASON_CHARS_MAX])


def _request(occurrence: Occurrence) -> StartRequest:
    snapshot = occurrence.snapshot
    assert snapshot is not None, f"{occurrence.occurrence_id} is pending without a definition"
    assert snapshot.text is not None, f"{occurrence.occurrence_id} is pending without its text"
    return StartRequest(
        command_id=occurrence.occurrence_id,
        definition=snapshot.text,
        source=snapshot.source,
        repository=occurrence.wish.repository,
        inputs=dict(occurrence.wish.inputs),
        started_by=occurrence.asked_by,
    )
