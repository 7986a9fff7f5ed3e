"""Mistakes put into the real code one at a time: the checkers must notice each of them.

Every one replaces a function by another that does what a tired author, or a careless change, might
have made of it.
"""

import asyncio
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pointsman.actors import run_actor
from pointsman.actors.intent_runner import NEEDS_TOKEN, IntentRunner
from pointsman.actors.run_actor import RunActor
from pointsman.actors.run_core import RunCore
from pointsman.actors.supervisor import Supervisor
from pointsman.graph import advance, evolve_work, reviewing, settlement
from pointsman.graph import events as ev
from pointsman.graph.decisions import freshness, gates, reports
from pointsman.graph.project import deadlines
from pointsman.graph.results import ReportOutcome, ReportResult
from pointsman.graph.review_events import BranchOutcome, JoinOutcome
from pointsman.graph.review_set import BranchEnding, ReviewSet
from pointsman.graph.run import Run
from pointsman.runtime.gateway.reports import Reports
from pointsman.runtime.scheduling import dispatch
from pointsman.runtime.scheduling.scheduler import Scheduler
from pointsman.storage import keys
from pointsman.storage.journal_errors import FencedError
from pointsman.storage.memory_journal import MemoryJournal
from tests.simulation.faults import Faults

Replacement = Callable[[Any], Any]


class Planted(NamedTuple):
    """One mistake, and where it is put: owner, name, and what is made of what was there.

    ``faults`` are those of a world in which it matters.
    """

    name: str
    places: tuple[tuple[Any, str, Replacement], ...]
    faults: Mapping[str, float] = MappingProxyType({})

    def planted(self) -> AbstractContextManager[None]:
        """Have the mistake in the code for a while."""
        return _replaced(self.places)


@contextmanager
def _replaced(places: tuple[tuple[Any, str, Replacement], ...]) -> Iterator[None]:
    with ExitStack() as undo:
        for owner, name, made in places:
            kept = vars(owner)[name]
            setattr(owner, name, made(kept))
            undo.callback(setattr, owner, name, kept)
        yield


def _always(value: object) -> Replacement:
    return lambda kept: lambda *args, **kwargs: value


def _without_outbox(kept: Any) -> Any:
    def commit(self: Any, transition: Any) -> Any:
        projection = transition.projection.model_copy(update={"outbox": ()})
        return kept(self, dataclasses.replace(transition, projection=projection))

    return commit


def _reply_first(kept: Any) -> Any:
    def transition(self: Any, message: Any) -> Any:
        if message.command_id is None or self.run is None:
            return kept(self, message)
        before, journal = self.run, self._journal
        self._journal = _Pretending(journal)
        try:
            answer = kept(self, message)
        finally:
            self._journal, self.run = journal, before
        asyncio.get_running_loop().call_later(0.5, kept, self, message)
        return answer

    return transition


class _Pretending:
    """Takes a transition for written."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal

    def commit(self, transition: Any) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)


def _unfenced(kept: Any) -> Any:
    def check(self: Any, transition: Any) -> None:
        try:
            kept(self, transition)
        except FencedError:
            newest = self._newest_lease(keys.part(transition.run_id))
            kept(self, dataclasses.replace(transition, fencing_token=newest))

    return check


def _keyed_by_credential(kept: Any) -> Any:
    async def submit(self: Any, token: str, envelope: Any) -> Any:
        return await kept(self, token, {**envelope, "retry_key": token + envelope["retry_key"]})

    return submit


def _without_event(kind: type) -> Replacement:
    def made(kept: Any) -> Any:
        return lambda it, event, *more: {} if isinstance(event, kind) else kept(it, event, *more)

    return made


def _reset_counters(kept: Any) -> Any:
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        kept(self, *args, **kwargs)
        if self.run is not None:
            self.run = self.run.model_copy(update={"route_counts": {}, "visits_used": 0})

    return init


def _deadlines_let_go(kept: Any) -> Any:
    async def passivate(self: Any) -> Any:
        core, let_go = self._core, await kept(self)
        if let_go and core is not None and core.run is not None:
            _lost_of(self._journal).update(each.deadline_id for each in deadlines(core.run))
        return let_go

    return passivate


def _due_of_those_held(kept: Any) -> Any:
    def due(self: Any, now_ms: int, limit: int = 100) -> Any:
        lost = _lost_of(self)
        return tuple(each for each in kept(self, now_ms, limit) if each.deadline_id not in lost)

    return due


def _lost_of(journal: Any) -> set[str]:
    found: set[str] = vars(journal._disk).setdefault("lost", set())  # noqa: SLF001 - a mistake
    return found


def _rekeyed(kept: Any) -> Any:
    numbers = itertools.count(1)

    async def perform(self: Any, intent: Any, token: str | None = None) -> Any:
        if isinstance(intent, NEEDS_TOKEN):
            key = f"{intent.intent_id}.{next(numbers)}"
            return await kept(self, intent.model_copy(update={"intent_id": key}), token)
        return await kept(self, intent, token)

    return perform


def _without_receipt(kept: Any) -> Any:
    def prepared(self: Any, *args: Any) -> Any:
        return dataclasses.replace(kept(self, *args), receipt=None)

    return prepared


def _same_token(kept: Any) -> Any:
    return lambda self, run: self._newest_lease(keys.part(run)) or kept(self, run)


def _wake_of_owed_only(kept: Any) -> Any:
    async def wake(self: Any, run_id: str, subject_id: str | None = None) -> None:
        if subject_id is not None:
            await kept(self, run_id, subject_id)
        elif self._core is not None and self._core.run_id == run_id:
            self._start_owed(self._core)

    return wake


async def _nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing where something should be done."""


