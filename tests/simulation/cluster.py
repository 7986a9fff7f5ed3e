"""The processes of one machine: how they are begun, die, and are begun again.

The supervisor, the host and the gateway come back by themselves, as detached actors do. A worker
ends with the supervisor that began it, a branch worker with its worker, but never at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, cast

from pointsman.actors.branch_actor import BranchActor
from pointsman.actors.branches import BranchPool
from pointsman.actors.host import Host
from pointsman.actors.messages import Answer, Message
from pointsman.actors.pool import Pool
from pointsman.actors.run_actor import RunActor
from pointsman.actors.supervisor import Supervisor
from pointsman.actors.workers import WorkerLostError
from pointsman.graph.replies import Reply
from pointsman.runtime.gateway.reports import Reports
from pointsman.runtime.gateway.telling import tell
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.wire.requests import ReportAnswer, ReportReceipt
from tests.simulation.chance import Chance
from tests.simulation.chronicle import Chronicle
from tests.simulation.clock import SimulatedClock
from tests.simulation.disk import SimulatedCrashes, SimulatedDisk, SimulatedJournal, Writes
from tests.simulation.faults import Faults
from tests.simulation.handles import BranchHandle, HostHandle, SupervisorHandle, WorkerHandle
from tests.simulation.host import SimulatedHost
from tests.simulation.host_state import Machine
from tests.simulation.loop import Process, SimulatedLoop
from tests.simulation.network import Network

TICK_S: Final = 0.5
_URL: Final = "http://127.0.0.1:1/mcp"
_CLIENT_PATIENCE_S: Final = 120.0


@dataclass
class Cluster:
    """Everything that runs, and what of it is alive. ``kill`` ends a process of any kind."""

    loop: SimulatedLoop
    chance: Chance
    faults: Faults
    chronicle: Chronicle
    machine: Machine
    clock: SimulatedClock
    disk: SimulatedDisk = field(default_factory=SimulatedDisk)
    supervisors: list[tuple[Process, Supervisor]] = field(default_factory=list)
    host: tuple[Process, SimulatedHost] | None = None
    gateway: tuple[Process, SupervisorHandle, Reports] | None = None
    processes: list[Process] = field(default_factory=list)
    receipts: list[ReportReceipt] = field(default_factory=list)
    wakes: dict[str, int] = field(default_factory=dict)
    _tokens: int = 0

    def __post_init__(self) -> None:
        self.network = Network(self.loop, self.chance.child("network"), self.faults)
        self.machine.wake = self._wake

    def begin(self) -> None:
        """Begin everything that is always there."""
        self.begin_host()
        self.begin_supervisor()
        self.begin_gateway()

    # --- processes ---

    def process(self, name: str) -> Process:
        """Make a process of which the cluster keeps count."""
        made = Process(self.loop, name)
        self.processes = [each for each in self.processes if each.alive]
        self.processes.append(made)
        self.chronicle.count("processes")
        return made

    def begin_host(self) -> None:
        process = self.process("host")
        made = SimulatedHost(self.machine, process, self.chance, self.faults)
        self.host = (process, made)
        process.on_death.append(lambda: self.later(5, self.begin_host))

    def begin_gateway(self) -> None:
        process = self.process("gateway")
        supervisor = self.supervisor_handle()
        self.gateway = (process, supervisor, Reports(self.journal(process), supervisor))
        process.on_death.append(lambda: self.later(5, self.begin_gateway))

    def begin_supervisor(self) -> None:
        process = self.process("supervisor")
        process.tick_s = TICK_S
        pool = Pool(_Workers(self, process), patience_s=5)
        supervisor = Supervisor(
            self.journal(process), pool, self.clock, tick_s=TICK_S, crash=self.crashes(process)
        )
        self.supervisors.append((process, supervisor))
        process.on_death.append(lambda: self._supervisor_died(process))
        process.spawn(supervisor.start())

    def _supervisor_died(self, process: Process) -> None:
        self.supervisors = [each for each in self.supervisors if each[0] is not process]
        if not self.supervisors:
            self.later(5, self._begin_first_supervisor)

    def _begin_first_supervisor(self) -> None:
        if not self.supervisors:
            self.begin_supervisor()

    def _a_supervisor(self) -> tuple[Process, Supervisor] | None:
        return self.chance.pick(self.supervisors) if self.supervisors else None

    def kill(self, process: Process) -> None:
        if process.alive:
            self.chronicle.count(f"kills of a {process.name}")
            process.kill()

    def kill_later(self, process: Process, within_s: float) -> None:
        """End a process that nobody wants any more, sooner or later."""
        self.later(within_s, process.kill)

    def later(self, within_s: float, act: Callable[[], None]) -> None:
        """Do something sooner or later."""
        after_s = self.chance.spread(0.01, within_s)
        self.loop.call_later(after_s, act, context=self.loop.outside.context)

    # --- what a process is given ---

    def journal(self, process: Process) -> SimulatedJournal:
        return SimulatedJournal(
            Writes(self.disk, process, self.loop, self.chance, self.faults, self.chronicle)
        )

    def supervisor_handle(self) -> SupervisorHandle:
        return SupervisorHandle(self.network, self._a_supervisor)

    def host_handle(self) -> Host:
        made: Any = HostHandle(self.network, lambda: self.host, self.chance, self.faults)
        return cast(Host, made)

    def crashes(self, process: Process) -> SimulatedCrashes:
        return SimulatedCrashes(process, self.chance, self.faults, self.chronicle.count)

    def mint(self) -> str:
        self._tokens += 1
        return f"token-{self._tokens}"

    def _wake(self, subject_id: str) -> None:
        for process, supervisor in self.supervisors:
            self.network.tell(process, partial(supervisor.wake, subject_id))

    # --- clients ---

    async def tell(self, message: Message) -> Answer | None:
        """Send a command once, as a client does; ``None`` if no answer came."""
        if self.gateway is None:
            return None
        process, supervisor, _ = self.gateway
        try:
            answer = await self.network.call(
                process, lambda: tell(supervisor, message), WorkerLostError, _CLIENT_PATIENCE_S
            )
        except (WorkerLostError, PointsmanError):
            return None
        if isinstance(answer, Reply):
            self.chronicle.acknowledged.append((message, answer))
            self.chronicle.count("accepted commands")
        return answer

    async def submit(self, token: str, envelope: object) -> ReportAnswer | None:
        """Send a report once, as an agent's tool does; ``None`` if no answer came."""
        if self.gateway is None:
            return None
        process, _, reports = self.gateway
        try:
            return await self.network.call(
                process,
                lambda: reports.submit(token, envelope),
                WorkerLostError,
                _CLIENT_PATIENCE_S,
            )
        except WorkerLostError:
            return None

    def note_receipt(self, receipt: ReportReceipt) -> None:
        """Remember what an agent was told."""
        self.receipts.append(receipt)
        self.chronicle.count("accepted reports")

    def note_wake(self, run_id: str) -> None:
        self.wakes[run_id] = self.wakes.get(run_id, 0) + 1


