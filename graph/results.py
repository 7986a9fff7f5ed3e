"""What a finished visit leaves for later nodes to read: one typed result per node.

Only the latest successful visit of a node is kept (§10.30 of the design): entering a node
again takes its earlier result away, so no stale result steers a later decision.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from pointsman.graph.model import JsonScalar, Model


class ReportOutcome(StrEnum):
    """What the agent claims of its own work."""

    COMPLETED = "completed"
    BLOCKED = "blocked"
    FAILED = "failed"


class EvidenceReference(Model):
    """A pointer an agent gives for its claim; stored as a claim, never verified by us."""

    kind: str
    reference: str


class ReportResult(Model):
    """An accepted report whose attempt settled well."""

    kind: Literal["report"] = "report"
    attempt_id: str
    outcome: ReportOutcome
    summary: str
    data: dict[str, JsonScalar]
    evidence: tuple[EvidenceReference, ...] = ()


class CheckResult(Model):
    """The typed result of a check that ran to its own exit.

    ``output_tail`` is bounded; the full log is the file ``log_reference`` names, whose
    SHA-256 is ``log_digest``.
    """

    kind: Literal["check"] = "check"
    check_id: str
    exit_code: int
    duration_s: float
    output_tail: str = ""
    log_reference: str | None = None
    log_digest: str | None = None


class GateDecision(StrEnum):
    """What a person decides at a gate."""

    APPROVE = "approve"
    REQUEST_CHANGES = "request_changes"


class GateComment(Model):
    """One remark of a person on the change that was decided upon.

    ``path`` is relative to the repository; without ``line`` it is about the file as a whole.
    """

    path: str
    line: int | None = None
    text: str


class GateResult(Model):
    """A person's recorded decision; ``commit`` is what it and its comments are about."""

    kind: Literal["gate"] = "gate"
    gate_id: str
    decision: GateDecision
    note: str | None = None
    comments: tuple[GateComment, ...] = ()
    decided_by: str
    commit: str | None = None


class JoinResult(Model):
    """The reports of every reviewer on one frozen commit, by branch; only when all completed."""

    kind: Literal["join"] = "join"
    review_set_id: str
    frozen_commit: str
    reports: dict[str, ReportResult]


NodeResult = Annotated[
    ReportResult | CheckResult | GateResult | JoinResult, Field(discriminator="kind")
]
