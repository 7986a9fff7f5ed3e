"""Commands: what anybody may ask of a run. Each is decided by one pure function.

Those of people and programs carry a ``command_id`` in their message; those that carry a
host's facts need none: saying a fact twice is harmless.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from pointsman.graph.definition import Workflow
from pointsman.graph.events import SkillSnapshot
from pointsman.graph.evidence import Checkout, HeadReading
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.results import GateComment, GateDecision
from pointsman.graph.work import CheckState, Receipt, WorkAggregate


class StartRun(Model):
    """Create the run with its whole definition, input and place of work."""

    kind: Literal["start_run"] = "start_run"
    run_id: str
    workflow: Workflow
    definition_source: str
    inputs: dict[str, JsonScalar]
    repository: str
    base_commit: str
    base_branch: str | None
    left_out: tuple[str, ...] = ()
    skills: tuple[SkillSnapshot, ...] = ()
    started_by: str


class SubmitReport(Model):
    """An agent's report, as it came over the wire, by an authenticated attempt."""

    kind: Literal["submit_report"] = "submit_report"
    attempt_id: str
    envelope: Any


class DecideGate(Model):
    """A person's decision on a gate, against the revision, and the review, that they saw.

    Who decides, and in which roles, is what the authenticated client asserts. ``head`` is no
    client's to say: the run's actor reads it right before an approval that relies on a review.
    """

    kind: Literal["decide_gate"] = "decide_gate"
    gate_id: str
    revision: int
    decision: GateDecision
    note: str | None = None
    comments: tuple[GateComment, ...] = ()
    decided_by: str
    roles: tuple[str, ...] = ()
    review_set_id: str | None = None
    head: HeadReading | None = None


class CancelRun(Model):
    """A person ends the run; nothing is launched any more."""

    kind: Literal["cancel_run"] = "cancel_run"
    reason: str | None = None
    requested_by: str


class ResumeAttempt(Model):
    """A person wants the interrupted native session to go on."""

    kind: Literal["resume_attempt"] = "resume_attempt"
    attempt_id: str
    revision: int
    requested_by: str


class RetryVisit(Model):
    """A person wants an unresolved visit tried again, as a new attempt.

    ``visit_id`` may be the id of an interrupted branch: each branch is a visit of its own.
    """

    kind: Literal["retry_visit"] = "retry_visit"
    visit_id: str
    revision: int
    requested_by: str


class ReviewAgain(Model):
    """A person wants the change reviewed anew: a new visit of the group (§10.25 of the design).

    ``visit_id`` is the stale gate, or the visit that is unresolved for its review.
    """

    kind: Literal["review_again"] = "review_again"
    visit_id: str
    revision: int
    requested_by: str


class AnswerNativeRequest(Model):
    """A person answers what the native harness asks."""

    kind: Literal["answer_native_request"] = "answer_native_request"
    attempt_id: str
    request_id: str
    allow: bool
    text: str | None = None
    answered_by: str


class BindCredential(Model):
    """Let a token, known by its digest, report for an attempt; before any launch."""

    kind: Literal["bind_credential"] = "bind_credential"
    attempt_id: str
    token_digest: str


class RecordReceipt(Model):
    """What the host answered to an intent, or what a lookup found of it."""

    kind: Literal["record_receipt"] = "record_receipt"
    intent_id: str
    receipt: Receipt


class RecordUnknown(Model):
    """The host cannot tell whether it ever took an intent."""

    kind: Literal["record_unknown"] = "record_unknown"
    intent_id: str
    why: str


class ObserveWork(Model):
    """An attempt's work aggregate as the host shows it now.

    ``turns_begun`` is how many turns the run knew of when the host was asked: an answer from
    before a later turn began, which may come late, must not be taken for that turn's end.
    """

    kind: Literal["observe_work"] = "observe_work"
    work: WorkAggregate
    turns_begun: int | None = None


class ObserveCheck(Model):
    """A check's state as the host shows it now."""

    kind: Literal["observe_check"] = "observe_check"
    check_id: str
    state: Annotated[CheckState, Field(discriminator="state")]


class ObserveCheckout(Model):
    """A reviewer's checkout as the host shows it now, for the look that was owed."""

    kind: Literal["observe_checkout"] = "observe_checkout"
    intent_id: str
    checkout: Checkout


class ObserveHead(Model):
    """The head of the change that a visit's review is about, as the host shows it now."""

    kind: Literal["observe_head"] = "observe_head"
    visit_id: str
    reading: HeadReading


class FireDeadline(Model):
    """A persisted deadline may have come."""

    kind: Literal["fire_deadline"] = "fire_deadline"
    deadline_id: str


class Advance(Model):
    """Do whatever the state owes; asked when a run is leased again."""

    kind: Literal["advance"] = "advance"


Command = Annotated[
    StartRun
    | SubmitReport
    | DecideGate
    | CancelRun
    | ResumeAttempt
    | RetryVisit
    | ReviewAgain
    | AnswerNativeRequest
    | BindCredential
    | RecordReceipt
    | RecordUnknown
    | ObserveWork
    | ObserveCheck
    | ObserveCheckout
    | ObserveHead
    | FireDeadline
    | Advance,
    Field(discriminator="kind"),
]
