"""What travels over the HTTP API: the bodies of requests and answers, closed and never coerced.

The answers about runs are those of ``runtime.views.queries``. Every mutation names a ``command_id``
that its client chose: the same id with the same body gets the first answer again.
"""

from typing import Annotated, Any, Literal

from pydantic import StringConstraints

from pointsman.graph import limits
from pointsman.graph.events import SkillSnapshot
from pointsman.graph.model import Model
from pointsman.runtime.workflows import WorkflowRow
from pointsman.storage.definition_text import PlacedProblem

COMMAND_ID_CHARS_MAX = 128

CommandId = Annotated[str, StringConstraints(min_length=1, max_length=COMMAND_ID_CHARS_MAX)]
Person = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.TITLE_CHARS_MAX, pattern=r"\S")
]
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
