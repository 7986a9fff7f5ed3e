"""Every stable code a person or a program can meet, once: its number, status and page.

What a code means (title, what is safe, what to do) stands in its page below ``error_codes/``
and is read from there, so that the command line, the API and the reader's page say the same.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from pointsman.actors.messages import Unavailable
from pointsman.graph.rejections import Rejected


@dataclass(frozen=True, slots=True)
class Page:
    """The text of one code's page."""

    title: str
    happened: str
    safe: str
    next: str


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One stable code. ``status`` is the HTTP status it travels with."""

    code: str
    number: str
    status: int

    @property
    def page(self) -> Page:
        """What happened, what is safe and what to do, in words."""
        return _page(self.number)


def _kinds(rows: Iterable[tuple[str, str, int]]) -> dict[str, ProblemKind]:
    return {code: ProblemKind(code, number, status) for number, code, status in rows}


PROBLEMS: Final = _kinds(
    (
        # The service and its surroundings.
        ("PM0001", "internal_error", 500),
        ("PM0002", "request_invalid", 422),
        ("PM0003", "request_too_large", 413),
        ("PM0004", "unauthorized", 401),
        ("PM0005", "origin_refused", 403),
        ("PM0006", "not_found", 404),
        ("PM0007", "method_not_allowed", 405),
        ("PM0008", "config_invalid", 422),
        ("PM0009", "usage_invalid", 422),
        ("PM0010", "port_in_use", 409),
        ("PM0011", "data_directory_in_use", 409),
        ("PM0012", "data_directory_newer", 409),
        ("PM0013", "data_directory_network", 409),
        ("PM0014", "data_directory_unusable", 409),
        ("PM0015", "server_unreachable", 503),
        ("PM0016", "journal_full", 507),
        ("PM0017", "journal_corrupt", 500),
        ("PM0018", "busy", 503),
        ("PM0019", "mailbox_full", 503),
        ("PM0020", "no_worker", 503),
        ("PM0021", "worker_lost", 503),
        ("PM0022", "host_unavailable", 503),
        ("PM0023", "run_in_trouble", 503),
        ("PM0024", "engine_not_started", 503),
        # Starting a run.
        ("PM0030", "definition_invalid", 422),
        ("PM0031", "definition_unknown", 404),
        ("PM0032", "input_invalid", 422),
        ("PM0033", "provider_unavailable", 409),
        ("PM0034", "provider_mode_unsupported", 409),
        ("PM0035", "skill_missing", 409),
        ("PM0037", "answers_invalid", 422),
        ("PM0038", "file_exists", 409),
        ("PM0040", "repository_missing", 409),
        ("PM0041", "repository_not_git", 409),
        ("PM0042", "repository_bare", 409),
        ("PM0043", "repository_empty", 409),
        ("PM0044", "repository_unsafe", 409),
        ("PM0045", "git_missing", 409),
        ("PM0046", "repository_refused", 409),
        # Acting on a run.
        ("PM0050", "run_unknown", 404),
        ("PM0051", "run_exists", 409),
        ("PM0052", "run_ended", 409),
        ("PM0053", "command_id_reused", 409),
        ("PM0054", "not_allowed", 409),
        ("PM0055", "stale_revision", 409),
        ("PM0056", "gate_unknown", 404),
        ("PM0057", "gate_decided", 409),
        ("PM0058", "decision_not_offered", 422),
        ("PM0059", "request_unknown", 404),
        ("PM0060", "request_answered", 409),
        ("PM0061", "cancelled", 409),
        ("PM0062", "not_due", 409),
        ("PM0063", "not_current", 409),
        ("PM0064", "not_permitted", 403),
        ("PM0065", "comments_invalid", 422),
        ("PM0066", "review_stale", 409),
        ("PM0067", "head_unknown", 503),
        # Reporting.
        ("PM0070", "not_bound", 403),
        ("PM0071", "stale_attempt", 409),
        ("PM0072", "settled", 409),
        ("PM0073", "conflict", 409),
        ("PM0074", "key_reused", 409),
        ("PM0075", "invalid", 422),
        ("PM0076", "too_large", 413),
        ("PM0077", "unsupported_version", 422),
        # Saving a workflow.
        ("PM0080", "revision_conflict", 409),
        ("PM0081", "workflow_not_written", 409),
        # Backups.
        ("PM0082", "backup_exists", 409),
        ("PM0083", "backup_invalid", 422),
        ("PM0084", "restore_target_used", 409),
        ("PM0085", "restored", 409),
        ("PM0086", "data_directory_older", 409),
        # Schedules.
        ("PM0090", "schedule_unknown", 404),
        ("PM0091", "schedule_invalid", 422),
        ("PM0092", "schedule_conflict", 409),
        ("PM0093", "occurrence_unknown", 404),
        ("PM0094", "schedules_full", 409),
        # The history in SQL.
        ("PM0095", "sql_refused", 422),
        ("PM0096", "sql_failed", 422),
        ("PM0097", "sql_too_long", 422),
        ("PM0098", "history_in_use", 409),
        ("PM0099", "history_refused", 409),
        ("PM0100", "sql_busy", 503),
        ("PM0101", "history_unavailable", 503),
    )
)


class PointsmanError(Exception):
    """A problem with a stable code; what was asked has changed nothing unless its page says so.

    ``message`` is what is so in this case; ``details`` are data for machines.
    """

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details or {}

    def __reduce__(self) -> tuple[type["PointsmanError"], tuple[str, str, dict[str, Any]]]:
        return type(self), (self.code, self.message, self.details)

    @property
    def kind(self) -> ProblemKind:
        """The row of the table; an unknown code (of a newer server) reads as internal."""
        return PROBLEMS.get(self.code, PROBLEMS["internal_error"])


def refused(answer: Rejected | Unavailable) -> PointsmanError:
    """Turn a run's refusal into the error that its caller meets."""
    details = answer.details if isinstance(answer, Rejected) else {}
    return PointsmanError(str(answer.code), answer.message, details)


def document(error: PointsmanError) -> dict[str, Any]:
    """Return the RFC 9457 problem document of an error."""
    kind = error.kind
    return {
        "type": f"/problems/{kind.number}",
        "title": kind.page.title,
        "status": kind.status,
        "detail": error.message,
        "code": error.code,
        "problem": kind.number,
        "safe": kind.page.safe,
        "next": kind.page.next,
        "details": error.details,
    }


_HEADING: Final = re.compile(r"# PM\d{4} (?P<code>[a-z_]+): (?P<title>.+)")


def page_text(number: str) -> str | None:
    """Return a page as it is written, or ``None`` when there is none of that number."""
    known = {kind.number for kind in PROBLEMS.values()}
    if number not in known:
        return None
    folder = resources.files("pointsman.runtime.error_codes")
    return (folder / f"{number}.md").read_text(encoding="utf-8")


@cache
def _page(number: str) -> Page:
    text = page_text(number)
    assert text is not None, f"{number} is no number of a problem"
    heading, *sections = text.split("\n## ")
    match = _HEADING.match(heading)
    assert match is not None, f"the page of {number} has no proper heading"
    said = {
        title.strip(): " ".join(body.split())
        for title, _, body in (section.partition("\n") for section in sections)
    }
    return Page(
        title=match["title"].strip(),
        happened=said["What happened"],
        safe=said["What is safe"],
        next=said["What to do"],
    )
