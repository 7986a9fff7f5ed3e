"""The state of one agent's work: its attempts, and where a visit or a branch stands with them."""

from enum import StrEnum
from typing import Any, Final

from pointsman.graph.events import TimeLimit, UnresolvedReason
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.results import EvidenceReference, ReportOutcome
from pointsman.graph.settlement import SettlementOutcome
from pointsman.graph.work import NativeRequest


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


# What the host works on, or is about to.
OPEN_ATTEMPT: Final = frozenset({AttemptStatus.SCHEDULED, AttemptStatus.LAUNCHED})


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
    ``limit`` says which limit ended the work, if it is ``timed_out``. ``turn_unknown`` says why
    nobody can tell whether a further turn was begun.
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
    limit: TimeLimit = TimeLimit.EXECUTION
    interrupted: bool = False
    outcome: SettlementOutcome | None = None
    outcome_reason: str | None = None
    refusal: str | None = None
    refusal_unknown: bool = False
    turn_unknown: str | None = None
    resumable: bool = False
    lost: bool = False
    resumes: int = 0
    resumes_by_policy: int = 0
    resume_owed: bool = False


class Unresolved(Model):
    """Why the visit has no result; ``revision`` is what an action on it must name."""

    reason: UnresolvedReason
    detail: str
    revision: int
    since_ms: int


class Tried(Model):
    """What agents are set to work on: a visit, or a reviewer's branch.

    ``try_owed`` says that a new attempt is due; ``tries`` counts those asked for by the entry and
    by people. With ``unresolved`` a person is needed.
    """

    inputs: dict[str, Any] = {}
    try_owed: bool = False
    tries: int = 1
    attempts: tuple[Attempt, ...] = ()
    unresolved: Unresolved | None = None

    @property
    def attempt(self) -> Attempt | None:
        """The attempt in force."""
        return self.attempts[-1] if self.attempts else None


def limit_in_words(attempt: Attempt) -> str:
    """Say which limit ended an attempt's work."""
    if attempt.limit is TimeLimit.ANSWER:
        return "nobody answered the agent's question in time"
    return "the execution timeout ran out"
