"""The state of one run: the fold of its events, and the small questions asked of it.

Everything that is owed (the next automatic step, intents, deadlines, attention, allowed
actions) is computed from this value alone; nothing depends on having seen an event go by.
"""

from enum import StrEnum
from typing import Any

from pointsman.graph.declarations import AgentChoice
from pointsman.graph.definition import Node, Workflow
from pointsman.graph.events import SkillSnapshot, UnresolvedReason
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.results import (
    EvidenceReference,
    GateDecision,
    NodeResult,
    ReportOutcome,
)
from pointsman.graph.settlement import SettlementOutcome
from pointsman.graph.work import CheckExited, CheckLost, NativeRequest


class RunState(StrEnum):
    """The public state (spec, *Lifecycle and exits*)."""

    RUNNING = "running"
    AWAITING_REVIEW = "awaiting_review"
    UNRESOLVED = "unresolved"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


ENDED_STATES = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELED})


class AcceptedReport(Model):
    """The one report of an attempt, with the receipt it was answered with."""

    receipt_id: str
    retry_key: str
    payload_digest: str
    accepted_at_ms: int
    outcome: ReportOutcome
    summary: str
    data: dict[str, JsonScalar]
    evidence: tuple[EvidenceReference, ...]


class ReportReceipt(Model):
    """What is kept of the report of an earlier attempt: enough to answer an exact retry."""

    receipt_id: str
    retry_key: str
    payload_digest: str
    accepted_at_ms: int


class AttemptStatus(StrEnum):
    """Where an attempt stands between its order and its settlement."""

    SCHEDULED = "scheduled"
    LAUNCHED = "launched"
    REFUSED = "refused"
    SETTLED = "settled"


class ReminderStatus(StrEnum):
    """Whether the attempt's one reminder was used."""

    UNUSED = "unused"
    OWED = "owed"
    DELIVERED = "delivered"


class OpenRequest(Model):
    """A native request that a person has to answer, and the answer once it is given."""

    request: NativeRequest
    since_ms: int
    answered: bool = False
    allow: bool = False
    text: str | None = None


class Attempt(Model):
    """One try of an agent visit.

    The execution timeout has ``remaining_ms`` left as of ``running_since_ms``; it stands still
    (``None``) before the launch, while a native request is open, and after settlement.
    """

    attempt_id: str
    try_number: int
    status: AttemptStatus
    remaining_ms: int
    running_since_ms: int | None = None
    report: AcceptedReport | None = None
    reminder: ReminderStatus = ReminderStatus.UNUSED
    requests: tuple[OpenRequest, ...] = ()
    timed_out: bool = False
    interrupted: bool = False
    outcome: SettlementOutcome | None = None
    outcome_reason: str | None = None
    refusal: str | None = None
    refusal_unknown: bool = False
    resumable: bool = False
    lost: bool = False
    resumes: int = 0
    resumes_by_policy: int = 0
    resume_owed: bool = False


class CheckTryStatus(StrEnum):
    """Where one start of a check's command stands."""

    SCHEDULED = "scheduled"
    LAUNCHED = "launched"
    REFUSED = "refused"
    ENDED = "ended"


class CheckTry(Model):
    """One start of a check's command."""

    check_id: str
    try_number: int
    status: CheckTryStatus
    interrupted: bool = False
    ended: CheckExited | CheckLost | None = None
    reason: str | None = None


class OpenGate(Model):
    """A gate that was opened in this visit, and its decision once it is made."""

    gate_id: str
    revision: int
    since_ms: int
    title: str
    offered: tuple[GateDecision, ...]
    head_commit: str | None = None
    decision: GateDecision | None = None
    suspended: bool = False


class Unresolved(Model):
    """Why the visit has no result; ``revision`` is what an action on it must name."""

    reason: UnresolvedReason
    detail: str
    revision: int
    since_ms: int


