"""One simulated world: a seed's workflows, faults and people, and everything checked.

First faults happen, then they end; from then on every run must come to rest in bounded time.
"""

import contextlib
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from pointsman.actors.host import HostUnavailableError
from pointsman.actors.workers import LeaseLostError, WorkerLostError
from pointsman.graph.allowed import Action, allowed_actions
from pointsman.graph.run import RunState
from pointsman.storage.journal_errors import FencedError, JournalFullError
from pointsman.storage.memory_journal import MemoryJournal
from tests.simulation.agents import Agents
from tests.simulation.chance import Chance
from tests.simulation.chaos import Chaos
from tests.simulation.checkers import joins, outside, rows, slots, ways, work
from tests.simulation.chronicle import Chronicle
from tests.simulation.clock import SimulatedClock
from tests.simulation.cluster import Cluster
from tests.simulation.faults import Faults
from tests.simulation.host_state import Machine
from tests.simulation.loop import SimulatedLoop, StuckError, pause
from tests.simulation.people import People
from tests.simulation.scheduling import Keeper
from tests.simulation.workflows import drawn

_HOUR_S: Final = 3600.0
STEPS_MAX: Final = 2_000_000
_REST_WITHIN_S: Final = 72 * _HOUR_S
_LOOK_EVERY_S: Final = 600.0
_WAKES_MAX: Final = 5_000
# How late a look around may come while something is owed, and while only people are waited for.
_SHORT_LEAP_S: Final = 5.0
# What has been owed, or due, for longer than this can wait a little longer.
_OLD_MS: Final = 600_000
_OLD_LEAP_S: Final = 60.0
_LONG_LEAP_S: Final = 6 * _HOUR_S
# How many worlds have a schedule.
_SCHEDULED: Final = 0.4
# What the outside world may do to a call, and what is logged because of it.
_EXPECTED: Final = (
    FencedError,
    HostUnavailableError,
    JournalFullError,
    LeaseLostError,
    WorkerLostError,
)


@dataclass
class Outcome:
    """What a seed came to. ``violations`` is what it found."""

    seed: str
    violations: list[str]
    run_hours: float
    counts: dict[str, int] = field(default_factory=dict)
    cpu_s: float = field(default=0.0, compare=False)


