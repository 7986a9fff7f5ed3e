"""What the command line's exit codes mean: one meaning each, the same for every command.

Light on purpose: ``pointsman --help`` tells the meanings. States are their public names, which
a test holds against the core's.
"""

from enum import IntEnum
from typing import Final


class ExitCode(IntEnum):
    """The exit codes of ``pointsman``."""

    OK = 0
    RUN_FAILED = 1
    USAGE = 2
    REFUSED = 3
    NEEDS_PERSON = 4
    CANCELED = 5
    UNAVAILABLE = 6
    INTERNAL = 7
    INTERRUPTED = 130


MEANINGS: Final = {
    ExitCode.OK: "done as asked; a run has completed, or waits at a gate for its decision",
    ExitCode.RUN_FAILED: "the run has ended as failed; a test of a workflow came out different",
    ExitCode.USAGE: "wrong usage or bad input: nothing was started or changed",
    ExitCode.REFUSED: "the run's state does not allow it: nothing was changed",
    ExitCode.NEEDS_PERSON: "the run is unresolved or asks something: a person must act",
    ExitCode.CANCELED: "the run has ended as canceled",
    ExitCode.UNAVAILABLE: "the server or the data directory cannot be used now",
    ExitCode.INTERNAL: "a defect of Pointsman; the journal is as it was",
    ExitCode.INTERRUPTED: "stopped by Ctrl-C; the run is durable and can go on",
}

_OF_STATE: Final = {
    "completed": ExitCode.OK,
    "awaiting_review": ExitCode.OK,
    "failed": ExitCode.RUN_FAILED,
    "unresolved": ExitCode.NEEDS_PERSON,
    # A run that was waited for and is still running asks a person something.
    "running": ExitCode.NEEDS_PERSON,
    "canceled": ExitCode.CANCELED,
}

UNAVAILABLE_PROBLEMS: Final = frozenset(
    {
        "unauthorized",
        "origin_refused",
        "port_in_use",
        "data_directory_in_use",
        "data_directory_newer",
        "data_directory_older",
        "data_directory_network",
        "data_directory_unusable",
        "server_unreachable",
        "journal_full",
        "journal_corrupt",
        "busy",
        "mailbox_full",
        "no_worker",
        "worker_lost",
        "host_unavailable",
        "engine_not_started",
        "history_in_use",
        "history_unavailable",
        "sql_busy",
    }
)

REFUSING_PROBLEMS: Final = frozenset(
    {
        "run_ended",
        "not_allowed",
        "stale_revision",
        "gate_unknown",
        "gate_decided",
        "decision_not_offered",
        "not_permitted",
        "review_stale",
        "head_unknown",
        "request_unknown",
        "request_answered",
        "cancelled",
        "not_due",
        "not_current",
    }
)


def of_state(state: str) -> ExitCode:
    """Return how a command ends that waited for a run and found it in this state."""
    return _OF_STATE[state]


def of_problem(code: str) -> ExitCode:
    """Return how a command ends that met this problem."""
    if code == "internal_error":
        return ExitCode.INTERNAL
    if code in UNAVAILABLE_PROBLEMS:
        return ExitCode.UNAVAILABLE
    return ExitCode.REFUSED if code in REFUSING_PROBLEMS else ExitCode.USAGE
