"""Branch actors, each in a Ray process of its own.

Apart from ``workers``: a process loads the module of its actor, and most of what a run actor needs
would cost each branch actor a good part of a second for nothing.
"""

import asyncio
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from pointsman.actors.branch_actor import BranchActor
from pointsman.actors.crash_points import BRANCH_VARIABLE, CrashPoints
from pointsman.actors.ray_handles.calls import (
    CALL_TIMEOUT_S,
    HOST_CALL_TIMEOUT_S,
    options,
    raised,
)
from pointsman.actors.ray_handles.hosts import RemoteHost
from pointsman.actors.workers import WorkerLostError
from pointsman.graph.commands import Command
from pointsman.graph.intents import Intent
from pointsman.graph.work import WorkAggregate


class _BranchWorker(BranchActor):
    """A branch actor that builds itself inside its Ray process."""

    def __init__(self, shard: int, reporting_url: str) -> None:
        super().__init__(
            host=RemoteHost(shard),
            reporting_url=reporting_url,
            crash=CrashPoints.from_environment(BRANCH_VARIABLE),
        )


class RayBranchWorkers:
    """Spawns branch actors, each in its own Ray process, which ends with the one that asks."""

    def __init__(self, shard: int, reporting_url: str) -> None:
        self._given = (shard, reporting_url)

    def spawn(self) -> "RayBranchWorker":
        """Begin a new process; calls wait until it is up."""
        return RayBranchWorker(ray.remote(_BranchWorker).options(**options()).remote(*self._given))


class RayBranchWorker:
    """A ``BranchWorker`` whose process is a Ray actor."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def perform(self, intent: Intent, token: str | None = None) -> Command | None:
        reference = self._actor.perform.remote(intent, token)
        outcome: Command | None = await self._call(reference, HOST_CALL_TIMEOUT_S)
        return outcome

    async def look(self, attempt_id: str) -> WorkAggregate:
        work: WorkAggregate = await self._call(self._actor.look.remote(attempt_id), CALL_TIMEOUT_S)
        return work

    def end(self) -> None:
        ray.kill(self._actor)

    async def _call(self, reference: Any, timeout_s: float) -> Any:
        try:
            return await asyncio.wait_for(reference, timeout_s)
        except RayTaskError as error:
            raise raised(error) from error
        except (RayActorError, TimeoutError) as error:
            raise WorkerLostError(str(error)) from error
