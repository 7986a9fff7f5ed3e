"""What travels over the HTTP API when a person acts on a run, and the command each becomes.

One class an action: its ``path`` below the run's address, its fields, and in one table the core's
command. The fields are the command's own, so that there is nothing to carry over by hand.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

from pydantic import Field

from pointsman.graph import limits
from pointsman.graph.commands import (
    AnswerNativeRequest,
    CancelRun,
    Command,
    DecideGate,
    ResumeAttempt,
    RetryVisit,
    ReviewAgain,
)
from pointsman.graph.model import Model
from pointsman.graph.results import GateComment
from pointsman.runtime.wire.requests import CommandId, Id, Note, Person

CANCEL_WAIT_S_MAX = 60.0


class ActionRequest(Model):
    """A person's action on a run, once under its ``command_id``."""

    path: ClassVar[str]
    command_id: CommandId


class GateRequest(ActionRequest):
    """A decision on a gate, against the revision that was seen.

    ``review_set_id`` is the review that was seen, if the gate relies on one: the decision is then
    refused once there is another. Where the change stands is no client's to say.

    ``roles`` are those in which the person decides, as the client knows them. A request for
    changes may carry comments; their bounds are the core's, which names every mistake in them.
    """

    path: ClassVar[str] = "gate"
    gate_id: Id
    revision: int
    review_set_id: Id | None = None
    decision: Literal["approve", "request_changes"]
    note: Note | None = None
    comments: list[GateComment] = []
    decided_by: Person
    roles: list[Person] = Field(default=[], max_length=limits.DECIDERS_MAX)


class CancelRequest(ActionRequest):
    """End the run. ``wait_s`` is how long the answer may wait for the processes' end."""

    path: ClassVar[str] = "cancel"
    reason: Note | None = None
    requested_by: Person
    wait_s: float = Field(default=10.0, ge=0.0, le=CANCEL_WAIT_S_MAX)


class ResumeRequest(ActionRequest):
    """Let an interrupted native session go on."""

    path: ClassVar[str] = "resume"
    attempt_id: Id
    revision: int
    requested_by: Person


class RetryRequest(ActionRequest):
    """Try an unresolved visit again, or an interrupted reviewer by its branch's id."""

    path: ClassVar[str] = "retry"
    visit_id: Id
    revision: int
    requested_by: Person


class ReviewAgainRequest(ActionRequest):
    """Have the change reviewed anew, from the visit or gate whose review is of no use any more."""

    path: ClassVar[str] = "review-again"
    visit_id: Id
    revision: int
    requested_by: Person


class AnswerRequest(ActionRequest):
    """Answer what the native harness asks."""

    path: ClassVar[str] = "answer"
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


_COMMANDS: Final[Mapping[type[ActionRequest], type[Command]]] = {
    GateRequest: DecideGate,
    CancelRequest: CancelRun,
    ResumeRequest: ResumeAttempt,
    RetryRequest: RetryVisit,
    ReviewAgainRequest: ReviewAgain,
    AnswerRequest: AnswerNativeRequest,
}
# Of the wire alone: under which id the command is told, and how long the client waits for it.
_OF_THE_WIRE: Final = {"command_id", "wait_s"}


def command_of(request: ActionRequest) -> Command:
    """Return the core's command that a request asks for."""
    made = _COMMANDS[type(request)]
    return made.model_validate_json(request.model_dump_json(exclude=_OF_THE_WIRE))
