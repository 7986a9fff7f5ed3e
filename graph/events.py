"""Events: what has happened to a run. Append-only: no field is ever renamed or reused.

Each event has one image in the OpenWOP view and shares its sequence number, hence the grain:
opening a gate is two events, an attempt's start and its outcome are events of their own.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from pointsman.graph.definition import Workflow
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.predicate import ConsideredRule
from pointsman.graph.results import (
    EvidenceReference,
    GateComment,
    GateDecision,
    NodeResult,
    ReportOutcome,
)
from pointsman.graph.review_events import (
    BranchDeadlinePassed,
    BranchEnded,
    BranchInterrupted,
    ChangeFrozen,
    ChangeRefused,
    CheckoutVerified,
    HeadCompared,
    JoinCommitted,
    ReviewAgainRequested,
    ReviewForked,
)
from pointsman.graph.settlement import SettlementOutcome
from pointsman.graph.work import CheckExited, CheckLost, NativeRequest, WorkAggregate


class SkillSnapshot(Model):
    """The identity of a skill as found at the start; ``fingerprint`` is over its content.

    ``source`` is its folder at the host. The same name may mean another folder to another
    ``provider``.
    """

    name: str
    source: str
    fingerprint: str
    provider: str | None = None


class RunStarted(Model):
    """A run exists, with everything it will ever be judged by."""

    kind: Literal["run_started"] = "run_started"
    run_id: str
    workflow: Workflow
    definition_digest: str
    definition_source: str
    inputs: dict[str, JsonScalar]
    repository: str
    base_commit: str
    base_branch: str | None
    left_out: tuple[str, ...]
    skills: tuple[SkillSnapshot, ...] = ()
    started_by: str


class RouteReason(StrEnum):
    """Why a route was taken."""

    ENTRY = "entry"
    NEXT = "next"
    RULE = "rule"
    OTHERWISE = "otherwise"
    DECISION = "decision"
    UNRESOLVED = "unresolved"
    REPEAT_LIMIT = "repeat_limit"
    VISIT_LIMIT = "visit_limit"
    JOIN = "join"
    INCOMPLETE = "incomplete"
    REVIEW_AGAIN = "review_again"


class RouteTaken(Model):
    """An edge was chosen. ``counted`` says that the route's repeat counter rose by one."""

    kind: Literal["route_taken"] = "route_taken"
    from_node: str | None
    from_visit_id: str | None
    route: str
    reason: RouteReason
    to: str
    rule: str | None = None
    counted: bool = False
    considered: tuple[ConsideredRule, ...] = ()


class NodeEntered(Model):
    """A visit was admitted; ``visits_used`` counts it already."""

    kind: Literal["node_entered"] = "node_entered"
    node: str
    visit_id: str
    number: int
    visits_used: int
    inputs: dict[str, Any] = {}
    references: dict[str, str] = {}


class NodeCompleted(Model):
    """A visit ended well; its result is what later nodes read."""

    kind: Literal["node_completed"] = "node_completed"
    node: str
    visit_id: str
    result: NodeResult | None = None


class UnresolvedReason(StrEnum):
    """Why a visit has no result that could be routed on."""

    REPORT_MISSING = "report_missing"
    WORK_FAILED = "work_failed"
    WORK_CANCELED = "work_canceled"
    INTERRUPTED = "interrupted"
    TIMED_OUT = "timed_out"
    LAUNCH_REFUSED = "launch_refused"
    LAUNCH_UNKNOWN = "launch_unknown"
    SKILL_MISSING = "skill_missing"
    SKILL_CHANGED = "skill_changed"
    INPUT_MISSING = "input_missing"
    INPUT_TOO_LARGE = "input_too_large"
    CHECK_TIMED_OUT = "check_timed_out"
    CHECK_INTERRUPTED = "check_interrupted"
    CHECK_REFUSED = "check_refused"
    WORKSPACE_REFUSED = "workspace_refused"
    VISIT_LIMIT = "visit_limit"
    FREEZE_REFUSED = "freeze_refused"
    REVIEW_STALE = "review_stale"
    REVIEW_FAILED = "review_failed"
    REVIEW_UNRESOLVED = "review_unresolved"
    REVIEW_CANCELED = "review_canceled"
    HEAD_UNKNOWN = "head_unknown"


class NodeUnresolved(Model):
    """A visit ended without a result."""

    kind: Literal["node_unresolved"] = "node_unresolved"
    node: str
    visit_id: str
    reason: UnresolvedReason
    detail: str


