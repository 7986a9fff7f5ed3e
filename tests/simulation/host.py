"""The simulated host: the contract's promises over a ``Machine``, in a process that may die.

Like the local host it claims a key before it acts under it, and decides once and for good whether
a turn or a check begins.
"""

import asyncio
from collections.abc import Callable
from typing import Final

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
from pointsman.graph.reviews import Uncommitted
from pointsman.graph.work import (
    CheckExited,
    CheckNotStarted,
    CheckRunning,
    CheckState,
    Found,
    HostRunCause,
    NotFound,
    Receipt,
    ReceiptStatus,
    Unknown,
    WorkAggregate,
)
from tests.simulation.chance import Chance
from tests.simulation.faults import Faults
from tests.simulation.host_state import AgentWork, Effect, Machine, place_of
from tests.simulation.loop import Process, ProcessDiedError, pause

Ref = dict[str, JsonScalar]


_CANCELED: Final = CheckExited(
    exit_code=143, timed_out=False, interrupted=True, duration_s=1.0, output_tail=""
)


class Refused(Exception):
    """The host refuses an effect for good."""

    def __init__(self, reason: str, **host_ref: JsonScalar) -> None:
        super().__init__(reason)
        self.host_ref = host_ref


class SimulatedHost:
    """One life of the host's process."""

    def __init__(self, machine: Machine, process: Process, chance: Chance, faults: Faults) -> None:
        self._machine = machine
        self._process = process
        self._chance = chance
        self._faults = faults
        self._locks: dict[str, asyncio.Lock] = {}

    async def providers(self) -> tuple[ProviderCapability, ...]:
        modes = ("edit", "review")
        return (ProviderCapability(provider="scripted", version="1", modes=modes, resume=True),)

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
            place: Ref = {"path": f"/w/{key}", "head_commit": self._machine.heads[key]}
            return {**place, **({"branch": order.branch} if order.branch is not None else {})}

        return await self._repeatable(order, key, act, longest_s=60)

    async def release_workspace(self, order: intents.ReleaseWorkspace) -> Receipt:
        key = order.workspace_key
        self._machine.unwanted.add(key)

        def act() -> Ref:
            why = self._why_kept(key)
            if why is None:
                self._machine.worktrees.pop(key, None)
            self._note(order, key)
            return {"kept": why is not None, "why": why or ""}

        return await self._repeatable(order, key, act)

    def _why_kept(self, workspace_key: str) -> str | None:
        if self._machine.in_use(workspace_key):
            return "work is going on in it"
        return "it was changed" if self._machine.dirty.get(workspace_key) else None

    async def freeze_change(self, order: intents.FreezeChange) -> Receipt:
        machine, place = self._machine, place_of(order.change)

        def act() -> Ref:
            if isinstance(order.change, RemoteRef) and place not in machine.heads:
                machine.commit(place)  # it was there all the time
            if isinstance(order.change, WorkspaceHead) and place not in machine.worktrees:
                raise Refused("workspace_missing")
            changed = machine.dirty.get(place, ())
            if changed and order.uncommitted is Uncommitted.REFUSE:
                raise Refused("change_uncommitted")
            commits = bool(changed) and order.uncommitted is Uncommitted.COMMIT
            if commits:
                machine.commit(place)
                del machine.dirty[place]
            self._note(order, order.review_set_id)
            return {
                "frozen_commit": machine.heads[place],
                "base_commit": order.base_commit,
                "diff_stat": "",
                "left_out": "" if commits else "\n".join(changed),
                "committed": commits,
            }

        return await self._repeatable(order, order.review_set_id, act)

    async def verify_checkout(self, order: intents.VerifyCheckout) -> Checkout:
        await pause(self._chance.spread(0.001, 0.1))
        key = order.workspace_key
        prepared = self._machine.worktrees.get(key)
        if prepared is None:
            was_there = key in self._machine.heads
            return Checkout() if was_there else Checkout(unreadable="it was never made here")
        changed = self._machine.dirty.get(key, ())
        return Checkout(head_commit=prepared.base_commit, top_level=True, changed=changed)

    async def read_head(self, order: intents.ReadHead) -> HeadReading:
        await pause(self._chance.spread(0.001, 0.1))
        if self._chance.happens(self._faults.lookup_unknown):
            return HeadReading(head_commit=None, unavailable="git does not answer")
        head = self._machine.heads.get(place_of(order.change))
        return HeadReading(head_commit=head, unavailable=None if head else "there is no such head")

    async def workspaces(self) -> tuple[KeptWorkspace, ...]:
        return tuple(self._kept(order) for order in self._machine.worktrees.values())

    async def prune_workspaces(self, keys: tuple[str, ...]) -> tuple[KeptWorkspace, ...]:
        found = (each for each in await self.workspaces() if each.workspace_key in keys)
        removed = tuple(each for each in found if each.removable)
        for each in removed:
            del self._machine.worktrees[each.workspace_key]
        return removed

    def _kept(self, order: intents.PrepareWorkspace) -> KeptWorkspace:
        key = order.workspace_key
        why = self._why_kept(key)
        return KeptWorkspace(
            workspace_key=key,
            run_id=order.run_id,
            role="primary" if order.branch is not None else key.rpartition(".")[2],
            path=f"/w/{key}",
            repository=order.repository,
            commit=self._machine.heads[key],
            why=why or "nobody has asked for its removal",
            removable=why is None,
        )

    async def launch(self, order: intents.LaunchExecution, access: ReportingAccess) -> Receipt:
        machine, attempt_id = self._machine, order.attempt_id

        def act() -> Ref:
            if order.workspace_key not in machine.worktrees:
                raise Refused("workspace_missing")
            if attempt_id in machine.attempts:
                raise Refused("key_reused")
            if attempt_id in machine.forbidden:
                raise Refused("interrupted")
            self._note(order, attempt_id)
            work = AgentWork(attempt_id, order.workspace_key, order.intent_id)
            machine.attempts[attempt_id] = work
            begun = self._begin(work, HostRunCause.LAUNCH, order.intent_id, access)
            return {"thread_id": order.thread_id, **begun}

        return await self._decided(order, attempt_id, act)

    async def send(self, order: intents.SendReminder, access: ReportingAccess) -> Receipt:
        def act() -> Ref:
            work = self._to_go_on_with(order.attempt_id)
            if order.attempt_id in self._machine.forbidden or work.interrupted:
                raise Refused("interrupted")
            self._note(order, order.attempt_id)
            return self._begin(work, HostRunCause.WORKFLOW_MESSAGE, order.intent_id, access)

        return await self._decided(order, order.attempt_id, act)

    async def resume(self, order: intents.ResumeExecution, access: ReportingAccess) -> Receipt:
        def act() -> Ref:
            try:
                work = self._to_go_on_with(order.attempt_id)
                if not work.interrupted:
                    raise Refused("not_interrupted")
            except Refused as refusal:
                raise Refused(str(refusal), continuity="impossible") from None
            self._note(order, order.attempt_id)
            self._machine.forbidden.discard(order.attempt_id)
            begun = self._begin(work, HostRunCause.RESUME, order.intent_id, access)
            return {"continuity": "native", **begun}

        return await self._decided(order, order.attempt_id, act)

    def _to_go_on_with(self, attempt_id: str) -> AgentWork:
        """Return work of which a further turn may begin."""
        work = self._machine.attempts.get(attempt_id)
        if work is None:
            raise Refused("attempt_unknown")
        if work.at_work:
            raise Refused("attempt_active")
        if not work.has_session:
            raise Refused("not_resumable")
        return work

    async def interrupt(self, order: intents.InterruptExecution) -> Receipt:
        machine = self._machine

        def act() -> Ref:
            work = machine.attempts.get(order.attempt_id)
            machine.forbidden.add(order.attempt_id)
            if work is not None and work.at_work:
                work.cut_off("engine", machine.session_survives())
                machine.wake(order.attempt_id)
            self._note(order, order.attempt_id)
            return {"left": 0}

        return await self._repeatable(order, order.attempt_id, act, longest_s=10)

    async def answer(self, order: intents.AnswerRequest) -> Receipt:
        def act() -> Ref:
            work = self._machine.attempts.get(order.attempt_id)
            request = work.requests.get(order.request_id) if work is not None else None
            if work is None or request is None:
                raise Refused("request_unknown")
            if not request.is_live:
                raise Refused("request_gone")
            if request.answer not in (None, (order.allow, order.text)):
                raise Refused("request_answered")
            self._note(order, order.attempt_id)
            request.answer = order.allow, order.text
            work.sequence += 1
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
            if check_id in machine.forbidden or check_id in machine.checks:
                raise Refused("interrupted")
            self._note(order, check_id)
            machine.checks[check_id] = CheckRunning()
            machine.check_places[check_id] = order.workspace_key
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
            elif isinstance(state, CheckRunning):
                self._machine.checks[order.check_id] = _CANCELED
            self._note(order, order.check_id)
            return {"left": 0}

        return await self._repeatable(order, order.check_id, act)

    # --- how effects are taken once ---

    async def _decided(self, order: Intent, subject: str, act: Callable[[], Ref]) -> Receipt:
        """Do what must happen once: the start and its receipt are one durable step."""
        async with self._locks.setdefault(subject, asyncio.Lock()):
            await pause(self._chance.spread(0.001, 0.5))
            effect = self._claimed(order, subject)
            if (known := self._known(effect, order, subject)) is not None:
                return known
            self._crash()
            effect.receipt = self._receipt(order, act)
            self._crash()
            return effect.receipt

    async def _repeatable(
        self, order: Intent, subject: str, act: Callable[[], Ref], longest_s: float = 1.0
    ) -> Receipt:
        """Do what may be done again until its receipt is recorded."""
        async with self._locks.setdefault(subject, asyncio.Lock()):
            effect = self._claimed(order, subject)
            if (known := self._known(effect, order, subject)) is not None:
                return known
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

    @staticmethod
    def _known(effect: Effect, order: Intent, subject: str) -> Receipt | None:
        """Return the answer that stands for a key; ``None`` while there is none."""
        if (effect.kind, effect.subject) != (order.kind, subject):
            return _rejected(order, Refused("key_reused"))
        receipt = effect.receipt
        if receipt is not None and receipt.status is ReceiptStatus.ACCEPTED:
            return receipt.model_copy(update={"status": ReceiptStatus.ALREADY})
        return receipt

    @staticmethod
    def _receipt(order: Intent, act: Callable[[], Ref]) -> Receipt:
        try:
            host_ref = act()
        except Refused as refusal:
            return _rejected(order, refusal)
        accepted = ReceiptStatus.ACCEPTED
        return Receipt(idempotency_key=order.intent_id, status=accepted, host_ref=host_ref)

    def _begin(
        self, work: AgentWork, cause: HostRunCause, key: str, access: ReportingAccess
    ) -> Ref:
        work.token = access.token
        self._machine.begin_turn(work, work.begin(cause, key))
        return {"host_run_id": f"{work.attempt_id}-t{len(work.turns)}"}

    def _crash(self) -> None:
        if self._chance.happens(self._faults.crash_at_act):
            self._machine.chronicle.count("crashes of the host in an act")
            self._process.kill()
            raise ProcessDiedError("the host, in an act")

    def _note(self, order: Intent, subject: str) -> None:
        self._machine.note(order.kind, order.intent_id, subject, order.run_id)


def _rejected(order: Intent, refusal: Refused) -> Receipt:
    return Receipt(
        idempotency_key=order.intent_id,
        status=ReceiptStatus.REJECTED,
        host_ref=refusal.host_ref,
        reason=str(refusal),
        message=str(refusal),
    )
