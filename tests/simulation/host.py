"""The simulated host: the contract's promises over a ``Machine``, in a process that may die.

Like the local host it claims a key before it acts under it, and decides once and for good whether
a turn or a check begins.
"""

import asyncio
from collections.abc import Callable

from pointsman.actors.host import (
    KeptWorkspace,
    ProviderCapability,
    ReportingAccess,
    RepositoryRefused,
    RepositoryState,
)
from pointsman.graph import intents
from pointsman.graph.changes import RemoteRef, WorkspaceHead
from pointsman.graph.evidence import Checkout, HeadReading
from pointsman.graph.intents import Intent
from pointsman.graph.model import JsonScalar
from pointsman.graph.work import (
    CheckExited,
    CheckLost,
    CheckNotStarted,
    CheckRunning,
    CheckState,
    Found,
    HostRunCause,
    HostRunStatus,
    NotFound,
    Receipt,
    ReceiptStatus,
    Unknown,
    WorkAggregate,
)
from tests.simulation.chance import Chance
from tests.simulation.faults import Faults
from tests.simulation.host_state import AgentWork, Effect, Machine, Turn, place_of
from tests.simulation.loop import Process, ProcessDiedError, pause

Ref = dict[str, JsonScalar]


class Refused(Exception):
    """The host refuses an effect for good."""


