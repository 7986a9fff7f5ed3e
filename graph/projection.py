"""Everything a run's state implies for the outside, as one derived value.

The journal writes it beside the events in the same transaction; recovery and ``verify``
compute it again and compare. There is no hand-kept list of things to resend or to watch.
"""

from enum import StrEnum

from pointsman.graph.intents import Intent
from pointsman.graph.model import Model
from pointsman.graph.run import RunState


class DeadlineKind(StrEnum):
    """What a deadline ends."""

    EXECUTION_TIMEOUT = "execution_timeout"
    HUMAN_RESPONSE = "human_response"
    BRANCH_DEADLINE = "branch_deadline"


class Deadline(Model):
    """A persisted instant at which the run must be looked at."""

    deadline_id: str
    run_id: str
    kind: DeadlineKind
    due_at_ms: int

    @property
    def subject_id(self) -> str:
        """The attempt or the branch that it ends."""
        return self.deadline_id.partition(":")[0]


class AttentionKind(StrEnum):
    """Why a person is needed."""

    AWAITING_REVIEW = "awaiting_review"
    UNRESOLVED = "unresolved"
    NATIVE_REQUEST = "native_request"
    PROCESSES_LEFT = "processes_left"
    # Of no projection: the supervisor tells it of a run whose own state cannot be taken up.
    RUN_IN_TROUBLE = "run_in_trouble"


class AttentionItem(Model):
    """One thing that waits for a person; ``item_id`` is stable while it waits.

    ``branch`` is the reviewer's, if it is about one.
    """

    item_id: str
    run_id: str
    kind: AttentionKind
    node: str
    title: str
    detail: str
    since_ms: int
    thread_id: str | None = None
    branch: str | None = None


class RunSummary(Model):
    """One row of the list of runs. ``open_work`` are attempts and checks the host works on."""

    run_id: str
    workflow_id: str
    workflow_name: str
    state: RunState
    node: str | None
    repository: str
    started_at_ms: int
    updated_at_ms: int
    version: int
    open_work: tuple[str, ...]


class Projection(Model):
    """All rows that are functions of the run's state alone."""

    summary: RunSummary
    outbox: tuple[Intent, ...]
    deadlines: tuple[Deadline, ...]
    attention: tuple[AttentionItem, ...]
