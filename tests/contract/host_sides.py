"""What stands on the other side of the host's contract: the real host, and those without processes.

Each lets a test change the world around its host. Those on which agents and checks work have a
repertoire of them, which is played by real processes or by the simulated machine.
"""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from pointsman.actors.host import Host
from pointsman.graph import intents
from pointsman.graph.definition import AgentChoice, WorkspaceSetup
from pointsman.graph.work import (
    CheckExited,
    HostRunCause,
    HostRunStatus,
    Receipt,
    ReceiptStatus,
    WorkAggregate,
)
from pointsman.runtime.durable import file_name
from tests.harness.fake_host import HEAD, FakeHost
from tests.harness.host_reviews import OWN_HEAD, HostReviewBench
from tests.harness.hosts import ATTEMPT, CHECK, RUN, WORKSPACE, becomes_true, git
from tests.simulation.chance import Chance
from tests.simulation.chronicle import Chronicle
from tests.simulation.faults import Faults
from tests.simulation.host import SimulatedHost
from tests.simulation.host_state import AgentWork, Machine, Request, Turn
from tests.simulation.loop import Process, SimulatedLoop, pause

AnswerT = TypeVar("AnswerT")
_LOOKS_MAX: Final = 100


class Side(Protocol):
    """A host, and the world around it that a test can change."""

    repository: str
    base: str

    @property
    def host(self) -> Host: ...

    def answer(self, call: Awaitable[AnswerT]) -> AnswerT:
        """Wait for the host's answer."""
        ...

    def change(self) -> str:
        """Commit something in the run's own worktree; return the commit."""
        ...

    def leave_uncommitted(self) -> str:
        """Leave something uncommitted in the run's own worktree; return its path."""
        ...

    def spoil(self, key: str) -> None:
        """Change a tracked file in a reviewer's worktree."""
        ...

    def hide_head(self) -> None:
        """Make it impossible to know where the change stands."""
        ...


class Play(StrEnum):
    """What an agent does once it is begun; whoever waits does so until ``let_go``."""

    WORKS = "{wait_for_file: {path: 'GO'}}"
    ENDS = "{say: done}"
    FAILS = "{crash: 3}"
    LOST = "{crash: SIGKILL}"
    STOPPED = "{crash: SIGTERM}"
    ASKS = "{ask_approval: 'May I?'}"
    LEAVES = """{background: {command: "while [ ! -e 'GO' ]; do sleep 0.02; done"}}"""


class WorkSide(Side, Protocol):
    """A side on which agents and checks work. ``begun`` counts their beginnings."""

    @property
    def begun(self) -> int: ...

    def launch_order(self, play: Play, attempt_id: str = ATTEMPT) -> intents.LaunchExecution:
        """Order an agent that will play this."""
        ...

    def check_order(self, *, ends: bool) -> intents.StartCheck:
        """Order a check that ends with 3, or does not end."""
        ...

    def let_go(self) -> None:
        """Let whatever waits come to its end."""
        ...

    def until(self, holds: Callable[[WorkAggregate], object]) -> WorkAggregate:
        """Wait until something is so of the attempt's work, and return that."""
        ...

    def until_checked(self) -> CheckExited:
        """Wait for the check's end."""
        ...

    def lose_record(self, key: str) -> None:
        """Make the record of an effect unreadable."""
        ...

    def restart(self) -> None:
        """Begin the host anew."""
        ...


class RealSide:
    """The local host on real git."""

    def __init__(self, bench: HostReviewBench) -> None:
        self._bench = bench
        self.repository = str(bench.repository)
        self.base = git(bench.repository, "rev-parse", "HEAD")
        self._changes = 0

    @property
    def host(self) -> Host:
        return self._bench.host

    def answer(self, call: Awaitable[AnswerT]) -> AnswerT:
        return self._bench.call(call)

    def change(self) -> str:
        self._changes += 1
        return self._bench.change(f"change {self._changes}\n")

    def leave_uncommitted(self) -> str:
        (self._bench.workspace / "README.md").write_text("edited\n")
        return "README.md"

    def spoil(self, key: str) -> None:
        (self._bench.tree(key.rpartition(".")[2]) / "README.md").write_text("spoilt\n")

    def hide_head(self) -> None:
        git(self._bench.workspace, "checkout", "--quiet", "--detach")
        git(self._bench.repository, "branch", "--quiet", "-D", OWN_HEAD.branch)


