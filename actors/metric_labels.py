"""The values that labels of metrics may have, where no other list of them exists."""

from enum import StrEnum
from typing import Final

# Whatever is none of a list's.
OTHER: Final = "other"
# What people and agents ask, as the gateway sees it.
COMMANDS: Final = (
    "start_run",
    "submit_report",
    "decide_gate",
    "cancel_run",
    "resume_attempt",
    "retry_visit",
    "review_again",
    "answer_native_request",
    OTHER,
)
PROVIDERS: Final = ("claude", "codex", "opencode", "scripted", OTHER)
# A report is refused by the run, by the gateway before that, or not judged at all.
REPORT_CODES: Final = (
    *("invalid", "too_large", "unsupported_version", "conflict", "key_reused", "settled"),
    *("stale_attempt", "cancelled", "not_bound", "unauthorized", "run_in_trouble"),
    *("journal_full", "mailbox_full", "busy", "no_worker", "worker_lost", "internal_error", OTHER),
)


class Age(StrEnum):
    """How long something has waited: less than an hour, a day, a week, or longer."""

    MINUTES = "minutes"
    HOURS = "hours"
    DAYS = "days"
    WEEKS = "weeks"


class IntentOutcome(StrEnum):
    """What came of one try to perform an intent."""

    TAKEN = "taken"
    TAKEN_BEFORE = "taken_before"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    OBSERVED = "observed"
    HOST_UNAVAILABLE = "host_unavailable"
    WORKER_LOST = "worker_lost"


class LeaseLoss(StrEnum):
    """Why a run was taken from its worker without having been passivated."""

    WORKER_LOST = "worker_lost"
    FENCED = "fenced"
    RUN_IN_TROUBLE = "run_in_trouble"


class ActorPlace(StrEnum):
    """Where runs and run actors are: a run at an actor, an actor in the pool, a run at none."""

    LEASED = "leased"
    POOLED = "pooled"
    PASSIVATED = "passivated"


class HostKind(StrEnum):
    """Which host: the one of this machine, or one that has dialled in."""

    LOCAL = "local"
    REMOTE = "remote"


class SqlOutcome(StrEnum):
    """How a query of the history ended; canceled: nobody waited for it any more."""

    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"
    TOO_LONG = "too_long"
    BUSY = "busy"
    UNAVAILABLE = "unavailable"
    CANCELED = "canceled"


class WorktreeRole(StrEnum):
    """Whose worktree: the run's own, or a reviewer's."""

    PRIMARY = "primary"
    REVIEWER = "reviewer"
