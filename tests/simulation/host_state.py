"""What is true of a simulated host's machine: agents at work, checks, worktrees, commits.

It outlives the host's process, as running agents and files on a disk do.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from pointsman.graph.changes import RemoteRef, WorkspaceHead
from pointsman.graph.intents import PrepareWorkspace
from pointsman.graph.work import (
    BackgroundTask,
    CheckNotStarted,
    CheckState,
    Child,
    HostRun,
    HostRunCause,
    HostRunStatus,
    NativeRequest,
    Receipt,
    RequestKind,
    Stop,
    WorkAggregate,
    WorkFailure,
    WorkPhase,
)
from tests.simulation.chronicle import Act, Chronicle


@dataclass
class Turn:
    """One native turn of an agent."""

    cause: HostRunCause
    cause_key: str
    status: HostRunStatus = HostRunStatus.ACTIVE


@dataclass
class AgentWork:
    """Everything of one attempt. ``forbidden`` keeps a turn that did not begin from beginning."""

    attempt_id: str
    workspace_key: str
    launch_key: str
    token: str = ""
    turns: list[Turn] = field(default_factory=list)
    children: int = 0
    background: int = 0
    requests: dict[str, bool] = field(default_factory=dict)
    stop: Literal["user", "engine", "host"] | None = None
    failure: WorkFailure | None = None
    resumable: bool = False
    sequence: int = 0

    @property
    def at_work(self) -> bool:
        """Whether anything of it is running."""
        active = any(turn.status is HostRunStatus.ACTIVE for turn in self.turns)
        return active or bool(self.background or self.children)

    def end(self, status: HostRunStatus) -> None:
        """End every process of it."""
        for turn in self.turns:
            if turn.status is HostRunStatus.ACTIVE:
                turn.status = status
        self.children = self.background = 0
        self.requests.clear()
        self.sequence += 1


@dataclass
class Effect:
    """A claimed key; with a receipt it is answered for good."""

    kind: str
    subject: str
    receipt: Receipt | None = None


def place_of(change: WorkspaceHead | RemoteRef) -> str:
    """Name where the change under review has its head."""
    return change.workspace_key if isinstance(change, WorkspaceHead) else change.ref


@dataclass
class Machine:
    """The durable map by key, and the work. ``wake`` tells the host that something changed."""

    chronicle: Chronicle
    now_s: Callable[[], float]
    effects: dict[str, Effect] = field(default_factory=dict)
    attempts: dict[str, AgentWork] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)
    checks: dict[str, CheckState] = field(default_factory=dict)
    worktrees: dict[str, PrepareWorkspace] = field(default_factory=dict)
    unwanted: set[str] = field(default_factory=set)
    heads: dict[str, str] = field(default_factory=dict)
    head_moved_s: dict[str, float] = field(default_factory=dict)
    spoiled: set[str] = field(default_factory=set)
    wake: Callable[[str], None] = lambda subject: None
    begin_turn: Callable[[AgentWork, Turn], None] = lambda work, turn: None
    begin_check: Callable[[str, int], None] = lambda check_id, timeout_s: None
    answer_request: Callable[[str, str], None] = lambda attempt_id, request_id: None
    _commits: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def note(self, kind: str, key: str, subject: str, run_id: str) -> None:
        """Write an act down, and have it checked."""
        self.chronicle.acted(Act(self.now_s(), kind, key, subject, run_id))

    def commit(self, place: str) -> None:
        """Move a head: a worktree's, or that of a ref at a remote."""
        self.heads[place] = f"{next(self._commits):040x}"
        self.head_moved_s[place] = self.now_s()

    def check(self, check_id: str) -> CheckState:
        """Return what is known of a check."""
        return self.checks.get(check_id, CheckNotStarted())

    def aggregate(self, attempt_id: str) -> WorkAggregate:
        """Return everything that is known of an attempt now."""
        work = self.attempts.get(attempt_id)
        if work is None:
            return WorkAggregate(attempt_id=attempt_id, host_sequence=0, phase=WorkPhase.GONE)
        asking = any(not answered for answered in work.requests.values())
        quiet = WorkPhase.WAITING_INPUT if asking else WorkPhase.ACTIVE
        return WorkAggregate(
            attempt_id=attempt_id,
            host_sequence=work.sequence,
            phase=quiet if work.at_work else WorkPhase.QUIET,
            runs=tuple(
                HostRun(
                    host_run_id=f"{attempt_id}-t{ordinal}",
                    ordinal=ordinal,
                    status=turn.status,
                    cause=turn.cause,
                    cause_key=turn.cause_key,
                )
                for ordinal, turn in enumerate(work.turns, start=1)
            ),
            children=tuple(Child(child_id=f"c{n}", settled=False) for n in range(work.children)),
            background=tuple(
                BackgroundTask(task_id=f"b{n}", description="left running")
                for n in range(work.background)
            ),
            pending_requests=tuple(
                NativeRequest(
                    request_id=each, kind=RequestKind.INPUT, question="?", answerable="live"
                )
                for each, answered in work.requests.items()
                if not answered
            ),
            resumable=work.resumable and not work.at_work,
            stop=Stop(by=work.stop) if work.stop is not None else None,
            failure=work.failure,
            head_commit=self.heads.get(work.workspace_key),
        )
