"""The review story with actors that die at a named place, and whatever comes after a death.

A dead actor does nothing more: its journal and its host end whatever of its code still runs, and
nobody who waits for it gets an answer. A worker ends with its supervisor, a branch with its worker.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from pointsman.actors.branches import BranchPool
from pointsman.actors.crash_points import CrashPoint, CrashPoints
from pointsman.actors.host import Host
from pointsman.actors.messages import Answer, Message
from pointsman.actors.pool import Pool
from pointsman.actors.run_actor import RunActor
from pointsman.actors.supervisor import Supervisor
from pointsman.actors.workers import WorkerLostError
from pointsman.graph import commands as cmd
from pointsman.storage.journal import Journal
from tests.harness.in_process import (
    REPORTING_URL,
    InProcessBranchWorkers,
    InProcessWorker,
    Killed,
)
from tests.harness.review_story import RUN_ID, ReviewBench

AnswerT = TypeVar("AnswerT")


class Life:
    """One process: until it dies its actor is reached, and reaches others."""

    def __init__(self) -> None:
        self.died = asyncio.Event()

    def demand(self) -> None:
        if self.died.is_set():
            raise Killed

    def given(self, thing: Any) -> Any:
        """Return a thing that ends the code of a dead process which uses it."""
        return _Given(thing, self)

    async def answer(self, call: Coroutine[Any, Any, AnswerT]) -> AnswerT:
        """Wait for an answer, or raise ``WorkerLostError`` at the process's death."""
        asked, death = asyncio.ensure_future(call), asyncio.ensure_future(self.died.wait())
        await asyncio.wait((asked, death), return_when=asyncio.FIRST_COMPLETED)
        death.cancel()
        if self.died.is_set():
            asked.cancel()
            with contextlib.suppress(BaseException):
                await asked
            raise WorkerLostError("killed")
        return await asked


class _Given:
    def __init__(self, thing: Any, life: Life) -> None:
        self._thing, self._life = thing, life

    def __getattr__(self, name: str) -> Any:
        self._life.demand()
        return getattr(self._thing, name)


class OneDeath:
    """Kills the process that comes to a place as the nth of all."""

    def __init__(self, place: CrashPoint, number: int) -> None:
        self._place, self._left = place, number
        self.happened = False

    def of(self, life: Life) -> CrashPoints:
        """Return the crash points of one process."""
        return _Crash(self, life)

    def at(self, place: CrashPoint, life: Life) -> None:
        life.demand()
        self._left -= place is self._place
        if place is self._place and self._left == 0:
            self.happened = True
            life.died.set()
            raise Killed


class _Crash(CrashPoints):
    def __init__(self, death: OneDeath, life: Life) -> None:
        super().__init__()
        self._death, self._life = death, life

    def here(self, place: CrashPoint) -> None:
        self._death.at(place, self._life)


class _Worker(InProcessWorker):
    """A run actor in a process that may die at any place."""

    def __init__(self, actor: RunActor, life: Life) -> None:
        super().__init__(actor)
        self._life = life

    async def assign(self, run_id: str, fencing_token: int) -> None:
        await self._life.answer(super().assign(run_id, fencing_token))

    async def tell(self, message: Message) -> Answer:
        return await self._life.answer(super().tell(message))

    async def wake(self, run_id: str, subject_id: str | None = None) -> None:
        await self._life.answer(super().wake(run_id, subject_id))

    async def passivate(self) -> bool:
        return await self._life.answer(super().passivate())

    def end(self) -> None:
        self._life.died.set()


class MortalBench(ReviewBench):
    """``ReviewBench`` with one death; a dead supervisor is begun again, as Ray does it."""

    def __init__(self, place: CrashPoint, number: int) -> None:
        super().__init__()
        self.death = OneDeath(place, number)
        self._workers_life: list[Life] = []
        self._begin_supervisor()

    def _begin_supervisor(self) -> None:
        for each in self._workers_life:
            each.died.set()
        self._life = Life()
        self.supervisor = Supervisor(
            cast(Journal, self._life.given(self.journal)),
            Pool(self),
            self.clock,
            tick_s=0.01,
            crash=self.death.of(self._life),
        )

    def spawn(self) -> _Worker:
        """Begin a run actor of the supervisor that lives now."""
        life = Life()
        self._workers_life.append(life)
        host = cast(Host, life.given(self.host))
        crash = self.death.of(life)
        mint: Callable[[], str] = iter(f"token-{id(life)}-{n}" for n in range(10_000)).__next__
        actor = RunActor(
            cast(Journal, life.given(self.journal)),
            host,
            self.clock,
            REPORTING_URL,
            mint,
            BranchPool(InProcessBranchWorkers(host, lambda: crash)),
            crash,
        )
        return _Worker(actor, life)

    async def tell(self, command: cmd.Command, command_id: str | None = None) -> Answer:
        """Send a command until it is answered, as clients and agents do."""
        message = Message(RUN_ID, command, command_id)
        while True:
            supervisor = await self.alive()
            try:
                return await self._life.answer(supervisor.tell(message))
            except WorkerLostError:
                continue

    async def alive(self) -> Supervisor:
        """Return the supervisor that lives now."""
        if self._life.died.is_set():
            await self.supervisor.stop()
            self._begin_supervisor()
            await self.supervisor.start()
        return self.supervisor

    async def until(self, holds: Callable[[], object]) -> None:
        """Let agents do their part until a condition holds, whoever dies meanwhile."""

        def holds_and_lives() -> object:
            return not self._life.died.is_set() and holds()

        watch = asyncio.ensure_future(self._revive())
        try:
            await super().until(holds_and_lives)
        finally:
            watch.cancel()

    async def _revive(self) -> None:
        while True:
            await self.alive()
            await asyncio.sleep(0)
