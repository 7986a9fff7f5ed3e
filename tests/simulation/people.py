"""What people do in a simulated world: start runs, and act on them whenever they please.

Whoever gets no answer sends the same command again under the same id, until they lose patience.
"""

from typing import Final

from pointsman.actors.messages import Answer, Message, Unavailable
from pointsman.graph import commands as cmd
from pointsman.graph import ids
from pointsman.graph.allowed import Action, AllowedAction, allowed_actions
from pointsman.graph.definition import Workflow
from pointsman.graph.replies import Reply
from pointsman.graph.results import GateDecision
from tests.harness.core import BASE_COMMIT
from tests.simulation.chance import Chance
from tests.simulation.cluster import Cluster
from tests.simulation.loop import pause

_SENDS_MAX: Final = 20


class People:
    """Those who start runs and decide about them. ``tired`` once only questions are answered."""

    def __init__(self, cluster: Cluster, chance: Chance, think_s: float) -> None:
        self._cluster = cluster
        self._chance = chance
        self._think_s = think_s
        self._minted = 0
        self._commands = 0
        self.tired = False
        self.started: dict[str, str] = {}

    async def start(self, workflow: Workflow, number: int) -> None:
        """Start a run, and follow it until it ends."""
        chance = self._chance.child(f"start {number}")
        command_id = f"start-{number}"
        run_id = None
        for _ in range(_SENDS_MAX):
            answers = [await self._start_once(workflow, number, command_id)]
            if chance.happens(0.1):
                answers.append(await self._start_once(workflow, number, command_id))
            run_ids = {each.run_id for each in answers if isinstance(each, Reply)}
            if run_ids:
                run_id = self.started.setdefault(command_id, min(run_ids))
                if run_ids != {run_id}:
                    told = f"{command_id}: one start made {run_ids | {run_id}}"
                    self._cluster.chronicle.violations.append(told)
                break
            await pause(chance.spread(1, 600))
        if run_id is not None:
            for _ in range(2 if chance.happens(0.3) else 1):
                self._cluster.loop.outside.spawn(self.follow(run_id))

    async def _start_once(self, workflow: Workflow, number: int, command_id: str) -> Answer | None:
        # As the gateway does it: every send mints an id, and the receipt tells the first one.
        self._minted += 1
        run_id = ids.run_id(0, f"{self._minted:026d}")
        command = cmd.StartRun(
            run_id=run_id,
            workflow=workflow,
            definition_source="simulation",
            inputs={name: f"{name}-{number}" for name in workflow.inputs},
            repository="/repo",
            base_commit=BASE_COMMIT,
            base_branch="main",
            started_by="ann",
        )
        return await self._cluster.tell(Message(run_id, command, command_id))

    async def follow(self, run_id: str) -> None:
        """Come by now and then, and do something that is allowed, or was a moment ago."""
        chance = self._chance.child(f"follow {run_id} {self._commands}")
        while True:
            quick = chance.happens(0.2)
            think_s = self._think_s
            await pause(chance.spread(1, think_s) if quick else chance.uniform(0, 2 * think_s))
            run = self._cluster.chronicle.latest.get(run_id)
            if run is None or run.ended or run.cancellation is not None:
                return
            allowed = [each for each in allowed_actions(run) if self._wanted(each, chance)]
            if not allowed:
                continue
            chosen = chance.pick(allowed)
            if chance.happens(0.1):
                await pause(chance.spread(1, 3600))
            await self._insist(run_id, self._command(run_id, chosen, chance), chance)

    def _wanted(self, offered: AllowedAction, chance: Chance) -> bool:
        if self.tired:
            return offered.action is Action.ANSWER
        cancels = self._cluster.faults.cancel
        return offered.action is not Action.CANCEL or chance.happens(cancels)

    async def _insist(self, run_id: str, command: cmd.Command, chance: Chance) -> None:
        self._commands += 1
        message = Message(run_id, command, f"command-{self._commands}")
        for _ in range(_SENDS_MAX):
            answer = await self._cluster.tell(message)
            if answer is not None and not isinstance(answer, Unavailable):
                break
            await pause(chance.spread(1, 600))
        if isinstance(answer, Reply) and chance.happens(0.1):
            await pause(chance.spread(1, 24 * 3600))
            again = await self._cluster.tell(message)
            if not isinstance(again, Reply | Unavailable | None):
                told = f"{run_id}: {message.command_id} was accepted, and then {again}"
                self._cluster.chronicle.violations.append(told)

    def _command(self, run_id: str, chosen: AllowedAction, chance: Chance) -> cmd.Command:
        revision, target = chosen.revision or 0, chosen.target
        match chosen.action:
            case Action.APPROVE | Action.REQUEST_CHANGES:
                return cmd.DecideGate(
                    gate_id=target,
                    revision=revision,
                    decision=GateDecision(chosen.action.value),
                    decided_by="ann",
                )
            case Action.RESUME:
                return cmd.ResumeAttempt(attempt_id=target, revision=revision, requested_by="ann")
            case Action.RETRY:
                return cmd.RetryVisit(visit_id=target, revision=revision, requested_by="ann")
            case Action.REVIEW_AGAIN:
                return cmd.ReviewAgain(visit_id=target, revision=revision, requested_by="ann")
            case Action.ANSWER:
                assert chosen.request_id is not None
                return cmd.AnswerNativeRequest(
                    attempt_id=target,
                    request_id=chosen.request_id,
                    allow=chance.happens(0.5),
                    answered_by="ann",
                )
            case Action.CANCEL:
                return cmd.CancelRun(requested_by="ann")
