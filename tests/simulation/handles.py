"""How simulated processes reach each other: the Protocols of the actors, over the network.

What can become of a call is turned into the actors' own errors, as ``ray_handles`` does it.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from pointsman.actors.branch_actor import BranchActor
from pointsman.actors.host import HostUnavailableError
from pointsman.actors.messages import Answer, Message
from pointsman.actors.run_actor import NotAssignedError, RunActor
from pointsman.actors.supervisor import Supervisor
from pointsman.actors.workers import LeaseLostError, WorkerLostError
from pointsman.graph.commands import Command
from pointsman.graph.intents import Intent
from pointsman.graph.work import WorkAggregate
from pointsman.storage.journal_errors import FencedError
from tests.simulation.chance import Chance
from tests.simulation.faults import Faults
from tests.simulation.loop import Process, pause
from tests.simulation.network import Network

T = TypeVar("T")

CALL_TIMEOUT_S: Final = 60.0
HOST_CALL_TIMEOUT_S: Final = 600.0
_HOST_CALLS: Final = (
    "lookup", "prepare_workspace", "release_workspace", "freeze_change", "verify_checkout",
    "read_head", "launch", "send", "interrupt", "resume", "answer", "inspect", "start_check",
    "inspect_check", "cancel_check", "providers", "inspect_repository",
)  # fmt: skip


class WorkerHandle:
    """A ``Worker`` in a simulated process; ``ended`` kills it, sooner or later."""

    def __init__(
        self, network: Network, process: Process, actor: RunActor, ended: Callable[[], None]
    ) -> None:
        self._network = network
        self._process = process
        self._actor = actor
        self.end = ended
        self.wakes: Callable[[str], None] = lambda run_id: None

    async def assign(self, run_id: str, fencing_token: int) -> None:
        await self._call(lambda: self._actor.assign(run_id, fencing_token))

    async def tell(self, message: Message) -> Answer:
        return await self._call(lambda: self._actor.tell(message))

    async def wake(self, run_id: str, subject_id: str | None = None) -> None:
        self.wakes(run_id)
        await self._call(lambda: self._actor.wake(run_id, subject_id))

    async def passivate(self) -> bool:
        return await self._call(self._actor.passivate)

    async def _call(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        try:
            return await self._network.call(self._process, work, WorkerLostError, CALL_TIMEOUT_S)
        except FencedError as error:
            raise LeaseLostError(str(error)) from error
        except NotAssignedError as error:
            raise WorkerLostError(str(error)) from error


class BranchHandle:
    """A ``BranchWorker`` in a simulated process."""

    def __init__(
        self, network: Network, process: Process, actor: BranchActor, ended: Callable[[], None]
    ) -> None:
        self._network = network
        self._process = process
        self._actor = actor
        self.end = ended

    async def perform(self, intent: Intent, token: str | None = None) -> Command | None:
        return await self._network.call(
            self._process,
            lambda: self._actor.perform(intent, token),
            WorkerLostError,
            HOST_CALL_TIMEOUT_S,
        )

    async def look(self, attempt_id: str) -> WorkAggregate:
        return await self._network.call(
            self._process, lambda: self._actor.look(attempt_id), WorkerLostError, CALL_TIMEOUT_S
        )


class SupervisorHandle:
    """The supervisor as the gateway reaches it: by name, whichever life it is in."""

    def __init__(
        self, network: Network, find: Callable[[], tuple[Process, Supervisor] | None]
    ) -> None:
        self._network = network
        self._find = find

    async def tell(self, message: Message) -> Answer:
        found = self._find()
        if found is None:
            await pause(0.01)
            raise WorkerLostError("there is no supervisor now")
        process, supervisor = found
        return await self._network.call(
            process, lambda: supervisor.tell(message), WorkerLostError, CALL_TIMEOUT_S
        )

    async def status(self) -> dict[str, int]:
        return {}


class HostHandle:
    """The host as an actor's process reaches it. Answers may be lost after it has acted."""

    def __init__(
        self,
        network: Network,
        find: Callable[[], tuple[Process, Any] | None],
        chance: Chance,
        faults: Faults,
    ) -> None:
        self._network = network
        self._find = find
        self._chance = chance
        self._faults = faults

    async def _call(self, method: str, *arguments: Any) -> Any:
        found = self._find()
        process, host = found if found is not None else (None, None)
        outcome = await self._network.call(
            process,
            lambda: getattr(host, method)(*arguments),
            HostUnavailableError,
            HOST_CALL_TIMEOUT_S,
        )
        if self._chance.happens(self._faults.answer_lost):
            raise HostUnavailableError("the answer was lost")
        return outcome


def _host_call(method: str) -> Any:
    async def call(self: HostHandle, *arguments: Any) -> Any:
        return await self._call(method, *arguments)

    return call


for _method in _HOST_CALLS:
    setattr(HostHandle, _method, _host_call(_method))
