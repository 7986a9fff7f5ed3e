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
    CheckRunning,
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
class Request:
    """A question that a turn has asked a person. ``withdrawn`` once the agent wants no answer."""

    turn: Turn
    answer: tuple[bool, str | None] | None = None
    withdrawn: bool = False

    @property
    def is_live(self) -> bool:
        """Whether whoever asked is still there."""
        return self.turn.status is HostRunStatus.ACTIVE and not self.withdrawn


@dataclass
class AgentWork:
    """Everything of one attempt. ``has_session`` tells whether its native session can go on."""

    attempt_id: str
    workspace_key: str
    launch_key: str
    token: str = ""
    turns: list[Turn] = field(default_factory=list)
    children: int = 0
    background: int = 0
    requests: dict[str, Request] = field(default_factory=dict)
    stop: Literal["user", "engine", "host"] | None = None
    failure: WorkFailure | None = None
    has_session: bool = True
    sequence: int = 0

    @property
    def at_work(self) -> bool:
        """Whether anything of it is running."""
        active = any(turn.status is HostRunStatus.ACTIVE for turn in self.turns)
        return active or bool(self.background or self.children)

    @property
    def interrupted(self) -> bool:
        """Whether it is over without having come to its own end."""
        return not self.at_work and self.turns[-1].status is HostRunStatus.INTERRUPTED

    def begin(self, cause: HostRunCause, key: str) -> Turn:
        """Begin a turn, by which what became of the one before is past."""
        self.stop = self.failure = None
        self.turns.append(Turn(cause, key))
        self.sequence += 1
        return self.turns[-1]

    def come_to_end(self, turn: Turn, failed: bool = False) -> None:
        """Let a turn end by itself."""
        turn.status = HostRunStatus.FAILED if failed else HostRunStatus.COMPLETED
        if failed:
            self.failure = WorkFailure(code="agent_failed", message="the agent ended with 1")
        self.sequence += 1

    def cut_off(self, by: Literal["user", "engine"] | None, has_session: bool) -> None:
        """End everything of it: somebody did, or its process was lost and nobody knows why."""
        self.turns[-1].status = HostRunStatus.INTERRUPTED
        self.children = self.background = 0
        self.stop, self.has_session = by, has_session
        self.failure = None
        if by is None:
            self.failure = WorkFailure(code="process_lost", message="its process was lost")
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
    """The durable map by key, and the work. ``wake`` tells the host that something changed.

    ``forbidden`` keeps what did not begin from beginning, ``dirty`` has the paths of what lies
    uncommitted in a worktree.
    """

    chronicle: Chronicle
    now_s: Callable[[], float]
    effects: dict[str, Effect] = field(default_factory=dict)
    attempts: dict[str, AgentWork] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)
    checks: dict[str, CheckState] = field(default_factory=dict)
    check_places: dict[str, str] = field(default_factory=dict)
    worktrees: dict[str, PrepareWorkspace] = field(default_factory=dict)
    unwanted: set[str] = field(default_factory=set)
    heads: dict[str, str] = field(default_factory=dict)
    head_moved_s: dict[str, float] = field(default_factory=dict)
    dirty: dict[str, tuple[str, ...]] = field(default_factory=dict)
    wake: Callable[[str], None] = lambda subject: None
    begin_turn: Callable[[AgentWork, Turn], None] = lambda work, turn: None
    begin_check: Callable[[str, int], None] = lambda check_id, timeout_s: None
    session_survives: Callable[[], bool] = lambda: True
    _commits: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def note(self, kind: str, key: str, subject: str, run_id: str) -> None:
        """Write an act down, and have it checked."""
        self.chronicle.acted(Act(self.now_s(), kind, key, subject, run_id))

    def commit(self, place: str) -> None:
        """Move a head: a worktree's, or that of a ref at a remote."""
        self.heads[place] = f"{next(self._commits):040x}"
        self.head_moved_s[place] = self.now_s()

    def in_use(self, workspace_key: str) -> bool:
        """Whether anything is at work in a worktree."""
        working = (work.workspace_key for work in self.attempts.values() if work.at_work)
        running = (
            place
            for check_id, place in self.check_places.items()
            if isinstance(self.check(check_id), CheckRunning)
        )
        return workspace_key in (*working, *running)

    def check(self, check_id: str) -> CheckState:
        """Return what is known of a check."""
        return self.checks.get(check_id, CheckNotStarted())

    def aggregate(self, attempt_id: str) -> WorkAggregate:
        """Return everything that is known of an attempt now."""
        work = self.attempts.get(attempt_id)
        if work is None:
            return self._unbegun(attempt_id)
        open_requests = tuple(
            NativeRequest(request_id=each, kind=RequestKind.INPUT, question="?", answerable="live")
            for each, request in work.requests.items()
            if request.is_live and request.answer is None
        )
        going_on = WorkPhase.WAITING_INPUT if open_requests else WorkPhase.ACTIVE
        at_rest = not work.at_work
        changed = self.dirty.get(work.workspace_key, ())
        return WorkAggregate(
            attempt_id=attempt_id,
            host_sequence=work.sequence,
            phase=WorkPhase.QUIET if at_rest else going_on,
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
            pending_requests=open_requests,
            session_id=f"session-{attempt_id}",
            resumable=work.has_session and work.interrupted,
            stop=Stop(by=work.stop) if work.stop is not None else None,
            failure=work.failure,
            head_commit=self.heads.get(work.workspace_key) if at_rest else None,
            uncommitted_paths=len(changed) if at_rest else 0,
        )

    def _unbegun(self, attempt_id: str) -> WorkAggregate:
        """Return what is known of an attempt that was never launched, and perhaps may not be."""
        gone = WorkAggregate(attempt_id=attempt_id, host_sequence=0, phase=WorkPhase.GONE)
        if attempt_id not in self.forbidden:
            return gone
        kept_back = HostRun(
            host_run_id=f"{attempt_id}-t1",
            ordinal=1,
            status=HostRunStatus.INTERRUPTED,
            cause=HostRunCause.LAUNCH,
        )
        stopped = {"phase": WorkPhase.QUIET, "runs": (kept_back,), "stop": Stop(by="engine")}
        return gone.model_copy(update={**stopped, "host_sequence": 1})