class RealWorkSide(RealSide):
    """The local host with real processes."""

    def __init__(self, bench: HostReviewBench) -> None:
        super().__init__(bench)
        self._begun = bench.data.parent / "begun"
        self._go = bench.data.parent / "go"

    @property
    def begun(self) -> int:
        return len(self._begun.read_text().splitlines()) if self._begun.exists() else 0

    def launch_order(self, play: Play, attempt_id: str = ATTEMPT) -> intents.LaunchExecution:
        begins = f"run: echo x >> {self._begun}"
        plays = play.value.replace("GO", str(self._go))
        text = f"{{steps: [{{{begins}}}, {plays}], on_reminder: [{{{begins}}}]}}"
        return self._bench.launch_order(self._bench.script(text), attempt_id)

    def check_order(self, *, ends: bool) -> intents.StartCheck:
        goes_on = "exit 3" if ends else "sleep 300"
        return self._bench.check_order(f"echo x >> {self._begun}; {goes_on}")

    def let_go(self) -> None:
        self._go.touch()

    def until(self, holds: Callable[[WorkAggregate], object]) -> WorkAggregate:
        async def look() -> WorkAggregate:
            while not holds(work := await self.host.inspect(ATTEMPT)):
                await becomes_true(iter((False, True)).__next__)
            return work

        return self.answer(look())

    def until_checked(self) -> CheckExited:
        ended = self._bench.until_checked()
        assert isinstance(ended, CheckExited)
        return ended

    def lose_record(self, key: str) -> None:
        path = self._bench.data / "host" / "effects" / f"{file_name(key)}.json"
        path.write_bytes(b"\0" * path.stat().st_size)

    def restart(self) -> None:
        self._bench.restart()


class FakeSide:
    """The host without processes."""

    def __init__(self) -> None:
        self.host: Host = FakeHost()
        self.repository = "/repo"
        self.base = HEAD
        self._changes = 0

    @property
    def _fake(self) -> FakeHost:
        assert isinstance(self.host, FakeHost)
        return self.host

    def answer(self, call: Awaitable[AnswerT]) -> AnswerT:
        async def answer() -> AnswerT:
            return await call

        return asyncio.run(answer())

    def change(self) -> str:
        self._changes += 1
        self._fake.head = f"{self._changes:040x}"
        return self._fake.head

    def leave_uncommitted(self) -> str:
        self._fake.uncommitted = ("README.md",)
        return "README.md"

    def spoil(self, key: str) -> None:
        self._fake.checkout(key, changed=("README.md",))

    def hide_head(self) -> None:
        self._fake.head = None


