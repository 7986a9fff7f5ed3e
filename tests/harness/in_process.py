"""A supervisor and its workers in one event loop: the real actors without Ray's processes."""

import asyncio
import itertools
from collections.abc import Callable

from pointsman.actors.branch_actor import BranchActor
from pointsman.actors.branches import BranchPool
from pointsman.actors.clock import Clock, SystemClock
from pointsman.actors.crash_points import CrashPoints
from pointsman.actors.host import Host
from pointsman.actors.messages import Answer, Message
from pointsman.actors.pool import Pool
from pointsman.actors.run_actor import NotAssignedError, RunActor
from pointsman.actors.supervisor import Supervisor
from pointsman.actors.workers import LeaseLostError, WorkerLostError
from pointsman.graph.commands import Command
from pointsman.graph.intents import Intent
from pointsman.graph.work import WorkAggregate
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import FencedError

REPORTING_URL = "http://127.0.0.1:1/mcp"


class InProcessWorker:
    """A worker whose process can be killed: what it had begun is then never answered."""

    def __init__(self, actor: RunActor) -> None:
        self._actor = actor
        self._dead = False

    def kill(self) -> None:
        """Die as a process does, between two steps."""
        self._dead = True

    @property
    def ended(self) -> bool:
        """Whether there is no such process any more."""
        return self._dead

    async def assign(self, run_id: str, fencing_token: int) -> None:
        self._demand_alive()
        await self._actor.assign(run_id, fencing_token)

    async def tell(self, message: Message) -> Answer:
        self._demand_alive()
        try:
            answer = await self._actor.tell(message)
        except FencedError as error:
            raise LeaseLostError(str(error)) from error
        except NotAssignedError as error:
            raise WorkerLostError(str(error)) from error
        self._demand_alive()
        return answer

    async def wake(self, run_id: str, subject_id: str | None = None) -> None:
        self._demand_alive()
        try:
            await self._actor.wake(run_id, subject_id)
        except FencedError as error:
            raise LeaseLostError(str(error)) from error

    async def passivate(self) -> bool:
        self._demand_alive()
        return await self._actor.passivate()

    def end(self) -> None:
        self._dead = True

    def _demand_alive(self) -> None:
        if self._dead:
            raise WorkerLostError("killed")


class InProcessBranchWorker:
    """A branch worker whose process can be killed: whatever it was doing is never answered."""

    def __init__(self, actor: BranchActor) -> None:
        self._actor = actor
        self._dead = False

    def kill(self) -> None:
        """Die as a process does, between two steps."""
        self._dead = True

    @property
    def ended(self) -> bool:
        """Whether there is no such process any more."""
        return self._dead

    async def perform(self, intent: Intent, token: str | None = None) -> Command | None:
        self._demand_alive()
        try:
            outcome = await self._actor.perform(intent, token)
        except Killed:
            self._dead = True
        self._demand_alive()
        return outcome

    async def look(self, attempt_id: str) -> WorkAggregate:
        self._demand_alive()
        work = await self._actor.look(attempt_id)
        self._demand_alive()
        return work

    def end(self) -> None:
        self._dead = True

    def _demand_alive(self) -> None:
        if self._dead:
            raise WorkerLostError("killed")


class Killed(BaseException):
    """What a crash point of a test raises where a real one ends the process."""


class InProcessBranchWorkers:
    """Spawns branch actors over one host; ``crash`` gives each its own crash points."""

    def __init__(self, host: Host, crash: Callable[[], CrashPoints] = CrashPoints) -> None:
        self._host = host
        self._crash = crash
        self.spawned: list[InProcessBranchWorker] = []

    def spawn(self) -> InProcessBranchWorker:
        worker = InProcessBranchWorker(BranchActor(self._host, REPORTING_URL, self._crash()))
        self.spawned.append(worker)
        return worker


class InProcessWorkers:
    """Spawns run actors over one journal and host. Tokens are ``token-1`` and so on."""

    def __init__(
        self,
        journal: Journal,
        host: Host,
        clock: Clock,
        mint: Callable[[], str] | None = None,
        crash: CrashPoints | None = None,
        branch_crash: Callable[[], CrashPoints] = CrashPoints,
    ) -> None:
        self._journal = journal
        self._host = host
        self._clock = clock
        self._crash = crash
        numbers = itertools.count(1)
        self._mint = mint or (lambda: f"token-{next(numbers)}")
        self.branch_workers = InProcessBranchWorkers(host, branch_crash)
        self.spawned: list[InProcessWorker] = []

    def spawn(self) -> InProcessWorker:
        actor = RunActor(
            self._journal,
            self._host,
            self._clock,
            REPORTING_URL,
            self._mint,
            BranchPool(self.branch_workers),
            self._crash,
        )
        worker = InProcessWorker(actor)
        self.spawned.append(worker)
        return worker


class InProcessSupervisor:
    """The real supervisor, reached by calls instead of messages."""

    def __init__(
        self,
        journal: Journal,
        host: Host,
        clock: Clock | None = None,
        mint: Callable[[], str] | None = None,
    ) -> None:
        clock = clock or SystemClock()
        self.workers = InProcessWorkers(journal, host, clock, mint)
        self._supervisor = Supervisor(journal, Pool(self.workers), clock)
        self._wakes: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        await self._supervisor.start()

    async def stop(self) -> None:
        await self._supervisor.stop()

    async def tell(self, message: Message) -> Answer:
        return await self._supervisor.tell(message)

    async def status(self) -> dict[str, int]:
        return self._supervisor.status()

    def wake_soon(self, subject_id: str) -> None:
        """Wake a run; call it in the event loop's own thread."""
        task = asyncio.ensure_future(self._supervisor.wake(subject_id))
        self._wakes.add(task)
        task.add_done_callback(self._wakes.discard)
