"""The host of this machine in a named Ray actor, and the ``Host`` that reaches it by name."""

import asyncio
import os
from collections.abc import Callable
from typing import Any, Final

import ray
from ray.exceptions import RayActorError, RayTaskError

from pointsman.actors.host import (
    Host,
    HostUnavailableError,
    KeptWorkspace,
    ProviderCapability,
    ReportingAccess,
    RepositoryRefused,
    RepositoryState,
)
from pointsman.actors.ray_handles.calls import (
    HOST_CALL_TIMEOUT_S,
    named,
    options,
    quietly,
    raised,
    supervisor_name,
)
from pointsman.graph import intents
from pointsman.graph.evidence import Checkout, HeadReading
from pointsman.graph.work import CheckState, Found, NotFound, Receipt, Unknown, WorkAggregate

_HOST_NAME: Final = "host"

HostFactory = Callable[[Callable[[str], None]], Host]


class _HostActor:
    """Holds the host of this machine; its wakes go to the supervisor of the run's shard."""

    def __init__(self, factory: HostFactory, shard: int) -> None:
        self._shard = shard
        self._wakes: set[Any] = set()
        self._loop = asyncio.get_event_loop()
        self._host = factory(self._wake)
        self._started = asyncio.ensure_future(self._start())

    async def _start(self) -> None:
        start = getattr(self._host, "start", None)
        if start is not None:
            await start()

    async def call(self, method: str, *arguments: Any) -> Any:
        await self._started
        return await getattr(self._host, method)(*arguments)

    async def process_id(self) -> int:
        return os.getpid()

    def _wake(self, subject_id: str) -> None:
        """Send a wake and forget it: a lost one is made good by the supervisor's sweep."""
        self._loop.call_soon_threadsafe(self._send_wake, subject_id)

    def _send_wake(self, subject_id: str) -> None:
        try:
            supervisor = named(supervisor_name(self._shard))
        except ValueError:
            return
        task = asyncio.ensure_future(quietly(supervisor.wake.remote(subject_id)))
        self._wakes.add(task)
        task.add_done_callback(self._wakes.discard)


def spawn_host(factory: HostFactory, shard: int) -> "RemoteHost":
    """Begin the host of this machine: detached, named, restarted by Ray when it dies."""
    ray.remote(_HostActor).options(**options(_HOST_NAME)).remote(factory, shard)
    return RemoteHost(shard)


class RemoteHost:
    """A ``Host`` in an actor of its own, reached by name so that a restart is no matter."""

    def __init__(self, shard: int) -> None:
        self._shard = shard

    async def _call(self, method: str, *arguments: Any) -> Any:
        try:
            actor = named(_HOST_NAME)
            reference = actor.call.remote(method, *arguments)
            return await asyncio.wait_for(reference, HOST_CALL_TIMEOUT_S)
        except RayTaskError as error:
            raise raised(error) from error
        except (RayActorError, ValueError, TimeoutError) as error:
            raise HostUnavailableError(str(error)) from error

    async def providers(self) -> tuple[ProviderCapability, ...]:
        found: tuple[ProviderCapability, ...] = await self._call("providers")
        return found

    async def inspect_repository(self, path: str) -> RepositoryState | RepositoryRefused:
        found: RepositoryState | RepositoryRefused = await self._call("inspect_repository", path)
        return found

    async def lookup(self, idempotency_key: str) -> Found | NotFound | Unknown:
        found: Found | NotFound | Unknown = await self._call("lookup", idempotency_key)
        return found

    async def prepare_workspace(self, order: intents.PrepareWorkspace) -> Receipt:
        return await self._receipt("prepare_workspace", order)

    async def release_workspace(self, order: intents.ReleaseWorkspace) -> Receipt:
        return await self._receipt("release_workspace", order)

    async def freeze_change(self, order: intents.FreezeChange) -> Receipt:
        return await self._receipt("freeze_change", order)

    async def verify_checkout(self, order: intents.VerifyCheckout) -> Checkout:
        found: Checkout = await self._call("verify_checkout", order)
        return found

    async def read_head(self, order: intents.ReadHead) -> HeadReading:
        found: HeadReading = await self._call("read_head", order)
        return found

    async def workspaces(self) -> tuple[KeptWorkspace, ...]:
        found: tuple[KeptWorkspace, ...] = await self._call("workspaces")
        return found

    async def prune_workspaces(self, keys: tuple[str, ...]) -> tuple[KeptWorkspace, ...]:
        found: tuple[KeptWorkspace, ...] = await self._call("prune_workspaces", keys)
        return found

    async def launch(self, order: intents.LaunchExecution, access: ReportingAccess) -> Receipt:
        return await self._receipt("launch", order, access)

    async def send(self, order: intents.SendReminder, access: ReportingAccess) -> Receipt:
        return await self._receipt("send", order, access)

    async def interrupt(self, order: intents.InterruptExecution) -> Receipt:
        return await self._receipt("interrupt", order)

    async def resume(self, order: intents.ResumeExecution, access: ReportingAccess) -> Receipt:
        return await self._receipt("resume", order, access)

    async def answer(self, order: intents.AnswerRequest) -> Receipt:
        return await self._receipt("answer", order)

    async def inspect(self, attempt_id: str) -> WorkAggregate:
        work: WorkAggregate = await self._call("inspect", attempt_id)
        return work

    async def start_check(self, order: intents.StartCheck) -> Receipt:
        return await self._receipt("start_check", order)

    async def inspect_check(self, check_id: str) -> CheckState:
        state: CheckState = await self._call("inspect_check", check_id)
        return state

    async def cancel_check(self, order: intents.CancelCheck) -> Receipt:
        return await self._receipt("cancel_check", order)

    async def _receipt(self, method: str, *arguments: Any) -> Receipt:
        receipt: Receipt = await self._call(method, *arguments)
        return receipt
