"""Run actors, each in a Ray process of its own."""

import asyncio
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from pointsman.actors.branches import BranchPool
from pointsman.actors.clock import SystemClock
from pointsman.actors.crash_points import CrashPoints
from pointsman.actors.failing import WaitsInVainError
from pointsman.actors.messages import Answer, Message
from pointsman.actors.ray_handles.branches import RayBranchWorkers
from pointsman.actors.ray_handles.calls import (
    CALL_TIMEOUT_S,
    options,
)
from pointsman.actors.ray_handles.hosts import RemoteHost
from pointsman.actors.run_actor import NotAssignedError, RunActor
from pointsman.actors.workers import LeaseLostError, WorkerLostError
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import FencedError


@dataclass(frozen=True, slots=True)
class ActorSettings:
    """What an actor's process needs to open its own journal and reach the host.

    The callables are module-level functions: Ray carries them by name, not by content.
    """

    shard: int
    open_journal: Callable[[], Journal]
    reporting_url: str


class _RunWorker(RunActor):
    """A run actor that builds itself inside its Ray process."""

    def __init__(self, settings: ActorSettings) -> None:
        super().__init__(
            journal=settings.open_journal(),
            host=RemoteHost(settings.shard),
            clock=SystemClock(),
            reporting_url=settings.reporting_url,
            mint=lambda: secrets.token_urlsafe(32),
            branches=BranchPool(RayBranchWorkers(settings.shard, settings.reporting_url)),
            crash=CrashPoints.from_environment(),
        )

    async def process_id(self) -> int:
        return os.getpid()


class RayWorkers:
    """Spawns run actors, each in its own Ray process."""

    def __init__(self, settings: ActorSettings) -> None:
        self._settings = settings

    def spawn(self) -> "RayWorker":
        """Begin a new process; calls wait until it is up."""
        actor = ray.remote(_RunWorker).options(**options()).remote(self._settings)
        return RayWorker(actor)


class RayWorker:
    """A ``Worker`` whose process is a Ray actor."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def assign(self, run_id: str, fencing_token: int) -> None:
        await self._call(self._actor.assign.remote(run_id, fencing_token))

    async def tell(self, message: Message) -> Answer:
        answer: Answer = await self._call(self._actor.tell.remote(message))
        return answer

    async def wake(self, run_id: str, subject_id: str | None = None) -> None:
        await self._call(self._actor.wake.remote(run_id, subject_id))

    async def passivate(self) -> bool:
        let_go: bool = await self._call(self._actor.passivate.remote())
        return let_go

    def end(self) -> None:
        ray.kill(self._actor)

    async def _call(self, reference: Any) -> Any:
        try:
            return await asyncio.wait_for(reference, CALL_TIMEOUT_S)
        except RayTaskError as error:
            if isinstance(error.cause, FencedError):
                raise LeaseLostError(str(error.cause)) from error
            if isinstance(error.cause, WaitsInVainError):
                raise WaitsInVainError(str(error.cause)) from error
            if isinstance(error.cause, NotAssignedError):
                raise WorkerLostError(str(error.cause)) from error
            raise
        except (RayActorError, TimeoutError) as error:
            raise WorkerLostError(str(error)) from error
