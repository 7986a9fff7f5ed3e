"""What agents and checks do in a simulated world: work, ask, report, break, and keep silent.

They are processes of the machine, not of the host: they go on while anything else is down.
"""

from typing import Any, Final

from pointsman.graph import ids
from pointsman.graph.definition import FieldType
from pointsman.graph.tried import assigned
from pointsman.graph.work import (
    CheckExited,
    CheckLost,
    CheckRunning,
    HostRunCause,
    HostRunStatus,
)
from pointsman.runtime.wire.requests import ReportAnswer
from tests.harness.core import envelope
from tests.simulation.chance import Chance
from tests.simulation.cluster import Cluster
from tests.simulation.host_state import AgentWork, Machine, Request, Turn
from tests.simulation.loop import pause

_MINUTE_S: Final = 60.0
_SENDS_MAX: Final = 8


class Agents:
    """Plays every agent and every check of the machine."""

    def __init__(self, machine: Machine, cluster: Cluster, chance: Chance) -> None:
        self._machine = machine
        self._cluster = cluster
        self._chance = chance
        self._answers: dict[str, tuple[dict[str, Any], ReportAnswer]] = {}
        sessions = chance.child("sessions")
        machine.session_survives = lambda: sessions.happens(0.6)
        machine.begin_turn = self._begin_turn
        machine.begin_check = self._begin_check

    # --- turns of agents ---

    def _begin_turn(self, work: AgentWork, turn: Turn) -> None:
        chance = self._chance.child(f"{work.attempt_id}/{len(work.turns)}")
        self._cluster.loop.outside.spawn(self._turn(work, turn, work.token, chance))

    async def _turn(self, work: AgentWork, turn: Turn, token: str, chance: Chance) -> None:
        reminded = turn.cause is HostRunCause.WORKFLOW_MESSAGE
        longest_s = 10 * _MINUTE_S if reminded else 60 * _MINUTE_S
        await pause(chance.spread(_MINUTE_S, longest_s))
        if chance.happens(self._cluster.faults.agent_killed):
            self._lose(work, turn, chance)
        if chance.happens(0.06):
            await self._ask(work, turn, chance)
        if chance.happens(0.15) and self._goes_on(turn):
            work.background += 1
            self._cluster.loop.outside.spawn(self._background(work, chance.child("background")))
        if not self._goes_on(turn):
            if chance.happens(0.3):
                await self._submit(token, self._envelope(work.attempt_id, chance), chance)
            return  # its last words were on their way
        is_edit = work.workspace_key.endswith(":primary")
        if is_edit and chance.happens(0.7):
            self._machine.commit(work.workspace_key)
        elif not is_edit and chance.happens(0.03):
            self._machine.dirty[work.workspace_key] = ("a.py",)
        earlier = self._answers.get(work.attempt_id)
        if earlier is not None and chance.happens(0.5):
            made, answer = earlier
            self._compare(work.attempt_id, answer, await self._submit(token, made, chance))
        elif chance.happens(0.95 if reminded else 0.85):
            await self._report(work, token, chance)
        if chance.happens(self._cluster.faults.agent_killed):
            self._lose(work, turn, chance)
        await pause(chance.spread(1, 10 * _MINUTE_S))
        if chance.happens(0.03):
            return  # hangs until it is stopped
        if self._goes_on(turn):
            work.come_to_end(turn, failed=chance.happens(0.03))
            self._changed(work)

    def _goes_on(self, turn: Turn) -> bool:
        return turn.status is HostRunStatus.ACTIVE

    def _changed(self, work: AgentWork) -> None:
        shown = self._machine.aggregate(work.attempt_id)
        told = f"     agent: {work.attempt_id} {shown.phase} {[run.status for run in shown.runs]}"
        self._machine.chronicle.tell(ids.run_of(work.attempt_id), told)
        work.sequence += 1
        self._machine.wake(work.attempt_id)

    def _lose(self, work: AgentWork, turn: Turn, chance: Chance) -> None:
        """Kill the agent; somebody did it by hand, or nobody knows who."""
        if self._goes_on(turn):
            work.cut_off("user" if chance.happens(0.5) else None, self._machine.session_survives())
            self._changed(work)

    async def _ask(self, work: AgentWork, turn: Turn, chance: Chance) -> None:
        """Ask a person, and wait for the answer or for somebody to stop the work."""
        if not self._goes_on(turn):
            return
        request_id = f"q{len(work.turns)}"
        request = work.requests[request_id] = Request(turn)
        self._changed(work)
        while request.is_live and request.answer is None:
            await pause(10 * _MINUTE_S)
            request.withdrawn = chance.happens(0.01)
        self._changed(work)

    async def _background(self, work: AgentWork, chance: Chance) -> None:
        await pause(chance.spread(_MINUTE_S, 40 * _MINUTE_S))
        if work.background:
            work.background -= 1
            self._changed(work)

    # --- reports ---

    async def _report(self, work: AgentWork, token: str, chance: Chance) -> None:
        made = self._envelope(work.attempt_id, chance)
        if chance.happens(0.1):
            await self._submit(token, {**made, "data": {"no_such_field": 1}}, chance)
        answer = await self._submit(token, made, chance)
        if answer is not None and answer.ok:
            self._answers[work.attempt_id] = (made, answer)
        if answer is not None and chance.happens(0.3):
            await pause(chance.spread(1, 30 * _MINUTE_S))
            again = await self._submit(work.token, made, chance)
            self._compare(work.attempt_id, answer, again)
        if chance.happens(0.1):
            await self._submit(token, {**made, "retry_key": "another"}, chance)

    def _compare(self, attempt_id: str, first: ReportAnswer, again: ReportAnswer | None) -> None:
        if first.ok and again is not None and again.receipt is not None:
            assert first.receipt is not None
            if again.receipt.receipt_id != first.receipt.receipt_id:
                self._machine.chronicle.violations.append(f"{attempt_id}: two receipts")
        elif first.ok and again is not None:
            told = f"{attempt_id}: an exact retry was refused: {again.code}"
            self._machine.chronicle.violations.append(told)

    async def _submit(
        self, token: str, made: dict[str, Any], chance: Chance
    ) -> ReportAnswer | None:
        """Send exactly the same until there is an answer, or the agent has had enough."""
        for _ in range(_SENDS_MAX):
            answer = await self._cluster.submit(token, made)
            if answer is not None and answer.code == "unauthorized":
                self._machine.chronicle.violations.append(f"{token}: is unknown to the engine")
            if answer is not None and answer.retry != "resend_unchanged":
                if answer.receipt is not None:
                    self._cluster.note_receipt(answer.receipt)
                return answer
            await pause(chance.spread(1, 5 * _MINUTE_S))
        return None

    def _envelope(self, attempt_id: str, chance: Chance) -> dict[str, Any]:
        run = self._machine.chronicle.latest[ids.run_of(attempt_id)]
        work = assigned(run.workflow, attempt_id)
        assert work is not None, attempt_id
        data: dict[str, Any] = {}
        for name, declared in work.report.fields.items():
            if not declared.required and chance.happens(0.3):
                continue
            match declared.type:
                case FieldType.NUMBER:
                    data[name] = chance.pick([0, 0, 0, 0, 0, 0, 1])
                case FieldType.BOOLEAN:
                    data[name] = chance.happens(0.5)
                case FieldType.ENUM:
                    data[name] = chance.pick(declared.values or ())
                case FieldType.STRING:
                    data[name] = "text"
        outcome = chance.pick(["completed"] * 18 + ["failed", "blocked"])
        return envelope(outcome=outcome, data=data)

    # --- checks ---

    def _begin_check(self, check_id: str, timeout_s: int) -> None:
        chance = self._chance.child(check_id)
        self._cluster.loop.outside.spawn(self._check(check_id, timeout_s, chance))

    async def _check(self, check_id: str, timeout_s: int, chance: Chance) -> None:
        takes_s = chance.spread(1, 2 * timeout_s)
        await pause(min(takes_s, timeout_s))
        if not isinstance(self._machine.check(check_id), CheckRunning):
            return
        lost = chance.happens(self._cluster.faults.agent_killed / 3)
        ended = CheckExited(
            exit_code=chance.pick([0, 0, 1]),
            timed_out=takes_s > timeout_s,
            interrupted=chance.happens(0.02),
            duration_s=takes_s,
            output_tail="",
        )
        self._machine.checks[check_id] = CheckLost() if lost else ended
        self._machine.wake(check_id)
