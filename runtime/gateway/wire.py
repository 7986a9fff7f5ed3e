"""What travels over the HTTP API: the bodies of requests and answers, closed and never coerced.

The answers about runs are those of ``runtime.queries``. Every mutation names a ``command_id``
that its client chose: the same id with the same body gets the first answer again.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from pointsman.graph import limits
from pointsman.graph.events import SkillSnapshot
from pointsman.graph.model import Model
from pointsman.graph.results import GateComment
from pointsman.runtime.workflows import WorkflowRow
from pointsman.storage.definition_text import PlacedProblem

COMMAND_ID_CHARS_MAX = 128
CANCEL_WAIT_S_MAX = 60.0

CommandId = Annotated[str, StringConstraints(min_length=1, max_length=COMMAND_ID_CHARS_MAX)]
Person = Annotated[str, StringConstraints(min_length=1, max_length=limits.TITLE_CHARS_MAX)]
Note = Annotated[str, StringConstraints(max_length=limits.NOTE_CHARS_MAX)]
Id = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class ValidateRequest(Model):
    """A definition's text; ``name`` is how problems call it."""

    text: str
    name: str = "workflow.yaml"


class ValidWorkflow(Model):
    """What a valid definition is."""

    id: str
    name: str
    revision: int
    digest: str


class Validation(Model):
    """Either the workflow, or everything that is wrong with its text."""

    name: str
    workflow: ValidWorkflow | None
    problems: list[PlacedProblem]

    @property
    def valid(self) -> bool:
        return self.workflow is not None


class WorkflowsPage(Model):
    """The workflows of a project: its own files first, then the packaged examples."""

    workflows: list[WorkflowRow]


class SaveRequest(Model):
    """A workflow file's new text. ``expected_revision`` is that of the file as it was read.

    It is ``null`` for a file that must not exist yet. The file is written with exactly this text.
    """

    repository: Id
    text: str
    expected_revision: Id | None


class SaveReply(Model):
    """The saved file with its new revision; not ``changed`` when it had this text already."""

    workflow: WorkflowRow
    changed: bool


class SkillsPage(Model):
    """The skills a provider has in a project."""

    skills: list[SkillSnapshot]


class StartRequest(Model):
    """Start a run of a definition's text in a repository (an absolute path at the host)."""

    command_id: CommandId
    definition: str
    source: Id
    repository: Id
    inputs: dict[str, Any] = {}
    started_by: Person


class StartReply(Model):
    """The run; ``duplicate`` when the same start had made it before."""

    run_id: str
    duplicate: bool


class GateRequest(Model):
    """A decision on a gate, against the revision that was seen.

    ``roles`` are those in which the person decides, as the client knows them. A request for
    changes may carry comments; their bounds are the core's, which names every mistake in them.
    """

    command_id: CommandId
    gate_id: Id
    revision: int
    decision: Literal["approve", "request_changes"]
    note: Note | None = None
    comments: list[GateComment] = []
    decided_by: Person
    roles: list[Person] = Field(default=[], max_length=limits.DECIDERS_MAX)


class CancelRequest(Model):
    """End the run. ``wait_s`` is how long the answer may wait for the processes' end."""

    command_id: CommandId
    reason: Note | None = None
    requested_by: Person
    wait_s: float = Field(default=10.0, ge=0.0, le=CANCEL_WAIT_S_MAX)


class ResumeRequest(Model):
    """Let an interrupted native session go on."""

    command_id: CommandId
    attempt_id: Id
    revision: int
    requested_by: Person


class RetryRequest(Model):
    """Try an unresolved visit again, as a new attempt."""

    command_id: CommandId
    visit_id: Id
    revision: int
    requested_by: Person


class AnswerRequest(Model):
    """Answer what the native harness asks."""

    command_id: CommandId
    attempt_id: Id
    request_id: Id
    allow: bool
    text: Note | None = None
    answered_by: Person


class CommandReply(Model):
    """An accepted command. ``state`` is the run's right after it."""

    run_id: str
    duplicate: bool
    state: str


class CancelReply(Model):
    """A canceled run. While ``still_ending`` names work, its processes are being ended."""

    run_id: str
    duplicate: bool
    ended: bool
    still_ending: list[str]
    processes_left: dict[str, int]


class ReportReceipt(Model):
    """The durable answer to an accepted report."""

    receipt_id: str
    attempt_id: str
    accepted_at: str
    payload_digest: str
    duplicate: bool


class ReportFieldError(Model):
    """One mistake in a report and what would be right there."""

    path: str
    problem: str
    expected: str


class ReportAnswer(Model):
    """What an agent is told: its receipt, or why the report was refused and what then helps.

    ``retry`` is ``resend_unchanged`` only when the report could not be judged at all.
    """

    ok: bool
    receipt: ReportReceipt | None = None
    code: str | None = None
    message: str | None = None
    fields: list[ReportFieldError] = []
    retry: Literal["fix_and_resend", "do_not_retry", "resend_unchanged"] | None = None
