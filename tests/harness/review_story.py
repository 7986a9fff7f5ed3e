"""A run with reviewers in one event loop: the real core and actors, and agents that do their part.

``until`` lets the agents report and end while it waits, so a test tells only what goes wrong.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from pointsman.actors.crash_points import CrashPoint, CrashPoints
from pointsman.actors.messages import Answer, Message
from pointsman.actors.pool import Pool
from pointsman.actors.supervisor import Supervisor
from pointsman.graph import commands as cmd
from pointsman.graph import ids
from pointsman.graph.definition import Workflow
from pointsman.graph.replies import Reply
from pointsman.graph.results import GateDecision
from pointsman.graph.run import OpenGate, Run, RunState
from pointsman.storage.memory_journal import MemoryDisk, MemoryJournal
from tests.harness.core import BASE_COMMIT, envelope
from tests.harness.fake_host import FakeHost, Launched
from tests.harness.in_process import InProcessWorkers, Killed
from tests.harness.reviews import reviewed

RUN_ID = ids.run_id(0, "0" * 26)
PATIENCE_S = 20


class StoppedClock:
    """Stands still until told."""

    def __init__(self) -> None:
        self.at_ms = 1_000_000

    def now_ms(self) -> int:
        return self.at_ms


class OneKill(CrashPoints):
    """Ends the process that comes to a place as the nth of all; the others live on."""

    def __init__(self, place: CrashPoint, number: int) -> None:
        super().__init__()
        self._at = place
        self._left = number

    def here(self, place: CrashPoint) -> None:
        if place is self._at:
            self._left -= 1
            if self._left == 0:
                raise Killed


class ReviewBench:
    """One run of ``reviewed`` (three reviewers between an agent and a gate), and its host."""

    def __init__(
        self,
        definition: Workflow | None = None,
        branch_crash: CrashPoints | None = None,
        host: FakeHost | None = None,
    ) -> None:
        self.host = host or FakeHost()
        self.clock = StoppedClock()
        self.journal = MemoryJournal(MemoryDisk())
        self.workers = InProcessWorkers(
            self.journal,
            self.host,
            self.clock,
            branch_crash=lambda: branch_crash or CrashPoints(),
        )
        self.supervisor = Supervisor(self.journal, Pool(self.workers), self.clock, tick_s=0.01)
        self.resting = False
        self._definition = definition or reviewed()
        self._wakes: set[asyncio.Task[None]] = set()
        self.host.wake = self._wake

    def _wake(self, subject_id: str) -> None:
        task = asyncio.ensure_future(self.supervisor.wake(subject_id))
        self._wakes.add(task)
        task.add_done_callback(self._wakes.discard)

    @property
    def run(self) -> Run:
        """The run as of its last commit."""
        found = self.journal.run(RUN_ID)
        assert found is not None
        return found

    @property
    def gate(self) -> OpenGate:
        """The gate that is open."""
        assert self.run.visit is not None
        gate = self.run.visit.gate
        assert gate is not None
        return gate

    def kinds(self) -> list[str]:
        """The kinds of all events."""
        return [each.event.kind for each in self.journal.events(RUN_ID)]

    async def begin(self) -> None:
        """Start the run."""
        command = cmd.StartRun(
            run_id=RUN_ID,
            workflow=self._definition,
            definition_source="test",
            inputs={"task": "greet"},
            repository="/repo",
            base_commit=BASE_COMMIT,
            base_branch="main",
            started_by="test",
        )
        assert isinstance(await self.tell(command, "start"), Reply)

    async def tell(self, command: cmd.Command, command_id: str | None = None) -> Answer:
        """Send a command as the gateway does."""
        return await self.supervisor.tell(Message(RUN_ID, command, command_id))

    async def until(self, holds: Callable[[], object]) -> None:
        """Let the agents do their part until a condition holds; unless they are ``resting``."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                for agent in self.host.at_work:
                    if not (self.resting and ids.place_of(agent.attempt_id).branch):
                        await self._do_its_part(agent)
                await asyncio.sleep(0)

    async def _do_its_part(self, agent: Launched) -> None:
        reviews = ids.place_of(agent.attempt_id).branch is not None
        report = envelope(data={"blockers": 0} if reviews else {})
        await self.tell(cmd.SubmitReport(attempt_id=agent.attempt_id, envelope=report))
        self.host.finish(agent.attempt_id)

    async def until_gate(self) -> None:
        """Come to the gate at which the reviewed change is approved."""
        await self.begin()
        await self.until(lambda: self.run.state is RunState.AWAITING_REVIEW)

    async def until_passivated(self) -> None:
        """Let time go by until the run has no worker any more."""
        await self.supervisor.start()

        def let_go() -> bool:
            self.clock.at_ms += 1_000
            return self.supervisor.status()["workers_lent"] == 0

        await self.until(let_go)

    def approval(self, command_id: str | None = None, **more: Any) -> Message:
        """Return an approval at the open gate."""
        command = cmd.DecideGate(
            gate_id=self.gate.gate_id,
            revision=self.gate.revision,
            decision=GateDecision.APPROVE,
            decided_by="ann",
            **more,
        )
        return Message(RUN_ID, command, command_id)

    async def approve(self, command_id: str | None = None, **more: Any) -> Answer:
        """Approve at the open gate."""
        return await self.supervisor.tell(self.approval(command_id, **more))


def played(
    told: Callable[[ReviewBench], Coroutine[None, None, None]], bench: ReviewBench | None = None
) -> None:
    """Run an asynchronous test on a bench of its own."""

    async def tell() -> None:
        at = bench or ReviewBench()
        try:
            await told(at)
        finally:
            await at.supervisor.stop()

    asyncio.run(tell())
