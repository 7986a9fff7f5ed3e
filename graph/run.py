"""The state of one run: the fold of its events, and the small questions asked of it.

Everything that is owed (the next automatic step, intents, deadlines, attention, allowed
actions) is computed from this value alone; nothing depends on having seen an event go by.
"""

from enum import StrEnum

from pointsman.graph.attempt import ReportReceipt, Tried
from pointsman.graph.declarations import AgentChoice
from pointsman.graph.definition import Node, ParallelNode, Workflow
from pointsman.graph.events import ReviewReference, SkillSnapshot
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.results import GateDecision, NodeResult
from pointsman.graph.review_set import ReviewSet
from pointsman.graph.work import CheckExited, CheckLost
from pointsman.graph.workspace import Workspace


class RunState(StrEnum):
    """The public state (spec, *Lifecycle and exits*)."""

    RUNNING = "running"
    AWAITING_REVIEW = "awaiting_review"
    UNRESOLVED = "unresolved"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


ENDED_STATES = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELED})


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
    unknown: bool = False


class OpenGate(Model):
    """A gate that was opened in this visit, and its decision once it is made.

    ``offered`` loses the approval once the reviewed change is seen to have moved.
    """

    gate_id: str
    revision: int
    since_ms: int
    title: str
    offered: tuple[GateDecision, ...]
    head_commit: str | None = None
    review: ReviewReference | None = None
    decision: GateDecision | None = None
    suspended: bool = False


class HeadComparison(Model):
    """The head as it was seen in a visit that relies on a review; ``None`` if unknown."""

    head: str | None
    why: str | None = None


class Refusal(Model):
    """Why nothing was frozen."""

    reason: str
    message: str


class Visit(Tried):
    """One admitted entry of a node.

    ``try_owed`` says that a new attempt, start of the check, or freezing is due; ``tries`` does
    not count a check's own retries. ``completed`` says that the visit's route is due, ``again``
    names the group to which a person sends the run back for a new review.
    """

    node: str
    visit_id: str
    number: int
    entered_at_ms: int
    checks: tuple[CheckTry, ...] = ()
    gate: OpenGate | None = None
    comparison: HeadComparison | None = None
    freeze_refused: Refusal | None = None
    completed: bool = False
    again: str | None = None

    @property
    def tried_id(self) -> str:
        """What a retry names."""
        return self.visit_id

    @property
    def check(self) -> CheckTry | None:
        """The start of the check's command in force."""
        return self.checks[-1] if self.checks else None


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
    """One run as of ``version`` events (the next sequence number).

    ``reviews`` holds the latest review set by its join; ``workspaces_to_release`` are reviewers'
    worktrees of earlier ones. ``last_route`` is the key of the route that was taken last.
    """

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
    last_route: str | None = None
    results: dict[str, NodeResult] = {}
    reviews: dict[str, ReviewSet] = {}
    workspaces_to_release: tuple[str, ...] = ()
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
        review = self.review_underway
        if review is not None and all(branch.unresolved for branch in review.open_branches):
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

    @property
    def review_underway(self) -> ReviewSet | None:
        """The forked review set of the group being visited, while branches of it are open."""
        node = self.node
        review = self.reviews.get(node.join) if isinstance(node, ParallelNode) else None
        if review is None or self.visit is None or review.review_set_id != self.visit.visit_id:
            return None
        return review if review.open_branches else None

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
