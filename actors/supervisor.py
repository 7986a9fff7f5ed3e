"""The supervisor of a shard: gives each active run one worker, and wakes what is due.

It holds no per-run state machine. After its own death it reads the journal again: every run
that owes an intent or has open work is leased once more, under a new fencing token.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from pointsman.actors import metrics
from pointsman.actors.clock import Clock
from pointsman.actors.crash_points import CrashPoint, CrashPoints
from pointsman.actors.failing import WaitsInVainError
from pointsman.actors.messages import Answer, Message, Unavailable
from pointsman.actors.metric_labels import LeaseLoss
from pointsman.actors.pool import Pool, PoolExhaustedError
from pointsman.actors.troubles import Troubles
from pointsman.actors.workers import LeaseLostError, Worker, WorkerLostError
from pointsman.graph import ids
from pointsman.graph.commands import FireDeadline
from pointsman.graph.projection import Deadline
from pointsman.graph.replies import Reply
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import JournalCorruptError, JournalFullError

log = structlog.get_logger()

_DELIVERIES_MAX: Final = 4
_TICK_S: Final = 0.5
_SWEEP_EVERY_TICKS: Final = 10
_LOOK_EVERY_TICKS: Final = 60
# Longer than most pauses between two steps: a new lease may cost a process, and one a reviewer.
# Whoever waits for a worker gets an idle run's at once.
_IDLE_BEFORE_PASSIVATION_MS: Final = 15_000
# While somebody waits for a worker.
_RELIEVE_EVERY_S: Final = 0.05
_GROW_AFTER_S: Final = 1.0
_CALLS_AT_ONCE_MAX: Final = 32
_DUE_AT_ONCE_MAX: Final = 100
_DUE_OF_RUN_MAX: Final = 20
_WELL_AFTER_CALLS: Final = 3
# What is wrong with all runs at once is no run's trouble.
_OF_THE_STORE: Final = (JournalFullError,)
# A wake of the sweep that finds no worker is made good by the next one.
_SWEEP_PATIENCE_S: Final = 2.0
_REST_MS: Final = 2_000
_REST_MAX_MS: Final = 300_000


class RunInTroubleError(Exception):
    """No worker can go on with the run: its own state or our code raises. It rests for a while."""


@dataclass(slots=True)
class _Lease:
    """A run's place at a worker. ``lock`` serialises leasing, not the commands.

    After a failure to go on with the run it rests, twice as long each time: each try costs a
    process. ``calls_well`` counts what has come through since it was last taken up.
    """

    worker: Worker | None = None
    rest_ms: int = 0
    rests_until_ms: int = 0
    calls_well: int = 0
    pending: int = 0
    used_at_ms: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def rests(self, now_ms: int) -> bool:
        """Whether the rest is not over; a clock that was set back does not make it longer."""
        return 0 < self.rests_until_ms - now_ms <= self.rest_ms

    @property
    def is_unused(self) -> bool:
        """Whether nothing is lost by forgetting it."""
        return self.worker is None and not self.pending and not self.rest_ms


class Supervisor:
    """Routes commands to the runs of one shard.

    ``tell`` redelivers to a new worker when one dies: a command with an id is then answered
    from its receipt if it was committed, and facts may be told twice. When ``tell`` raises,
    the command may have been committed or not; the caller sends it again.
    """

    def __init__(
        self,
        journal: Journal,
        pool: Pool,
        clock: Clock,
        tick_s: float = _TICK_S,
        grow_after_s: float = _GROW_AFTER_S,
        crash: CrashPoints | None = None,
    ) -> None:
        self._journal = journal
        self._pool = pool
        self._clock = clock
        self._tick_s = tick_s
        self._grow_after_s = grow_after_s
        self._crash = crash or CrashPoints()
        self._leases: dict[str, _Lease] = {}
        self._troubles = Troubles(journal, clock)
        self._loop: asyncio.Task[None] | None = None
        self._relief: asyncio.Task[None] | None = None
        # A run was left without a worker: after a restart there are many more runs than workers.
        self._sweeps_soon = False

    async def start(self) -> None:
        """Lease every run that has something owed, and begin to watch deadlines."""
        if self._loop is not None:
            return
        self._pool.warm()
        self._loop = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Stop watching; the workers end with the supervisor's process."""
        for task in (self._loop, self._relief):
            if task is not None:
                task.cancel()

    async def tell(self, message: Message) -> Answer:
        """Bring a command to its run and return the run's answer."""
        lease = self._leases.setdefault(message.run_id, _Lease())
        lease.pending += 1
        try:
            return await self._deliver(message, lease)
        finally:
            lease.pending -= 1
            lease.used_at_ms = self._clock.now_ms()

    async def wake(self, subject_id: str) -> None:
        """Have the run look at the work of one of its attempts or checks."""
        run_id = ids.run_of(subject_id)
        summary = self._journal.summary(run_id)
        if summary is not None and subject_id in summary.open_work:
            await self._wake_run(run_id, subject_id)

    async def _wake_run(
        self, run_id: str, subject_id: str | None, patience_s: float | None = None
    ) -> None:
        lease = self._leases.setdefault(run_id, _Lease())
        lease.pending += 1
        try:
            worker = await self._leased(run_id, lease, patience_s)
            await worker.wake(run_id, subject_id)
            self._went_well(run_id, lease)
        except PoolExhaustedError:
            log.warning("no_worker", run_id=run_id)
            self._sweeps_soon = True
        except RunInTroubleError:
            pass  # it was logged when it began to rest
        except WaitsInVainError as error:
            log.warning("run_waits_in_vain", run_id=run_id, error=str(error))
            lease.calls_well = 0
            self._troubles.begin(run_id, error)
        except (WorkerLostError, LeaseLostError) as error:
            log.warning("worker_lost", run_id=run_id, error=repr(error))
            await self._forget(lease, _why_lost(error))
        except _OF_THE_STORE:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a run's code raises is its own
            await self._set_aside(run_id, lease, error)
        finally:
            lease.pending -= 1
            lease.used_at_ms = self._clock.now_ms()

    def status(self) -> dict[str, int]:
        """Count what is leased, and what waits to be."""
        held = sum(1 for lease in self._leases.values() if lease.worker is not None)
        lent, idle = self._pool.lent, self._pool.idle
        return {"runs_leased": held, "workers_lent": lent, "workers_idle": idle}

    async def _deliver(self, message: Message, lease: _Lease) -> Answer:
        for _ in range(_DELIVERIES_MAX):
            try:
                worker = await self._leased(message.run_id, lease)
                answer = await worker.tell(message)
                self._went_well(message.run_id, lease)
                return answer
            except PoolExhaustedError:
                return Unavailable(code="no_worker", message="all workers are busy; try again")
            except RunInTroubleError:
                return Unavailable(
                    code="run_in_trouble",
                    message="this run cannot be taken up; see server.log, other runs go on",
                )
            except (WorkerLostError, LeaseLostError) as error:
                log.warning("worker_lost", run_id=message.run_id, error=repr(error))
                await self._forget(lease, _why_lost(error))
            except _OF_THE_STORE:
                raise
            except Exception as error:  # noqa: BLE001 - told again, it raises again
                await self._set_aside(message.run_id, lease, error)
        return Unavailable(
            code="worker_lost", message="the run's process died again and again; try again later"
        )

    async def _leased(self, run_id: str, lease: _Lease, patience_s: float | None = None) -> Worker:
        async with lease.lock:
            if lease.worker is not None:
                return lease.worker
            if lease.rests(self._clock.now_ms()):
                raise RunInTroubleError(run_id)
            worker = await self._lent(patience_s)
            try:
                # Written before the worker may commit: from here on an older one is fenced.
                self._crash.here(CrashPoint.BEFORE_LEASE)
                token = self._journal.lease(run_id)
                metrics.run_leased()
                self._crash.here(CrashPoint.AFTER_LEASE)
            except BaseException:
                self._pool.give_back(worker)
                raise
            try:
                await worker.assign(run_id, token)
                self._crash.here(CrashPoint.AFTER_ASSIGN)
            except WorkerLostError:
                self._pool.discard(worker)
                metrics.lease_lost(LeaseLoss.WORKER_LOST)
                raise
            except Exception as error:
                self._pool.discard(worker)
                metrics.lease_lost(LeaseLoss.RUN_IN_TROUBLE)
                self._rest(run_id, lease, error)
                raise RunInTroubleError(run_id) from error
            lease.worker, lease.calls_well = worker, 0
            log.info("run_leased", run_id=run_id, fencing_token=token)
            return worker

    def _rest(self, run_id: str, lease: _Lease, error: Exception) -> None:
        """Let a run alone for a while, and tell people why."""
        lease.rest_ms = min(max(_REST_MS, 2 * lease.rest_ms), _REST_MAX_MS)
        lease.rests_until_ms = self._clock.now_ms() + lease.rest_ms
        log.error("run_in_trouble", run_id=run_id, rest_ms=lease.rest_ms, exc_info=error)
        self._troubles.begin(run_id, error)

    async def _set_aside(self, run_id: str, lease: _Lease, error: Exception) -> None:
        """Take a run that raises from its worker, whose state is not known any more."""
        await self._forget(lease, LeaseLoss.RUN_IN_TROUBLE)
        self._rest(run_id, lease, error)

    def _went_well(self, run_id: str, lease: _Lease) -> None:
        """Believe that a run is out of trouble once several calls in a row came through.

        The first is no proof: what a worker does with the run on its own raises a moment later.
        """
        lease.calls_well += 1
        if lease.calls_well >= _WELL_AFTER_CALLS and lease.worker is not None:
            lease.rest_ms = 0
            self._troubles.end(run_id)

    async def _lent(self, patience_s: float | None) -> Worker:
        """Borrow a worker; while somebody waits for one, those that can be spared are taken."""
        if self._relief is None or self._relief.done():
            self._relief = asyncio.create_task(self._relieve())
        return await self._pool.take(patience_s)

    async def _relieve(self) -> None:
        """Take workers from runs that have nothing in flight, as long as somebody waits.

        If none comes free for a while, more are begun, one by one.
        """
        loop = asyncio.get_running_loop()
        handed_over, since = self._pool.handed_over, loop.time()
        while self._pool.is_short:
            try:
                await self._passivate_idle(0)
            except Exception:
                # One run's trouble must not keep the others waiting.
                log.exception("supervisor_relief_failed")
            if self._pool.handed_over != handed_over:
                handed_over, since = self._pool.handed_over, loop.time()
            elif loop.time() - since >= self._grow_after_s:
                self._pool.grow()
            await asyncio.sleep(_RELIEVE_EVERY_S)

    async def _forget(self, lease: _Lease, why: LeaseLoss) -> None:
        """Drop a lost worker; the run is leased again when it is next needed or swept."""
        async with lease.lock:
            if lease.worker is not None:
                self._pool.discard(lease.worker)
                lease.worker = None
                metrics.lease_lost(why)

    async def _watch(self) -> None:
        tick = 0
        while True:
            try:
                if tick % _SWEEP_EVERY_TICKS == 0 or self._sweeps_soon:
                    self._sweeps_soon = False
                    await self._sweep(look=tick % _LOOK_EVERY_TICKS == 0)
                await self._fire_due()
                await self._passivate_idle(_IDLE_BEFORE_PASSIVATION_MS)
            except Exception:
                # One run's trouble must not end the watch over all others.
                log.exception("supervisor_tick_failed")
            tick += 1
            await asyncio.sleep(self._tick_s)

    async def _sweep(self, *, look: bool) -> None:
        """Lease every run whose owed intents nobody performs; now and then look at all work.

        Wakes may be lost with the process that carried them; the look makes such a loss a
        matter of seconds, not of faith.
        """
        due = [run for run in self._journal.active_runs() if look or self._is_neglected(run)]
        await self._all([self._wake_run(run_id, None, _SWEEP_PATIENCE_S) for run_id in due])

    def _is_neglected(self, run_id: str) -> bool:
        lease = self._leases.get(run_id)
        if lease is not None and lease.worker is not None:
            return False
        try:
            return bool(self._journal.outbox(run_id))
        except JournalCorruptError:
            return True  # whoever takes it up meets what is wrong, and it alone is set aside

    async def _fire_due(self) -> None:
        # Those of resting runs stay due; they must not hide the others behind a page of their own.
        now_ms = self._clock.now_ms()
        resting = {run for run, lease in self._leases.items() if lease.rests(now_ms)}
        found = self._journal.due(now_ms, _DUE_AT_ONCE_MAX + _DUE_OF_RUN_MAX * len(resting))
        due = [each for each in found if each.run_id not in resting][:_DUE_AT_ONCE_MAX]
        await self._all([self._fire(each) for each in due])

    async def _fire(self, due: Deadline) -> None:
        command = FireDeadline(deadline_id=due.deadline_id)
        answer = await self.tell(Message(due.run_id, command))
        if isinstance(answer, Reply):
            metrics.deadline_fired(due.kind, self._clock.now_ms() - due.due_at_ms)

    async def _all(self, calls: Sequence[Awaitable[object]]) -> None:
        """Make calls for many runs, some at once; one run's trouble must not keep the others.

        Not all at once: a person's command must not have to wait for a worker behind them all.
        """
        turn = asyncio.Semaphore(_CALLS_AT_ONCE_MAX)

        async def in_turn(call: Awaitable[object]) -> object:
            async with turn:
                return await call

        results = await asyncio.gather(*map(in_turn, calls), return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                log.error("run_in_trouble", exc_info=result)

    async def _passivate_idle(self, after_ms: int) -> None:
        now = self._clock.now_ms()
        for run_id, lease in list(self._leases.items()):
            idle_ms = now - lease.used_at_ms
            if lease.pending or 0 <= idle_ms < after_ms:
                continue
            async with lease.lock:
                await self._passivate(run_id, lease)

    async def _passivate(self, run_id: str, lease: _Lease) -> None:
        """Take a run's worker back, unless a command came or something is in flight."""
        if lease.pending:
            return
        if lease.worker is not None:
            try:
                let_go = await lease.worker.passivate()
            except WorkerLostError:
                self._pool.discard(lease.worker)
                metrics.lease_lost(LeaseLoss.WORKER_LOST)
            else:
                if not let_go:
                    return
                self._pool.give_back(lease.worker)
                lease.rest_ms = 0  # it was left with nothing undone
                self._troubles.end(run_id)
                metrics.run_passivated()
                log.info("run_passivated", run_id=run_id)
            lease.worker = None
        # A command that came meanwhile waits for the lock and still holds this very lease;
        # a run in trouble keeps its lease, which remembers how long to rest.
        if lease.is_unused:
            self._leases.pop(run_id, None)


def _why_lost(error: WorkerLostError | LeaseLostError) -> LeaseLoss:
    return LeaseLoss.FENCED if isinstance(error, LeaseLostError) else LeaseLoss.WORKER_LOST