def _unbound(kept: Any) -> Any:
    async def with_token(self: Any, core: Any, intent: Any, perform: Any) -> Any:
        outcome = await perform(intent)
        if outcome is not None or not isinstance(intent, NEEDS_TOKEN):
            return outcome
        return await perform(intent, self._mint())

    return with_token


def _open_until_one_ends(kept: Any) -> Any:
    def open_branches(self: Any) -> Any:
        found = kept.fget(self)
        return found if len(found) == len(self.branches) else ()

    return property(open_branches)


def _joined_anyhow(kept: Any) -> Any:
    def joined(branch: Any) -> Any:
        ending = branch.ending or BranchEnding(outcome=BranchOutcome.CANCELED)
        return kept(branch.model_copy(update={"ending": ending}))

    return joined


def _reported_anyhow(kept: Any) -> Any:
    nothing = ReportResult(
        attempt_id="", outcome=ReportOutcome.COMPLETED, summary="", data={}, evidence=()
    )
    return lambda branch: kept(branch) if branch.attempt.report is not None else nothing


def _always_99(kept: Any) -> Any:
    return property(lambda run: 99)


def _unsynced(kept: Any) -> Any:
    numbers = itertools.count(1)

    def commit(self: Any, transition: Any) -> Any:
        tables = self._disk.tables
        before = {tag: dict(rows) for tag, rows in tables.items()}
        position = kept(self, transition)

        def power_cut() -> None:
            if len(tables["log"]) == position:
                for tag, rows in before.items():
                    tables[tag].clear()
                    tables[tag].update(rows)
                self._process.kill()

        if next(numbers) % 20 == 0:
            asyncio.get_running_loop().call_later(0.5, power_cut)
        return position

    return commit


def _started_anew(kept: Any) -> Any:
    numbers = itertools.count(1)

    def request(occurrence: Any) -> Any:
        asked = kept(occurrence)
        return asked.model_copy(update={"command_id": f"{asked.command_id}.{next(numbers)}"})

    return request


def _written_later(kept: Any) -> Any:
    def advance(self: Any, schedule: Any, now: int, made: tuple[Any, ...], passed: int) -> None:
        kept(self, schedule, now, (), passed)
        for each in made:
            asyncio.get_running_loop().call_later(0.5, self._store.add, each)

    return advance


_CALM: Final = dict.fromkeys((each.name for each in dataclasses.fields(Faults)), 0.0)

PLANTED: Final = (
    Planted("no outbox row is written", ((MemoryJournal, "commit", _without_outbox),)),
    Planted("the reply goes out before the commit", ((RunCore, "_transition", _reply_first),)),
    Planted(
        "the fencing check is removed",
        ((MemoryJournal, "_check", _unfenced),),
        {"second_supervisor_every_s": 4000.0, "answer_lost": 0.2},
    ),
    Planted("a fencing token is given twice", ((MemoryJournal, "lease", _same_token),)),
    Planted(
        "receipts of reports are keyed by the credential",
        ((Reports, "submit", _keyed_by_credential),),
        {"agent_killed": 0.5, "cancel": 0.0},
    ),
    Planted(
        "the reminder is not persisted",
        ((evolve_work, "_attempt_fields", _without_event(ev.ReminderIssued)),),
    ),
    Planted("a cancel ends the run before its work", ((advance, "unfinished", _always(())),)),
    Planted(
        "a join commits early",
        (
            (ReviewSet, "open_branches", _open_until_one_ends),
            (reviewing, "_joined", _joined_anyhow),
            (reviewing, "_report", _reported_anyhow),
        ),
    ),
    Planted(
        "a join takes every ending for a completion",
        ((reviewing, "_aggregate", _always((JoinOutcome.ALL_COMPLETED, "all completed"))),),
    ),
    Planted("commits are not synced", ((MemoryJournal, "commit", _unsynced),)),
    Planted("counters are reset on recovery", ((RunCore, "__init__", _reset_counters),)),
    Planted(
        "a deadline is lost on passivation",
        (
            (RunActor, "passivate", _deadlines_let_go),
            (MemoryJournal, "due", _due_of_those_held),
        ),
    ),
    Planted("a launch gets a new key each time", ((IntentRunner, "perform", _rekeyed),)),
    Planted("a late report is counted", ((reports, "_refusal", _always(None)),)),
    Planted("no receipt of a command is written", ((RunCore, "_prepared", _without_receipt),)),
    Planted(
        "work is settled though something of it is left",
        ((settlement, "_owed", _always([])),),
    ),
    Planted(
        "an approval does not look at the head",
        (
            (run_actor, "review_to_compare", _always(None)),
            (gates, "_not_fresh", _always(None)),
        ),
        {**_CALM, "head_moved_every_s": 50_000.0},
    ),
    Planted(
        "a reviewer's checkout is not compared",
        ((freshness, "misfit", _always(None)),),
        _CALM,
    ),
    Planted("nobody sweeps", ((Supervisor, "_sweep", lambda kept: _nothing),)),
    Planted("work is looked at on a wake only", ((RunActor, "wake", _wake_of_owed_only),)),
    Planted("a token is not committed before a launch", ((RunActor, "_with_token", _unbound),)),
    Planted("the bound of visits is not kept", ((Run, "visits_left", _always_99),)),
    Planted(
        "an occurrence is started under a new id each time",
        ((dispatch, "_request", _started_anew),),
        {"answer_lost": 0.3, "crash_at_commit": 0.05},
    ),
    Planted(
        "occurrences are written after their slots were decided",
        ((Scheduler, "_advance", _written_later),),
    ),
)