class WorkspacePrepared(Model):
    """The run's own worktree is ready."""

    kind: Literal["workspace_prepared"] = "workspace_prepared"
    workspace_key: str
    path: str
    branch: str | None
    head_commit: str


class WorkspaceRefused(Model):
    """The worktree could not be made ready."""

    kind: Literal["workspace_refused"] = "workspace_refused"
    workspace_key: str
    reason: str
    message: str


class WorkspaceReleased(Model):
    """The worktree was let go of, or kept because it holds work that no branch has."""

    kind: Literal["workspace_released"] = "workspace_released"
    workspace_key: str
    kept: bool
    why: str | None = None


class AttemptStarted(Model):
    """One try of an agent visit is scheduled under its own identity."""

    kind: Literal["attempt_started"] = "attempt_started"
    attempt_id: str
    node: str
    visit_id: str
    try_number: int
    timeout_s: int


class CredentialBound(Model):
    """A bearer token, known here by its digest only, may report for the attempt."""

    kind: Literal["credential_bound"] = "credential_bound"
    attempt_id: str
    token_digest: str


class AttemptLaunched(Model):
    """The host has taken the launch."""

    kind: Literal["attempt_launched"] = "attempt_launched"
    attempt_id: str
    thread_id: str
    host_run_id: str


class ReportAccepted(Model):
    """The attempt's one report: a claim, durable and immutable."""

    kind: Literal["report_accepted"] = "report_accepted"
    attempt_id: str
    receipt_id: str
    protocol_version: int
    retry_key: str
    payload_digest: str
    outcome: ReportOutcome
    summary: str
    data: dict[str, JsonScalar]
    evidence: tuple[EvidenceReference, ...]


class NativeRequestOpened(Model):
    """The harness asks a person something; the execution timeout stands still."""

    kind: Literal["native_request_opened"] = "native_request_opened"
    attempt_id: str
    request: NativeRequest


class NativeRequestAnswered(Model):
    """A person has answered; the answer is on its way to the harness."""

    kind: Literal["native_request_answered"] = "native_request_answered"
    attempt_id: str
    request_id: str
    allow: bool
    text: str | None
    answered_by: str


class NativeRequestClosed(Model):
    """The harness no longer asks."""

    kind: Literal["native_request_closed"] = "native_request_closed"
    attempt_id: str
    request_id: str


class ReminderIssued(Model):
    """The work went quiet without a report: the one reminder is owed."""

    kind: Literal["reminder_issued"] = "reminder_issued"
    attempt_id: str


class ReminderDelivered(Model):
    """The host has taken the reminder."""

    kind: Literal["reminder_delivered"] = "reminder_delivered"
    attempt_id: str


class TimeLimit(StrEnum):
    """What ran out: the time to work in, or the time in which a person had to answer."""

    EXECUTION = "execution"
    ANSWER = "answer"


class AttemptTimedOut(Model):
    """A limit has come; the work is being ended."""

    kind: Literal["attempt_timed_out"] = "attempt_timed_out"
    attempt_id: str
    limit: TimeLimit = TimeLimit.EXECUTION


class WorkInterrupted(Model):
    """The host has ended an attempt's or a check's processes; ``left`` could not be ended."""

    kind: Literal["work_interrupted"] = "work_interrupted"
    subject_id: str
    left: int


class AttemptSettled(Model):
    """The attempt's work is quiet for good; ``work`` is the evidence."""

    kind: Literal["attempt_settled"] = "attempt_settled"
    attempt_id: str
    outcome: SettlementOutcome
    reason: str | None = None
    work: WorkAggregate | None = None


class AttemptRefused(Model):
    """The host refused the launch, or cannot tell whether it took it (``unknown``)."""

    kind: Literal["attempt_refused"] = "attempt_refused"
    attempt_id: str
    unknown: bool
    reason: str
    message: str


class ResumeRequested(Model):
    """A person, or the node's own policy, wants the same native session to go on."""

    kind: Literal["resume_requested"] = "resume_requested"
    attempt_id: str
    number: int
    requested_by: str | None


class ResumeRefused(Model):
    """The session could not go on natively; only a retry remains."""

    kind: Literal["resume_refused"] = "resume_refused"
    attempt_id: str
    continuity: str
    message: str


class TurnUnknown(Model):
    """The host cannot tell whether it began a further turn; what may run of it is being ended."""

    kind: Literal["turn_unknown"] = "turn_unknown"
    attempt_id: str
    turn: Literal["reminder", "resume"]
    message: str


