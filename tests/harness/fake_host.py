"""A host without processes: it keeps receipts by key as the contract says, and does what a test
tells it to. Safe to steer from another thread than the one it is called in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pointsman.actors.host import (
    KeptWorkspace,
    ProviderCapability,
    ReportingAccess,
    RepositoryRefused,
    RepositoryState,
)
from pointsman.graph import ids, intents
from pointsman.graph.evidence import Checkout, HeadReading
from pointsman.graph.model import JsonScalar
from pointsman.graph.reviews import Uncommitted
from pointsman.graph.work import (
    CheckExited,
    CheckLost,
    CheckNotStarted,
    CheckRunning,
    CheckState,
    HostRun,
    HostRunCause,
    HostRunStatus,
    NativeRequest,
    Receipt,
    Stop,
    WorkAggregate,
    WorkPhase,
)
from tests.harness.fake_effects import FakeEffects

HEAD = "1" * 40
COMMITTED = "c" * 40


@dataclass(frozen=True)
class Launched:
    """An agent at work, and the token it reports with."""

    attempt_id: str
    token: str


class FakeHost(FakeEffects):
    """One environment in the memory of a test. ``calls`` counts every effect that acted.

    ``head`` is where the change stands (``None``: nobody can tell), ``uncommitted`` the paths that
    lie uncommitted in the run's worktree.
    """

    def __init__(self) -> None:
        super().__init__()
        self.capabilities: tuple[ProviderCapability, ...] = (
            ProviderCapability(
                provider="scripted", version="1", modes=("edit", "review"), resume=True
            ),
        )
        self.repository: RepositoryState | RepositoryRefused = RepositoryState(
            path="/repo", head_commit=HEAD, branch="main", uncommitted_paths=()
        )
        self.head: str | None = HEAD
        self.head_unavailable = "the test has hidden the head"
        self.uncommitted: tuple[str, ...] = ()
        self.wake: Callable[[str], None] = lambda subject: None
        self._work: dict[str, WorkAggregate] = {}
        self._tokens: dict[str, str] = {}
        self._checks: dict[str, CheckState] = {}
        self._prepared: dict[str, intents.PrepareWorkspace] = {}
        self._checkouts: dict[str, dict[str, Any]] = {}

    # --- what a test does with it ---

    def launched(self, step: str) -> Launched:
        """Wait for the launch of a step's attempt (``implement.1.1``), and return it."""
        found = self._await(lambda: _ending(self._tokens, step))
        return Launched(found, self._tokens[found])

    @property
    def at_work(self) -> tuple[Launched, ...]:
        """The agents that are at work."""
        return tuple(
            Launched(attempt_id, self._tokens[attempt_id])
            for attempt_id, work in list(self._work.items())
            if work.phase is WorkPhase.ACTIVE
        )

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

    def checkout(self, workspace_key: str, **changes: Any) -> None:
        """Let a reviewer's worktree look otherwise from now on."""
        with self._changed:
            self._checkouts.setdefault(workspace_key, {}).update(changes)

    def prepared(self, step: str) -> str:
        """Wait for the worktree of a reviewer (``reviewers.1.security``); return its commit."""

        def commit() -> str | None:
            keys = {key.removeprefix("wf:"): order for key, order in self._prepared.items()}
            found = _ending(keys, step)
            return keys[found].base_commit if found is not None else None

        return self._await(commit)

    @property
    def worktrees(self) -> tuple[str, ...]:
        """The keys of the worktrees there are."""
        return tuple(self._prepared)

    # --- the host contract ---

    async def providers(self) -> tuple[ProviderCapability, ...]:
        self._demand_reachable()
        return self.capabilities

    async def inspect_repository(self, path: str) -> RepositoryState | RepositoryRefused:
        self._demand_reachable()
        return self.repository

    async def prepare_workspace(self, order: intents.PrepareWorkspace) -> Receipt:
        def act() -> None:
            self._prepared[order.workspace_key] = order

        # A reviewer's worktree stands on no branch, in a folder of its own.
        of_run = order.workspace_key == ids.workspace_key(order.run_id)
        place: dict[str, JsonScalar] = {"path": "/work" if of_run else f"/work/{order.intent_id}"}
        if order.branch is not None:
            place["branch"] = order.branch
        return await self._once(order, act, head_commit=order.base_commit, **place)

    async def release_workspace(self, order: intents.ReleaseWorkspace) -> Receipt:
        return await self._once(
            order, lambda: self._prepared.pop(order.workspace_key, None), kept=False, why=""
        )

    async def freeze_change(self, order: intents.FreezeChange) -> Receipt:
        if self.uncommitted and order.uncommitted is Uncommitted.REFUSE:
            return await self._refused(order, "change_uncommitted")
        if self.head is None:
            return await self._refused(order, "change_unreachable")
        commits = bool(self.uncommitted) and order.uncommitted is Uncommitted.COMMIT
        left_out = self.uncommitted if order.uncommitted is Uncommitted.IGNORE else ()

        def act() -> None:
            if commits:
                self.head, self.uncommitted = COMMITTED, ()

        return await self._once(
            order,
            act,
            frozen_commit=COMMITTED if commits else self.head,
            base_commit=order.base_commit,
            diff_stat=" 1 file changed, 1 insertion(+)",
            left_out="\n".join(left_out),
            committed=commits,
        )

    async def verify_checkout(self, order: intents.VerifyCheckout) -> Checkout:
        await self._read(order.kind)
        prepared = self._prepared.get(order.workspace_key)
        if prepared is None:
            gone = f"{order.workspace_key}:release" in self._receipts
            return Checkout() if gone else Checkout(unreadable="there is no such worktree")
        fits = Checkout(head_commit=prepared.base_commit, top_level=True)
        return fits.model_copy(update=self._checkouts.get(order.workspace_key, {}))

    async def read_head(self, order: intents.ReadHead) -> HeadReading:
        await self._read(order.kind)
        why = self.head_unavailable if self.head is None else None
        return HeadReading(head_commit=self.head, unavailable=why)

    async def workspaces(self) -> tuple[KeptWorkspace, ...]:
        self._demand_reachable()
        return tuple(_kept(order) for order in self._prepared.values())

    async def prune_workspaces(self, keys: tuple[str, ...]) -> tuple[KeptWorkspace, ...]:
        self._demand_reachable()
        found = tuple(_kept(self._prepared[key]) for key in keys if key in self._prepared)
        removed = tuple(kept for kept in found if kept.removable)
        for kept in removed:
            del self._prepared[kept.workspace_key]
        return removed

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


def _ending(ids: dict[str, Any], step: str) -> str | None:
    return next((each for each in ids if f".{each}".endswith(f".{step}")), None)


def _kept(order: intents.PrepareWorkspace) -> KeptWorkspace:
    review = order.branch is None
    return KeptWorkspace(
        workspace_key=order.workspace_key,
        run_id=order.run_id,
        role=order.workspace_key.rpartition(".")[2] if review else "primary",
        path="/work",
        repository=order.repository,
        commit=order.base_commit,
        why="nobody has asked for its removal",
        removable=review,
    )


def _turn(ordinal: int, cause: HostRunCause, cause_key: str) -> HostRun:
    return HostRun(
        host_run_id=f"run-{ordinal}",
        ordinal=ordinal,
        status=HostRunStatus.ACTIVE,
        cause=cause,
        cause_key=cause_key,
    )