class _Workers:
    """Where a supervisor gets its workers from."""

    def __init__(self, cluster: Cluster, supervisor: Process) -> None:
        self._cluster = cluster
        self._supervisor = supervisor

    def spawn(self) -> WorkerHandle:
        cluster = self._cluster
        process = cluster.process("worker")
        self._supervisor.on_death.append(lambda: cluster.kill_later(process, 60))
        actor = RunActor(
            cluster.journal(process),
            cluster.host_handle(),
            cluster.clock,
            _URL,
            cluster.mint,
            BranchPool(_BranchWorkers(cluster, process)),
            cluster.crashes(process),
        )
        handle = WorkerHandle(
            cluster.network, process, actor, lambda: cluster.kill_later(process, 60)
        )
        handle.wakes = cluster.note_wake
        return handle


class _BranchWorkers:
    """Where a worker gets its branch workers from."""

    def __init__(self, cluster: Cluster, worker: Process) -> None:
        self._cluster = cluster
        self._worker = worker

    def spawn(self) -> BranchHandle:
        cluster = self._cluster
        process = cluster.process("branch worker")
        self._worker.on_death.append(lambda: cluster.kill_later(process, 60))
        actor = BranchActor(cluster.host_handle(), _URL, cluster.crashes(process))
        return BranchHandle(
            cluster.network, process, actor, lambda: cluster.kill_later(process, 60)
        )
