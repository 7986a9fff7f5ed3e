"""Every Ray API call of the project: starting Ray, and giving actors their processes.

The state logic (``Supervisor``, ``RunActor``, a host) is plain asyncio and sees only the
Protocols that the handles here implement. What Ray can do to a call is turned into our own
errors: a dead or dying process is ``WorkerLostError`` or ``HostUnavailableError``.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import ray
from ray._private import ray_constants
from ray.exceptions import RayActorError, RayError, RayTaskError

from pointsman.actors.clock import SystemClock
from pointsman.actors.crash_points import CrashPoints
from pointsman.actors.host import (
    Host,
    HostUnavailableError,
    ProviderCapability,
    ReportingAccess,
    RepositoryRefused,
    RepositoryState,
)
from pointsman.actors.messages import Answer, Message
from pointsman.actors.pool import Pool
from pointsman.actors.run_actor import NotAssignedError, RunActor
from pointsman.actors.supervisor import Supervisor
from pointsman.actors.workers import LeaseLostError, WorkerLostError
from pointsman.graph import intents
from pointsman.graph.work import CheckState, Found, NotFound, Receipt, Unknown, WorkAggregate
from pointsman.storage.journal import FencedError, Journal

_NAMESPACE: Final = "pointsman"
_HOST_NAME: Final = "host"
_CALL_TIMEOUT_S: Final = 60.0
# Preparing a workspace runs authored set-up commands, each with its own timeout.
_HOST_CALL_TIMEOUT_S: Final = 6 * 60 * 60.0
_OBJECT_STORE_BYTES: Final = 80 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ActorSettings:
    """What an actor's process needs to open its own journal and reach the host.

    The callables are module-level functions: Ray carries them by name, not by content.
    """

    shard: int
    open_journal: Callable[[], Journal]
    reporting_url: str


HostFactory = Callable[[Callable[[str], None]], Host]


def start_ray(folder: Path) -> None:
    """Start a Ray of our own, joined to nothing else on the machine.

    The folder's path must be short: Unix socket paths are limited to 107 bytes.
    """
    # Ray opens its folder to all users, so it gets one inside ours, which stays its owner's alone.
    folder.chmod(0o700)
    inner = folder / "r"
    inner.mkdir()
    # Ray turns a loopback address that it is given into the machine's own, and then listens on
    # every interface, unless it is told that this node will have no peers.
    ray_constants.ENABLE_RAY_CLUSTER = False
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Other users of the machine must not reach the cluster's loopback ports. A token of our own
    # keeps Ray from leaving one in the home folder.
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    # Ray lowers its workers' priority by default; agents and checks would inherit that.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - Ray's name
    # Agents must outlive the process that launched them; see ``runtime.hosts.runner``.
    os.environ["RAY_kill_child_processes_on_worker_exit"] = "false"  # noqa: SIM112 - Ray's name
    logging.getLogger("ray").setLevel(logging.ERROR)
    # Ray installs a handler that prints stack traces; the program's own way to end stays.
    on_terminate = signal.getsignal(signal.SIGTERM)
    with _elsewhere(folder):
        ray.init(
            address="local",
            namespace=_NAMESPACE,
            include_dashboard=False,
            num_cpus=1,
            object_store_memory=_OBJECT_STORE_BYTES,
            configure_logging=False,
            log_to_driver=False,
            _temp_dir=str(inner),
        )
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_terminate)


@contextlib.contextmanager
def _elsewhere(folder: Path) -> Iterator[None]:
    """Work in another folder for a moment.

    Ray puts the driver's folder first on its workers' paths. That is the user's repository, and
    a ``yaml.py`` of theirs must not be taken for the library of that name.
    """
    # By descriptor: the folder may have been removed below us.
    here = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chdir(folder)
        yield
    finally:
        os.fchdir(here)
        os.close(here)


def stop_ray(folder: Path) -> None:
    """End Ray and every process it started, and remove its folder."""
    ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


class _RunWorker(RunActor):
    """A run actor that builds itself inside its Ray process."""

    def __init__(self, settings: ActorSettings) -> None:
        super().__init__(
            journal=settings.open_journal(),
            host=RemoteHost(settings.shard),
            clock=SystemClock(),
            reporting_url=settings.reporting_url,
            mint=lambda: secrets.token_urlsafe(32),
            crash=CrashPoints.from_environment(),
        )

    async def process_id(self) -> int:
        return os.getpid()


class _SupervisorActor(Supervisor):
    """A supervisor that builds itself inside its Ray process, also after a restart."""

    def __init__(self, settings: ActorSettings) -> None:
        pool = Pool(RayWorkers(settings))
        super().__init__(settings.open_journal(), pool, SystemClock())
        self._started = asyncio.ensure_future(self.start())

    async def process_id(self) -> int:
        return os.getpid()


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
            supervisor = _named(_supervisor_name(self._shard))
        except ValueError:
            return
        task = asyncio.ensure_future(_quietly(supervisor.wake.remote(subject_id)))
        self._wakes.add(task)
        task.add_done_callback(self._wakes.discard)


async def _quietly(reference: Any) -> None:
    try:
        await reference
    except RayError:
        return


def _named(name: str) -> Any:
    """Find a detached actor; raises ``ValueError`` while there is none of that name."""
    return ray.get_actor(name, _NAMESPACE)


def _supervisor_name(shard: int) -> str:
    return f"supervisor-{shard}"


def _options(name: str | None = None) -> dict[str, Any]:
    detached = {"name": name, "lifetime": "detached", "max_restarts": -1} if name else {}
    return {"num_cpus": 0, "max_task_retries": 0, **detached}


class RayWorkers:
    """Spawns run actors, each in its own Ray process."""

    def __init__(self, settings: ActorSettings) -> None:
        self._settings = settings

    def spawn(self) -> "RayWorker":
        """Begin a new process; calls wait until it is up."""
        actor = ray.remote(_RunWorker).options(**_options()).remote(self._settings)
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
            return await asyncio.wait_for(reference, _CALL_TIMEOUT_S)
        except RayTaskError as error:
            if isinstance(error.cause, FencedError):
                raise LeaseLostError(str(error.cause)) from error
            if isinstance(error.cause, NotAssignedError):
                raise WorkerLostError(str(error.cause)) from error
            raise
        except (RayActorError, TimeoutError) as error:
            raise WorkerLostError(str(error)) from error


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
            actor = _named(_supervisor_name(self._shard))
            reference = getattr(actor, method).remote(*arguments)
            return await asyncio.wait_for(reference, _CALL_TIMEOUT_S)
        except (RayActorError, ValueError, TimeoutError) as error:
            raise WorkerLostError(str(error)) from error


def spawn_supervisor(settings: ActorSettings) -> RaySupervisor:
    """Begin the supervisor of a shard: detached, named, restarted by Ray when it dies."""
    name = _supervisor_name(settings.shard)
    ray.remote(_SupervisorActor).options(**_options(name)).remote(settings)
    return RaySupervisor(settings.shard)


def spawn_host(factory: HostFactory, shard: int) -> "RemoteHost":
    """Begin the host of this machine: detached, named, restarted by Ray when it dies."""
    ray.remote(_HostActor).options(**_options(_HOST_NAME)).remote(factory, shard)
    return RemoteHost(shard)


class RemoteHost:
    """A ``Host`` in an actor of its own, reached by name so that a restart is no matter."""

    def __init__(self, shard: int) -> None:
        self._shard = shard

    async def _call(self, method: str, *arguments: Any) -> Any:
        try:
            actor = _named(_HOST_NAME)
            reference = actor.call.remote(method, *arguments)
            return await asyncio.wait_for(reference, _HOST_CALL_TIMEOUT_S)
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