class Visit(Model):
    """One admitted entry of a node.

    ``try_owed`` says that a new attempt (or start of the check) is due; ``tries`` counts those
    asked for by the entry and by people, not a check's own retries. ``completed`` says that the
    visit's route is due.
    """

    node: str
    visit_id: str
    number: int
    entered_at_ms: int
    inputs: dict[str, Any] = {}
    try_owed: bool = False
    tries: int = 1
    attempts: tuple[Attempt, ...] = ()
    checks: tuple[CheckTry, ...] = ()
    gate: OpenGate | None = None
    unresolved: Unresolved | None = None
    completed: bool = False

    @property
    def attempt(self) -> Attempt | None:
        """The attempt in force."""
        return self.attempts[-1] if self.attempts else None

    @property
    def check(self) -> CheckTry | None:
        """The start of the check's command in force."""
        return self.checks[-1] if self.checks else None


class WorkspaceStatus(StrEnum):
    """Where the run's own worktree stands."""

    ABSENT = "absent"
    PREPARED = "prepared"
    REFUSED = "refused"
    RELEASED = "released"


class Workspace(Model):
    """The run's own worktree. ``tries`` counts the orders to prepare it."""

    status: WorkspaceStatus = WorkspaceStatus.ABSENT
    tries: int = 1
    path: str | None = None
    branch: str | None = None
    kept: bool = False
    detail: str | None = None


class ProcessesLeft(Model):
    """Processes of an attempt or a check that the host could not end."""

    count: int
    since_ms: int


class Cancellation(Model):
    """A person's cancel, in force from its commit on."""

    reason: str | None
    requested_by: str
    requested_at_ms: int


class Run(Model):
    """One run as of ``version`` events (the next sequence number)."""

    run_id: str
    version: int
    workflow: Workflow
    definition_digest: str
    definition_source: str
    inputs: dict[str, JsonScalar]
    repository: str
    base_commit: str
    base_branch: str | None
    left_out: tuple[str, ...]
    skills: tuple[SkillSnapshot, ...]
    started_by: str
    started_at_ms: int
    updated_at_ms: int
    ended_at_ms: int | None = None
    ended_as: RunState | None = None
    cancellation: Cancellation | None = None
    workspace: Workspace = Workspace()
    processes_left: dict[str, ProcessesLeft] = {}
    visit: Visit | None = None
    visits_used: int = 0
    visit_counts: dict[str, int] = {}
    route_counts: dict[str, int] = {}
    results: dict[str, NodeResult] = {}
    earlier_reports: dict[str, ReportReceipt] = {}
    head_commit: str | None = None

    @property
    def state(self) -> RunState:
        """The public state, derived."""
        if self.ended_as is not None:
            return self.ended_as
        if self.cancellation is not None:
            return RunState.CANCELED
        if self.visit is not None and self.visit.unresolved is not None:
            return RunState.UNRESOLVED
        gate = self.visit.gate if self.visit is not None else None
        if gate is not None and gate.decision is None:
            return RunState.AWAITING_REVIEW
        return RunState.RUNNING

    @property
    def ended(self) -> bool:
        """Whether the run takes no transition any more."""
        return self.ended_as is not None

    @property
    def processes_left_count(self) -> dict[str, int]:
        """How many processes of each attempt or check could not be ended."""
        return {subject: left.count for subject, left in self.processes_left.items()}

    @property
    def node(self) -> Node | None:
        """The definition of the node being visited."""
        return self.workflow.nodes[self.visit.node] if self.visit is not None else None

    def skill_for(self, agent: AgentChoice) -> SkillSnapshot | None:
        """The skill an agent uses, as it was when the run was started."""
        return next(
            (
                skill
                for skill in self.skills
                if skill.name == agent.skill and skill.provider in (None, agent.provider)
            ),
            None,
        )

    @property
    def visits_left(self) -> int:
        """How many further automated visits the whole-run bound admits."""
        return max(0, self.workflow.visits.max - self.visits_used)
