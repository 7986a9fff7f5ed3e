"""Refusals: why a command changed nothing, as a value with a stable code.

The page of each code (what happened, what is safe, what to do) is the gateway's; the core
only names it and adds what is particular to the case.
"""

from enum import StrEnum
from typing import Any

from pointsman.graph.model import Model


class RejectionCode(StrEnum):
    """Every way a command can be refused by the core."""

    RUN_UNKNOWN = "run_unknown"
    RUN_EXISTS = "run_exists"
    RUN_ENDED = "run_ended"
    COMMAND_ID_REUSED = "command_id_reused"
    INPUT_INVALID = "input_invalid"
    NOT_ALLOWED = "not_allowed"
    STALE_REVISION = "stale_revision"
    GATE_UNKNOWN = "gate_unknown"
    GATE_DECIDED = "gate_decided"
    DECISION_NOT_OFFERED = "decision_not_offered"
    NOT_PERMITTED = "not_permitted"
    COMMENTS_INVALID = "comments_invalid"
    REQUEST_UNKNOWN = "request_unknown"
    REQUEST_ANSWERED = "request_answered"
    NOT_BOUND = "not_bound"
    STALE_ATTEMPT = "stale_attempt"
    CANCELLED = "cancelled"
    SETTLED = "settled"
    CONFLICT = "conflict"
    KEY_REUSED = "key_reused"
    INVALID = "invalid"
    TOO_LARGE = "too_large"
    UNSUPPORTED_VERSION = "unsupported_version"
    REVIEW_STALE = "review_stale"
    HEAD_UNKNOWN = "head_unknown"
    NOT_DUE = "not_due"
    NOT_CURRENT = "not_current"


class Rejected(Model):
    """A refusal. ``message`` says what is so; ``details`` are data for machines."""

    code: RejectionCode
    message: str
    details: dict[str, Any] = {}