class SimulatedSide:
    """The simulated host, on a machine where nothing goes wrong."""

    def __init__(self) -> None:
        chance = Chance("contract")
        self._loop = SimulatedLoop(chance, steps_max=100_000)
        self._chance, self._faults = chance.child("host"), Faults()
        self._machine = Machine(Chronicle(self._loop.time), self._loop.time)
        self._machine.begin_turn = self._begin_turn
        self._machine.begin_check = self._begin_check
        self._plays: dict[str, Play] = {}
        self._waiting: list[Callable[[], None]] = []
        self._gone = self._check_ends = False
        self.host: Host = self._a_host()
        self.repository, self.base = "/repo", HEAD
        self.begun = 0

    def _a_host(self) -> SimulatedHost:
        process = Process(self._loop, "host")
        return SimulatedHost(self._machine, process, self._chance, self._faults)

    def answer(self, call: Awaitable[AnswerT]) -> AnswerT:
        async def answer() -> AnswerT:
            return await call

        return self._loop.run_until_complete(self._loop.outside.spawn(answer()))

    # --- the world around it ---

    def change(self) -> str:
        self._machine.commit(WORKSPACE)
        return self._machine.heads[WORKSPACE]

    def leave_uncommitted(self) -> str:
        self.spoil(WORKSPACE)
        return "README.md"

    def spoil(self, key: str) -> None:
        self._machine.dirty[key] = ("README.md",)

    def hide_head(self) -> None:
        del self._machine.heads[WORKSPACE]

    def lose_record(self, key: str) -> None:
        self._faults.lookup_unknown = 1.0

    def restart(self) -> None:
        self.host = self._a_host()

    # --- agents and checks ---

    def launch_order(self, play: Play, attempt_id: str = ATTEMPT) -> intents.LaunchExecution:
        self._plays[attempt_id] = play
        return intents.LaunchExecution(
            intent_id=f"wf:{attempt_id}:launch",
            run_id=RUN,
            attempt_id=attempt_id,
            thread_id=f"wf-{attempt_id}",
            workspace_key=WORKSPACE,
            agent=AgentChoice(provider="scripted"),
            prompt="Implement the task.",
        )

    def _begin_turn(self, work: AgentWork, turn: Turn) -> None:
        self.begun += 1
        play = self._plays[work.attempt_id]
        if turn.cause is HostRunCause.WORKFLOW_MESSAGE:
            work.come_to_end(turn)
        elif play in (Play.LOST, Play.STOPPED):
            work.cut_off("user" if play is Play.STOPPED else None, has_session=True)
        elif play is Play.ASKS:
            work.requests["q1"] = Request(turn)
        elif play is Play.WORKS and not self._gone:
            self._waiting.append(lambda: self._come_to_end(work, turn))
        else:
            work.background += play is Play.LEAVES
            work.come_to_end(turn, failed=play is Play.FAILS)
            self._waiting.append(lambda: setattr(work, "background", 0))

    def _come_to_end(self, work: AgentWork, turn: Turn, *, failed: bool = False) -> None:
        if turn.status is HostRunStatus.ACTIVE:
            work.come_to_end(turn, failed)

    def let_go(self) -> None:
        self._gone = True
        for goes_on in self._waiting:
            goes_on()

    def until(self, holds: Callable[[WorkAggregate], object]) -> WorkAggregate:
        async def look() -> WorkAggregate:
            for _ in range(_LOOKS_MAX):
                if holds(work := await self.host.inspect(ATTEMPT)):
                    return work
                self._take_answers()
                await pause(1)
            raise AssertionError(work)

        return self.answer(look())

    def _take_answers(self) -> None:
        for work in self._machine.attempts.values():
            for request in work.requests.values():
                if request.answer is not None:
                    self._come_to_end(work, request.turn, failed=not request.answer[0])

    def check_order(self, *, ends: bool) -> intents.StartCheck:
        self._check_ends = ends
        return intents.StartCheck(
            intent_id=f"wf:{CHECK}:start",
            run_id=RUN,
            check_id=CHECK,
            workspace_key=WORKSPACE,
            command="exit 3",
            env={},
            folder=None,
            timeout_s=60,
        )

    def _begin_check(self, check_id: str, timeout_s: int) -> None:
        self.begun += 1
        if self._check_ends:
            self._machine.checks[check_id] = CheckExited(
                exit_code=3, timed_out=False, interrupted=False, duration_s=1.0, output_tail=""
            )

    def until_checked(self) -> CheckExited:
        ended = self.answer(self.host.inspect_check(CHECK))
        assert isinstance(ended, CheckExited)
        return ended


def own(side: Side) -> intents.PrepareWorkspace:
    return intents.PrepareWorkspace(
        intent_id=f"{WORKSPACE}:prepare.1",
        run_id=RUN,
        workspace_key=WORKSPACE,
        repository=side.repository,
        base_commit=side.base,
        branch=OWN_HEAD.branch,
        setup=WorkspaceSetup(),
    )


def prepare(side: Side, order: intents.PrepareWorkspace) -> Receipt:
    return side.answer(side.host.prepare_workspace(order))


def again(receipt: Receipt) -> Receipt:
    return receipt.model_copy(update={"status": ReceiptStatus.ALREADY})
