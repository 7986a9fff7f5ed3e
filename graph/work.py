"""What a host says of its work: receipts, lookups and the work aggregate (``wf-host/1`` §2.3–2.4).

These are facts to decide from. A host never sends a ready-made success:
``settlement`` computes it from the aggregate.
"""

from enum import StrEnum
from typing import Literal

from pointsman.graph.model import JsonScalar, Model


class ReceiptStatus(StrEnum):
    """Whether the host took an effect, had taken it before, or refuses it."""

    ACCEPTED = "accepted"
    ALREADY = "already"
    REJECTED = "rejected"


class Receipt(Model):
    """The host's durable answer to one effect; the same key always gets the same answer."""

    idempotency_key: str
    status: ReceiptStatus
    host_ref: dict[str, JsonScalar] = {}
    reason: str | None = None
    message: str | None = None


class Found(Model):
    """The host has taken the effect."""

    answer: Literal["found"] = "found"
    receipt: Receipt


class NotFound(Model):
    """The host proves that it never took the effect."""

    answer: Literal["not_found"] = "not_found"


class Unknown(Model):
    """The host cannot tell; the engine must not issue the effect again."""

    answer: Literal["unknown"] = "unknown"
    why: str


class WorkPhase(StrEnum):
    """The host's summary of one attempt's work; a hint, never a verdict."""

    PREPARING = "preparing"
    ACTIVE = "active"
    WAITING_INPUT = "waiting_input"
    QUIET = "quiet"
    GONE = "gone"


class HostRunStatus(StrEnum):
    """The state of one native turn."""

    ACTIVE = "active"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    CANCELED = "canceled"


class HostRunCause(StrEnum):
    """Why a native turn was started."""

    LAUNCH = "launch"
    WORKFLOW_MESSAGE = "workflow_message"
    USER_MESSAGE = "user_message"
    WAKE = "wake"
    RESUME = "resume"
    HOST_RECOVERY = "host_recovery"


class Finalization(StrEnum):
    """Whether the host has finished its own book-keeping for a turn."""

    PENDING = "pending"
    OK = "ok"
    FAILED = "failed"
    NOT_APPLICABLE = "n/a"


class HostRun(Model):
    """One native turn of an attempt. ``cause_key`` is the effect that asked for it."""

    host_run_id: str
    ordinal: int
    status: HostRunStatus
    cause: HostRunCause
    cause_key: str | None = None
    finalized: Finalization = Finalization.NOT_APPLICABLE
    exit_code: int | None = None


class Child(Model):
    """A native sub-agent."""

    child_id: str
    settled: bool


class BackgroundTask(Model):
    """Work that outlives the turn that began it, such as a process left running."""

    task_id: str
    description: str


class RequestKind(StrEnum):
    """What the native harness wants from a person."""

    APPROVAL = "approval"
    INPUT = "input"


class NativeRequest(Model):
    """An open question of the native harness to a person."""

    request_id: str
    kind: RequestKind
    question: str
    answerable: Literal["live", "message", "no"]


class WorkFailure(Model):
    """Why the host's work failed."""

    code: str
    message: str


class Stop(Model):
    """Who stopped the work, if anybody did."""

    by: Literal["user", "engine", "host"]


class WorkAggregate(Model):
    """Everything the host knows of one attempt at one host sequence."""

    attempt_id: str
    host_sequence: int
    phase: WorkPhase
    runs: tuple[HostRun, ...] = ()
    children: tuple[Child, ...] = ()
    background: tuple[BackgroundTask, ...] = ()
    owed_wakes: int = 0
    pending_requests: tuple[NativeRequest, ...] = ()
    pending_checkpoints: int = 0
    session_id: str | None = None
    resumable: bool = False
    stop: Stop | None = None
    failure: WorkFailure | None = None
    head_commit: str | None = None
    uncommitted_paths: int = 0


class CheckRunning(Model):
    """The check's command is still running."""

    state: Literal["running"] = "running"


class CheckExited(Model):
    """The check's command has ended and its exit record was kept."""

    state: Literal["exited"] = "exited"
    exit_code: int
    timed_out: bool
    interrupted: bool
    duration_s: float
    output_tail: str
    log_reference: str | None = None
    log_digest: str | None = None


class CheckLost(Model):
    """The command was started and its outcome cannot be known any more."""

    state: Literal["lost"] = "lost"


class CheckNotStarted(Model):
    """The host proves that the command was never started."""

    state: Literal["not_started"] = "not_started"


CheckState = CheckRunning | CheckExited | CheckLost | CheckNotStarted