class World:
    """Everything of one seed."""

    def __init__(
        self, seed: str, steps_max: int = STEPS_MAX, faults: Mapping[str, float] | None = None
    ) -> None:
        self.seed = seed
        self.chance = Chance(seed)
        self.loop = SimulatedLoop(self.chance.child("turns"), steps_max)
        self.faults = Faults.drawn(self.chance.child("faults"))
        for name, value in (faults or {}).items():
            setattr(self.faults, name, value)
        self.chronicle = Chronicle(self.loop.time)
        self.machine = Machine(self.chronicle, self.loop.time)
        self.clock = SimulatedClock(self.loop)
        self.cluster = Cluster(
            self.loop,
            self.chance.child("cluster"),
            self.faults,
            self.chronicle,
            self.machine,
            self.clock,
        )
        self.agents = Agents(self.machine, self.cluster, self.chance.child("agents"))
        think_s = self.chance.spread(2 * _HOUR_S, 300 * _HOUR_S)
        self.people = People(self.cluster, self.chance.child("people"), think_s)
        self.chaos = Chaos(self.cluster, self.chance.child("chaos"))
        self.journal = MemoryJournal(self.cluster.disk)
        self.loop.leap_s = self._leap_s
        self._working_leap_s = self.chance.spread(10, 600)
        self._ended_s: dict[str, float] = {}
        self.chronicle.checkers += [
            work.OneReport(),
            work.QuietSettlement(self.machine),
            ways.OneRoute(),
            ways.Counters(),
            joins.WaitForAll(self.machine),
            joins.FreshApproval(self.machine),
            outside.OnceAndCommitted(),
            outside.NothingAfterCancel(self.machine),
            rows.Fences(self.chronicle),
            rows.Folds(),
            rows.WakeSources(),
            rows.Promises(self.chronicle, self.cluster.receipts),
            slots.Occurrences(self.chronicle),
        ]
        schedules = self.chance.child("schedules")
        self.keeper = Keeper(self.cluster, self.people, self.journal, schedules)
        self.keeper.done = not schedules.happens(_SCHEDULED)

    def run(self) -> Outcome:
        """Let everything happen, and tell what came of it."""
        with _errors_noted(self.chronicle):
            try:
                self.loop.run_until_complete(self.loop.outside.spawn(self._story()))
                self.chronicle.close(self.journal)
            except StuckError as error:
                self.chronicle.violations.append(str(error))
        if not self.chronicle.counts.get("accepted commands"):
            self.chronicle.violations.append("no operation succeeded")
        self.chronicle.counts["steps"] = self.loop.steps
        violations = list(dict.fromkeys(self.chronicle.violations))
        return Outcome(self.seed, violations, self._run_hours(), self.chronicle.counts)

    async def _story(self) -> None:
        self.cluster.begin()
        self.chaos.begin()
        runs = self.chance.count(1, 4)
        for number in range(runs):
            self.loop.outside.spawn(self._begin(number))
        if not self.keeper.done:
            self.loop.outside.spawn(self.keeper.keep())
        until_s = self.chance.spread(50 * _HOUR_S, 3000 * _HOUR_S)
        while self.loop.time() < until_s and not self.chronicle.violations:
            if len(self.people.started) == runs and self._all_ended() and self.keeper.done:
                break
            await pause(_HOUR_S)
        self.chaos.end()
        self.people.tired = True
        await self._come_to_rest()

    async def _begin(self, number: int) -> None:
        chance = self.chance.child(f"run {number}")
        await pause(chance.spread(1, 4 * _HOUR_S))
        await self.people.start(drawn(chance.child("workflow")), number)

    def _all_ended(self) -> bool:
        return all(run.ended for run in self.chronicle.latest.values())

    async def _come_to_rest(self) -> None:
        """Wait until every run is at rest; each must be, within a bound of time and of wakes."""
        before = dict(self.cluster.wakes)
        until_s = self.loop.time() + _REST_WITHIN_S
        while self.loop.time() < until_s:
            await pause(_LOOK_EVERY_S)
            restless = [run_id for run_id in self.chronicle.latest if not self._rests(run_id)]
            pending = self.journal.schedules.pending()
            fires = pending or not self.keeper.done
            if not (restless or fires) or self.chronicle.violations:
                return
            for run_id in restless:
                woken = self.cluster.wakes.get(run_id, 0) - before.get(run_id, 0)
                if woken > _WAKES_MAX:
                    self.chronicle.violations.append(f"{run_id}: {woken} wakes, and no rest")
                    return
        for run_id in restless:
            state = self.chronicle.latest[run_id].state
            self.chronicle.violations.append(f"{run_id}: does not come to rest ({state})")

    def _rests(self, run_id: str) -> bool:
        """Tell whether a run has ended, or waits for a person who may do something about it."""
        run, summary = self.journal.run(run_id), self.journal.summary(run_id)
        assert run is not None, run_id
        assert summary is not None, run_id
        if run.ended:
            self._ended_s.setdefault(run_id, self.loop.time())
            return not self.journal.outbox(run_id) and not summary.open_work
        waits = run.state in (RunState.AWAITING_REVIEW, RunState.UNRESOLVED)
        allowed = allowed_actions(run)
        asked = any(each.action is Action.ANSWER for each in allowed)
        return waits and bool(allowed) and not asked and not self.journal.outbox(run_id)

    def _leap_s(self) -> float:
        """Tell how late the supervisor may look around without any run noticing."""
        leap_s, now_ms = _LONG_LEAP_S, self.clock.now_ms()
        for each in self.chronicle.projected.values():
            old = now_ms - each.summary.updated_at_ms > _OLD_MS
            if each.outbox:
                leap_s = min(leap_s, _OLD_LEAP_S if old else _SHORT_LEAP_S)
            elif each.summary.open_work:
                leap_s = min(leap_s, self._working_leap_s)
            for deadline in each.deadlines:
                left_s = (deadline.due_at_ms - now_ms) / 1000
                leap_s = min(leap_s, max(0.0, left_s) if left_s > -_OLD_LEAP_S else _OLD_LEAP_S)
        return min(leap_s, self._slots_leap_s(now_ms))

    def _slots_leap_s(self, now_ms: int) -> float:
        """Tell how late a scheduler may look without any slot noticing."""
        schedules = self.journal.schedules
        if self.keeper.done and not schedules.pending(1):
            return _LONG_LEAP_S
        if schedules.pending(1):
            return _SHORT_LEAP_S
        found = [each.next_ms for each in schedules.schedules() if each.next_ms is not None]
        left_s = min(((each - now_ms) / 1000 for each in found), default=_LONG_LEAP_S)
        return max(left_s, _SHORT_LEAP_S)

    def _run_hours(self) -> float:
        hours = 0.0
        for run in self.chronicle.latest.values():
            lasted_ms = (run.ended_at_ms or self.clock.now_ms()) - run.started_at_ms
            hours += min(max(0.0, lasted_ms / 1000), self.loop.time()) / _HOUR_S
        return hours


@contextlib.contextmanager
def _errors_noted(chronicle: Chronicle) -> Iterator[None]:
    """Take errors that the code logs for findings, unless the outside world explains them."""

    def note(
        logger: object, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        error = event.get("exc_info")
        if error is True:
            error = _current_error()
        if isinstance(error, BaseException):
            causes = (error, error.__cause__)
            if not any(isinstance(each, _EXPECTED) for each in causes):
                told = f"{event.get('event')}: {error!r}"
                chronicle.violations.append(told)
        raise structlog.DropEvent

    kept = structlog.get_config()
    structlog.configure(processors=[note], wrapper_class=structlog.make_filtering_bound_logger(40))
    try:
        yield
    finally:
        structlog.configure(**kept)


def _current_error() -> BaseException | None:
    return sys.exc_info()[1]