class AttemptResumed(Model):
    """The same native session goes on."""

    kind: Literal["attempt_resumed"] = "attempt_resumed"
    attempt_id: str


class RetryRequested(Model):
    """A person wants the visit tried again; it counts as one visit.

    ``visit_id`` may be a branch's id: each branch is a visit of its own.
    """

    kind: Literal["retry_requested"] = "retry_requested"
    node: str
    visit_id: str
    visits_used: int
    requested_by: str


class CheckStarted(Model):
    """One start of a check's command is scheduled under its own identity."""

    kind: Literal["check_started"] = "check_started"
    check_id: str
    node: str
    visit_id: str
    try_number: int


class CheckLaunched(Model):
    """The host has taken the check."""

    kind: Literal["check_launched"] = "check_launched"
    check_id: str


class CheckRefused(Model):
    """The host refused the check, or cannot tell whether it took it (``unknown``)."""

    kind: Literal["check_refused"] = "check_refused"
    check_id: str
    unknown: bool
    reason: str
    message: str


class CheckEnded(Model):
    """What became of one start of the command."""

    kind: Literal["check_ended"] = "check_ended"
    check_id: str
    state: Annotated[CheckExited | CheckLost, Field(discriminator="state")]


class ReviewReference(Model):
    """The review that a gate relies on."""

    join: str
    review_set_id: str
    frozen_commit: str


class GateRequested(Model):
    """A person's decision is asked for, about ``head_commit``.

    With a ``review`` that is the frozen commit, and an approval compares the head with it.
    """

    kind: Literal["gate_requested"] = "gate_requested"
    gate_id: str
    node: str
    title: str
    offered: tuple[GateDecision, ...]
    head_commit: str | None
    review: ReviewReference | None = None


class RunSuspended(Model):
    """The run waits at the gate."""

    kind: Literal["run_suspended"] = "run_suspended"
    gate_id: str
    node: str


class GateDecided(Model):
    """A person has decided, once and for good; the comments are about ``commit``."""

    kind: Literal["gate_decided"] = "gate_decided"
    gate_id: str
    node: str
    decision: GateDecision
    note: str | None
    decided_by: str
    roles: tuple[str, ...] = ()
    comments: tuple[GateComment, ...] = ()
    commit: str | None = None
    review_set_id: str | None = None


class RunCompleted(Model):
    """The run ended at an end node that completes it, or at an approved last gate."""

    kind: Literal["run_completed"] = "run_completed"
    node: str
    head_commit: str | None


class RunFailed(Model):
    """The run ended at an end node that fails it."""

    kind: Literal["run_failed"] = "run_failed"
    node: str
    head_commit: str | None


class CancelRequested(Model):
    """A person has canceled the run: nothing is launched any more, what runs is ended."""

    kind: Literal["cancel_requested"] = "cancel_requested"
    reason: str | None
    requested_by: str


class RunCanceled(Model):
    """Everything the run owned has been ended."""

    kind: Literal["run_canceled"] = "run_canceled"


Event = Annotated[
    RunStarted
    | RouteTaken
    | NodeEntered
    | NodeCompleted
    | NodeUnresolved
    | WorkspacePrepared
    | WorkspaceRefused
    | WorkspaceReleased
    | AttemptStarted
    | CredentialBound
    | AttemptLaunched
    | ReportAccepted
    | NativeRequestOpened
    | NativeRequestAnswered
    | NativeRequestClosed
    | ReminderIssued
    | ReminderDelivered
    | AttemptTimedOut
    | WorkInterrupted
    | AttemptSettled
    | AttemptRefused
    | ResumeRequested
    | ResumeRefused
    | TurnUnknown
    | AttemptResumed
    | RetryRequested
    | CheckStarted
    | CheckLaunched
    | CheckRefused
    | CheckEnded
    | GateRequested
    | RunSuspended
    | GateDecided
    | ChangeFrozen
    | ChangeRefused
    | ReviewForked
    | CheckoutVerified
    | BranchDeadlinePassed
    | BranchInterrupted
    | BranchEnded
    | HeadCompared
    | JoinCommitted
    | ReviewAgainRequested
    | RunCompleted
    | RunFailed
    | CancelRequested
    | RunCanceled,
    Field(discriminator="kind"),
]


class RecordedEvent(Model):
    """An event at its place in a run's history."""

    run_id: str
    sequence: int
    at_ms: int
    event: Event
