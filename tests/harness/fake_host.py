"""A host without processes: it keeps receipts by key as the contract says, and does what a test
tells it to. Safe to steer from another thread than the one it is called in.
"""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pointsman.actors.host import (
    HostUnavailableError,
    ProviderCapability,
    ReportingAccess,
    RepositoryRefused,
    RepositoryState,
)
from pointsman.graph import intents
from pointsman.graph.model import JsonScalar
from pointsman.graph.work import (
    CheckExited,
    CheckLost,
    CheckNotStarted,
    CheckRunning,
    CheckState,
    Found,
    HostRun,
    HostRunCause,
    HostRunStatus,
    NativeRequest,
    NotFound,
    Receipt,
    ReceiptStatus,
    Stop,
    Unknown,
    WorkAggregate,
    WorkPhase,
)

HEAD = "1" * 40
_PATIENCE_S = 20.0


@dataclass(frozen=True)
class Launched:
    """An agent at work, and the token it reports with."""

    attempt_id: str
    token: str


class FakeHost:
    """One environment in the memory of a test. ``calls`` counts every effect that acted."""

    def __init__(self) -> None:
        self.capabilities: tuple[ProviderCapability, ...] = (
            ProviderCapability(
                provider="scripted", version="1", modes=("edit", "review"), resume=True
            ),
        )
        self.repository: RepositoryState | RepositoryRefused = RepositoryState(
            path="/repo", head_commit=HEAD, branch="main", uncommitted_paths=()
        )
        self.reachable = True
        self.unknown_keys: set[str] = set()
        self.calls: dict[str, int] = {}
        self.wake: Callable[[str], None] = lambda subject: None
        self._changed = threading.Condition()
        self._receipts: dict[str, Receipt] = {}
        self._work: dict[str, WorkAggregate] = {}
        self._tokens: dict[str, str] = {}
        self._checks: dict[str, CheckState] = {}
        self._refusals: dict[str, str] = {}
        self._blocked: dict[str, threading.Event] = {}

    # --- what a test does with it ---

    def refuse(self, kind: str, reason: str) -> None:
        """Reject the effects of a kind from now on."""
        self._refusals[kind] = reason

    def block(self, kind: str) -> threading.Event:
        """Let effects of a kind wait until the returned event is set."""
        return self._blocked.setdefault(kind, threading.Event())

    def launched(self, step: str) -> Launched:
        """Wait for the launch of a step's attempt (``implement.1.1``), and return it."""
        found = self._await(lambda: _ending(self._tokens, step))
        return Launched(found, self._tokens[found])

    def token_after(self, launched: Launched) -> str:
        """Wait for a fresh token of an attempt, which comes with a reminder or a resume."""
        return self._await(
            lambda: (
                token if (token := self._tokens[launched.attempt_id]) != launched.token else None
            )
        )

    def check_started(self, step: str) -> str:
        """Wait for the start of a step's check, and return its id."""
        return self._await(lambda: _ending(self._checks, step))

    def finish(
        self,
        attempt_id: str,
        status: HostRunStatus = HostRunStatus.COMPLETED,
        **changes: Any,
    ) -> None:
        """Let an attempt's work go quiet."""
        runs = tuple(
            run.model_copy(update={"status": status}) if run.status is HostRunStatus.ACTIVE else run
            for run in self._work[attempt_id].runs
        )
        self.show(attempt_id, **{"runs": runs, "phase": WorkPhase.QUIET, **changes})

    def ask(self, attempt_id: str, request: NativeRequest) -> None:
        """Let the agent ask a person something."""
        self.show(attempt_id, pending_requests=(request,), phase=WorkPhase.WAITING_INPUT)

    def exit_check(self, check_id: str, exit_code: int) -> None:
        """Let a check's command end."""
        ended = CheckExited(
            exit_code=exit_code, timed_out=False, interrupted=False, duration_s=1.0, output_tail=""
        )
        with self._changed:
            self._checks[check_id] = ended
        self.wake(check_id)

    def show(self, attempt_id: str, **changes: Any) -> None:
        """Change an attempt's work aggregate and wake the engine."""
        with self._changed:
            work = self._work[attempt_id]
            self._work[attempt_id] = work.model_copy(
                update={**changes, "host_sequence": work.host_sequence + 1}
            )
        self.wake(attempt_id)

    def _await(self, look: Callable[[], str | None]) -> str:
        with self._changed:
            found = self._changed.wait_for(look, timeout=_PATIENCE_S)
        assert found is not None, f"did not come; seen: {sorted(self._receipts)}"
        return found

    # --- the host contract ---

    async def providers(self) -> tuple[ProviderCapability, ...]:
        self._demand_reachable()
        return self.capabilities

    async def inspect_repository(self, path: str) -> RepositoryState | RepositoryRefused:
        self._demand_reachable()
        return self.repository

    async def lookup(self, idempotency_key: str) -> Found | NotFound | Unknown:
        self._demand_reachable()
        if idempotency_key in self.unknown_keys:
            return Unknown(why="the host lost its records")
        receipt = self._receipts.get(idempotency_key)
        return Found(receipt=receipt) if receipt is not None else NotFound()

    async def prepare_workspace(self, order: intents.PrepareWorkspace) -> Receipt:
        return await self._once(order, path="/work", head_commit=HEAD, branch=order.branch)

    async def release_workspace(self, order: intents.ReleaseWorkspace) -> Receipt:
        return await self._once(order, kept=False)

    async def launch(self, order: intents.LaunchExecution, access: ReportingAccess) -> Receipt:
        def act() -> None:
            self._tokens[order.attempt_id] = access.token
            self._work[order.attempt_id] = WorkAggregate(
                attempt_id=order.attempt_id,
                host_sequence=1,
                phase=WorkPhase.ACTIVE,
                runs=(_turn(1, HostRunCause.LAUNCH, order.intent_id),),
            )

        return await self._once(order, act, thread_id=order.thread_id, host_run_id="run-1")

    async def send(self, order: intents.SendReminder, access: ReportingAccess) -> Receipt:
        return await self._turn(order, HostRunCause.WORKFLOW_MESSAGE, access)

    async def resume(self, order: intents.ResumeExecution, access: ReportingAccess) -> Receipt:
        return await self._turn(order, HostRunCause.RESUME, access, continuity="native")

    async def interrupt(self, order: intents.InterruptExecution) -> Receipt:
        def act() -> None:
            work = self._work.get(order.attempt_id)
            if work is not None:
                stopped = {"stop": Stop(by="engine"), "phase": WorkPhase.GONE}
                self._work[order.attempt_id] = work.model_copy(update=stopped)

        return await self._once(order, act, left=0)

    async def answer(self, order: intents.AnswerRequest) -> Receipt:
        def act() -> None:
            work = self._work[order.attempt_id]
            left = tuple(r for r in work.pending_requests if r.request_id != order.request_id)
            self._work[order.attempt_id] = work.model_copy(
                update={"pending_requests": left, "phase": WorkPhase.ACTIVE}
            )

        return await self._once(order, act)

    async def inspect(self, attempt_id: str) -> WorkAggregate:
        self._demand_reachable()
        gone = WorkAggregate(attempt_id=attempt_id, host_sequence=0, phase=WorkPhase.GONE)
        return self._work.get(attempt_id, gone)

    async def start_check(self, order: intents.StartCheck) -> Receipt:
        return await self._once(
            order, lambda: self._checks.setdefault(order.check_id, CheckRunning())
        )

    async def inspect_check(self, check_id: str) -> CheckState:
        self._demand_reachable()
        return self._checks.get(check_id, CheckNotStarted())

    async def cancel_check(self, order: intents.CancelCheck) -> Receipt:
        return await self._once(
            order, lambda: self._checks.update({order.check_id: CheckLost()}), left=0
        )

    async def _turn(
        self,
        order: intents.SendReminder | intents.ResumeExecution,
        cause: HostRunCause,
        access: ReportingAccess,
        **host_ref: JsonScalar,
    ) -> Receipt:
        def act() -> None:
            self._tokens[order.attempt_id] = access.token
            work = self._work[order.attempt_id]
            turns = (*work.runs, _turn(len(work.runs) + 1, cause, order.intent_id))
            self._work[order.attempt_id] = work.model_copy(
                update={"runs": turns, "phase": WorkPhase.ACTIVE, "stop": None}
            )

        return await self._once(order, act, **host_ref)

    async def _once(
        self,
        order: intents.Intent,
        act: Callable[[], object] = lambda: None,
        **host_ref: JsonScalar,
    ) -> Receipt:
        """Act once a key; asked again, answer with the first receipt."""
        self._demand_reachable()
        blocked = self._blocked.get(order.kind)
        if blocked is not None:
            await asyncio.to_thread(blocked.wait, _PATIENCE_S)
        key, refusal = order.intent_id, self._refusals.get(order.kind)
        with self._changed:
            known = self._receipts.get(key)
            if known is not None:
                return known.model_copy(update={"status": ReceiptStatus.ALREADY})
            if refusal is None:
                act()
                self.calls[order.kind] = self.calls.get(order.kind, 0) + 1
            status = ReceiptStatus.ACCEPTED if refusal is None else ReceiptStatus.REJECTED
            receipt = Receipt(
                idempotency_key=key,
                status=status,
                host_ref=host_ref if refusal is None else {},
                reason=refusal,
                message=refusal,
            )
            self._receipts[key] = receipt
            self._changed.notify_all()
        return receipt

    def _demand_reachable(self) -> None:
        if not self.reachable:
            raise HostUnavailableError("the test has pulled the plug")


def _ending(ids: dict[str, Any], step: str) -> str | None:
    return next((each for each in ids if f".{each}".endswith(f".{step}")), None)


def _turn(ordinal: int, cause: HostRunCause, cause_key: str) -> HostRun:
    return HostRun(
        host_run_id=f"run-{ordinal}",
        ordinal=ordinal,
        status=HostRunStatus.ACTIVE,
        cause=cause,
        cause_key=cause_key,
    )
