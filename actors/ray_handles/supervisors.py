"""The supervisor of a shard: a named Ray actor that is begun again when it dies."""

import asyncio
import os
from typing import Any

import ray
from ray.exceptions import RayActorError

from pointsman.actors.clock import SystemClock
from pointsman.actors.crash_points import SUPERVISOR_VARIABLE, CrashPoints
from pointsman.actors.messages import Answer, Message
from pointsman.actors.pool import Pool
from pointsman.actors.ray_handles.calls import (
    CALL_TIMEOUT_S,
    named,
    options,
    supervisor_name,
)
from pointsman.actors.ray_handles.workers import ActorSettings, RayWorkers
from pointsman.actors.supervisor import Supervisor
from pointsman.actors.workers import WorkerLostError


class _SupervisorActor(Supervisor):
    """A supervisor that builds itself inside its Ray process, also after a restart."""

    def __init__(self, settings: ActorSettings) -> None:
        pool = Pool(RayWorkers(settings))
        crash = CrashPoints.from_environment(SUPERVISOR_VARIABLE)
        super().__init__(settings.open_journal(), pool, SystemClock(), crash=crash)
        self._started = asyncio.ensure_future(self.start())

    async def process_id(self) -> int:
        return os.getpid()


class RaySupervisor:
    """The supervisor of a shard, reached by its name from any process of the cluster."""

    def __init__(self, shard: int) -> None:
        self._shard = shard

    async def tell(self, message: Message) -> Answer:
        """Bring a command to its run; raises ``WorkerLostError`` if the supervisor is gone.

        The command may then have been committed or not: send the same one again.
        """
        answer: Answer = await self._call("tell", message)
        return answer

    async def status(self) -> dict[str, int]:
        """Count what is leased."""
        counted: dict[str, int] = await self._call("status")
        return counted

    async def process_id(self) -> int:
        """Return the process the supervisor lives in."""
        found: int = await self._call("process_id")
        return found

    async def _call(self, method: str, *arguments: Any) -> Any:
        try:
            actor = named(supervisor_name(self._shard))
            reference = getattr(actor, method).remote(*arguments)
            return await asyncio.wait_for(reference, CALL_TIMEOUT_S)
        except (RayActorError, ValueError, TimeoutError) as error:
            raise WorkerLostError(str(error)) from error


def spawn_supervisor(settings: ActorSettings) -> RaySupervisor:
    """Begin the supervisor of a shard: detached, named, restarted by Ray when it dies."""
    name = supervisor_name(settings.shard)
    ray.remote(_SupervisorActor).options(**options(name)).remote(settings)
    return RaySupervisor(settings.shard)