class SimulatedHost:
    """One life of the host's process."""

    def __init__(self, machine: Machine, process: Process, chance: Chance, faults: Faults) -> None:
        self._machine = machine
        self._process = process
        self._chance = chance
        self._faults = faults
        self._locks: dict[str, asyncio.Lock] = {}

    async def providers(self) -> tuple[ProviderCapability, ...]:
        return ()

    async def inspect_repository(self, path: str) -> RepositoryState | RepositoryRefused:
        return RepositoryState(path=path, head_commit="1" * 40, branch="main", uncommitted_paths=())

    async def lookup(self, idempotency_key: str) -> Found | NotFound | Unknown:
        await pause(self._chance.spread(0.001, 0.1))
        if self._chance.happens(self._faults.lookup_unknown):
            self._machine.chronicle.count("unknown lookups")
            return Unknown(why="the record cannot be read")
        effect = self._machine.effects.get(idempotency_key)
        if effect is None or effect.receipt is None:
            return NotFound()
        return Found(receipt=effect.receipt)

    async def prepare_workspace(self, order: intents.PrepareWorkspace) -> Receipt:
        key = order.workspace_key

        def act() -> Ref:
            if key in self._machine.unwanted:
                raise Refused("workspace_released")
            if key not in self._machine.worktrees:
                self._note(order, key)
                self._machine.worktrees[key] = order
                self._machine.heads.setdefault(key, order.base_commit)
            place: Ref = {"path": f"/w/{key}", "head_commit": order.base_commit}
            return {**place, **({"branch": order.branch} if order.branch is not None else {})}

        return await self._repeatable(order, key, act, longest_s=60)

    async def release_workspace(self, order: intents.ReleaseWorkspace) -> Receipt:
        key = order.workspace_key
        self._machine.unwanted.add(key)

        def act() -> Ref:
            self._machine.worktrees.pop(key, None)
            self._note(order, key)
            return {"kept": False, "why": ""}

        return await self._repeatable(order, key, act)

    async def freeze_change(self, order: intents.FreezeChange) -> Receipt:
        place = place_of(order.change)

        def act() -> Ref:
            if isinstance(order.change, RemoteRef) and place not in self._machine.heads:
                self._machine.commit(place)  # it was there all the time
            if isinstance(order.change, WorkspaceHead) and place not in self._machine.worktrees:
                raise Refused("workspace_missing")
            head = self._machine.heads[place]
            self._note(order, order.review_set_id)
            return {"frozen_commit": head, "base_commit": order.base_commit, "diff_stat": ""}

        return await self._repeatable(order, place, act)

    async def verify_checkout(self, order: intents.VerifyCheckout) -> Checkout:
        await pause(self._chance.spread(0.001, 0.1))
        prepared = self._machine.worktrees.get(order.workspace_key)
        if prepared is None:
            return Checkout(unreadable="there is no such worktree")
        spoiled = ("a.py",) if order.workspace_key in self._machine.spoiled else ()
        return Checkout(head_commit=prepared.base_commit, top_level=True, changed=spoiled)

    async def read_head(self, order: intents.ReadHead) -> HeadReading:
        await pause(self._chance.spread(0.001, 0.1))
        if self._chance.happens(self._faults.lookup_unknown):
            return HeadReading(head_commit=None, unavailable="git does not answer")
        return HeadReading(head_commit=self._machine.heads.get(place_of(order.change)))

    async def workspaces(self) -> tuple[KeptWorkspace, ...]:
        return ()

    async def prune_workspaces(self, keys: tuple[str, ...]) -> tuple[KeptWorkspace, ...]:
        return ()

    async def launch(self, order: intents.LaunchExecution, access: ReportingAccess) -> Receipt:
        machine, attempt_id = self._machine, order.attempt_id

        def act() -> Ref:
            if order.workspace_key not in machine.worktrees:
                raise Refused("workspace_missing")
            if attempt_id in machine.forbidden:
                raise Refused("interrupted")
            self._note(order, attempt_id)
            work = AgentWork(attempt_id, order.workspace_key, order.intent_id)
            machine.attempts[attempt_id] = work
            self._begin(work, HostRunCause.LAUNCH, order.intent_id, access)
            return {"thread_id": order.thread_id, "host_run_id": f"{attempt_id}-t1"}

        return await self._decided(order, attempt_id, act)

    async def send(self, order: intents.SendReminder, access: ReportingAccess) -> Receipt:
        def act() -> Ref:
            work = self._machine.attempts.get(order.attempt_id)
            stopped = order.attempt_id in self._machine.forbidden
            if work is None or work.at_work or stopped or work.failure is not None:
                raise Refused("interrupted")
            self._note(order, order.attempt_id)
            self._begin(work, HostRunCause.WORKFLOW_MESSAGE, order.intent_id, access)
            return {"host_run_id": f"{order.attempt_id}-t{len(work.turns)}"}

        return await self._decided(order, order.attempt_id, act)

    async def resume(self, order: intents.ResumeExecution, access: ReportingAccess) -> Receipt:
        def act() -> Ref:
            work = self._machine.attempts.get(order.attempt_id)
            if work is None or work.at_work or not work.resumable:
                raise Refused("not_resumable")
            self._note(order, order.attempt_id)
            work.stop, work.failure, work.resumable = None, None, False
            self._machine.forbidden.discard(order.attempt_id)
            self._begin(work, HostRunCause.RESUME, order.intent_id, access)
            return {"continuity": "native"}

        return await self._decided(order, order.attempt_id, act)

    async def interrupt(self, order: intents.InterruptExecution) -> Receipt:
        machine = self._machine

        def act() -> Ref:
            work = machine.attempts.get(order.attempt_id)
            machine.forbidden.add(order.attempt_id)
            if work is not None and work.at_work:
                work.stop = "engine"
                work.resumable = self._chance.happens(0.5)
                work.end(HostRunStatus.INTERRUPTED)
                machine.wake(order.attempt_id)
            self._note(order, order.attempt_id)
            return {"left": 0}

        return await self._repeatable(order, order.attempt_id, act, longest_s=10)

    async def answer(self, order: intents.AnswerRequest) -> Receipt:
        def act() -> Ref:
            work = self._machine.attempts.get(order.attempt_id)
            if work is None or order.request_id not in work.requests:
                raise Refused("request_gone")
            self._note(order, order.attempt_id)
            work.requests[order.request_id] = True
            self._machine.answer_request(order.attempt_id, order.request_id)
            return {}

        return await self._decided(order, order.attempt_id, act)

    async def inspect(self, attempt_id: str) -> WorkAggregate:
        await pause(self._chance.spread(0.001, 0.1))
        return self._machine.aggregate(attempt_id)

    async def start_check(self, order: intents.StartCheck) -> Receipt:
        machine, check_id = self._machine, order.check_id

        def act() -> Ref:
            if order.workspace_key not in machine.worktrees:
                raise Refused("workspace_missing")
            if check_id in machine.forbidden:
                raise Refused("interrupted")
            self._note(order, check_id)
            machine.checks[check_id] = CheckRunning()
            machine.begin_check(check_id, order.timeout_s)
            return {}

        return await self._decided(order, check_id, act)

    async def inspect_check(self, check_id: str) -> CheckState:
        await pause(self._chance.spread(0.001, 0.1))
        return self._machine.check(check_id)

    async def cancel_check(self, order: intents.CancelCheck) -> Receipt:
        def act() -> Ref:
            state = self._machine.check(order.check_id)
            if isinstance(state, CheckNotStarted):
                self._machine.forbidden.add(order.check_id)
            elif not isinstance(state, CheckExited):
                self._machine.checks[order.check_id] = CheckLost()
            self._note(order, order.check_id)
            return {"left": 0}

        return await self._repeatable(order, order.check_id, act)

    # --- how effects are taken once ---

    async def _decided(self, order: Intent, subject: str, act: Callable[[], Ref]) -> Receipt:
        """Do what must happen once: the start and its receipt are one durable step."""
        async with self._locks.setdefault(subject, asyncio.Lock()):
            await pause(self._chance.spread(0.001, 0.5))
            effect = self._claimed(order, subject)
            if effect.receipt is None:
                self._crash()
                effect.receipt = self._receipt(order, act)
                self._crash()
                return effect.receipt
            return _repeated(effect.receipt)

    async def _repeatable(
        self, order: Intent, subject: str, act: Callable[[], Ref], longest_s: float = 1.0
    ) -> Receipt:
        """Do what may be done again until its receipt is recorded."""
        async with self._locks.setdefault(subject, asyncio.Lock()):
            effect = self._claimed(order, subject)
            if effect.receipt is not None:
                return _repeated(effect.receipt)
            await pause(self._chance.spread(0.001, longest_s))
            receipt = self._receipt(order, act)
            self._crash()
            await pause(self._chance.spread(0.001, 0.1))
            effect.receipt = receipt
            return receipt

    def _claimed(self, order: Intent, subject: str) -> Effect:
        self._process.demand_alive()
        made = Effect(order.kind, subject)
        return self._machine.effects.setdefault(order.intent_id, made)

    def _receipt(self, order: Intent, act: Callable[[], Ref]) -> Receipt:
        key = order.intent_id
        try:
            host_ref = act()
        except Refused as refusal:
            return Receipt(
                idempotency_key=key,
                status=ReceiptStatus.REJECTED,
                reason=str(refusal),
                message=str(refusal),
            )
        return Receipt(idempotency_key=key, status=ReceiptStatus.ACCEPTED, host_ref=host_ref)

    def _begin(
        self, work: AgentWork, cause: HostRunCause, key: str, access: ReportingAccess
    ) -> None:
        work.token = access.token
        turn = Turn(cause, key)
        work.turns.append(turn)
        work.sequence += 1
        self._machine.begin_turn(work, turn)

    def _crash(self) -> None:
        if self._chance.happens(self._faults.crash_at_act):
            self._machine.chronicle.count("crashes of the host in an act")
            self._process.kill()
            raise ProcessDiedError("the host, in an act")

    def _note(self, order: Intent, subject: str) -> None:
        self._machine.note(order.kind, order.intent_id, subject, order.run_id)


def _repeated(receipt: Receipt) -> Receipt:
    if receipt.status is ReceiptStatus.ACCEPTED:
        return receipt.model_copy(update={"status": ReceiptStatus.ALREADY})
    return receipt
