"""What clients see of agents' work: attempts with their reports, requests and timeouts.

An agent's visit and a reviewer's branch show their attempts alike.
"""

from datetime import UTC, datetime

from pointsman.graph import ids
from pointsman.graph.attempt import Attempt, Unresolved
from pointsman.graph.model import JsonScalar, Model


def timestamp(at_ms: int) -> str:
    """Return an instant as RFC 3339 text in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class UnresolvedView(Model):
    """Why a visit or a reviewer has no result; ``revision`` must be given back with an action."""

    reason: str
    detail: str
    revision: int


class ReportView(Model):
    """An agent's accepted report: a claim. Checks and gates are separate evidence."""

    receipt_id: str
    accepted_at: str
    payload_digest: str
    outcome: str
    summary: str
    data: dict[str, JsonScalar]
    evidence: list[dict[str, str]]


class RequestView(Model):
    """What the native harness asks a person; ``answered`` while the answer is on its way."""

    request_id: str
    kind: str
    question: str
    answerable: str
    answered: bool


class TimeoutView(Model):
    """The execution timeout: what was left at its last start or stop.

    ``times_out_at`` is set only while it runs; it stands still while a person is asked.
    """

    remaining_s: float
    times_out_at: str | None


class AttemptView(Model):
    """The attempt in force of an agent's visit or of a reviewer."""

    attempt_id: str
    try_number: int
    status: str
    thread_id: str
    report: ReportView | None
    reminder: str
    requests: list[RequestView]
    timeout: TimeoutView
    outcome: str | None
    outcome_reason: str | None
    resumable: bool


def unresolved_view(why: Unresolved) -> UnresolvedView:
    """Return the view of why a person is needed."""
    return UnresolvedView(reason=why.reason.value, detail=why.detail, revision=why.revision)


def attempt_view(attempt: Attempt) -> AttemptView:
    """Return the view of an attempt, of a visit or of a reviewer."""
    since = attempt.running_since_ms
    return AttemptView(
        attempt_id=attempt.attempt_id,
        try_number=attempt.try_number,
        status=attempt.status.value,
        thread_id=ids.thread_id(attempt.attempt_id),
        report=_report(attempt),
        reminder=attempt.reminder.value,
        requests=[
            RequestView(
                request_id=each.request.request_id,
                kind=each.request.kind.value,
                question=each.request.question,
                answerable=each.request.answerable,
                answered=each.answered,
            )
            for each in attempt.requests
        ],
        timeout=TimeoutView(
            remaining_s=attempt.remaining_ms / 1000,
            times_out_at=timestamp(since + attempt.remaining_ms) if since is not None else None,
        ),
        outcome=attempt.outcome.value if attempt.outcome is not None else None,
        outcome_reason=attempt.outcome_reason,
        resumable=attempt.resumable,
    )


def _report(attempt: Attempt) -> ReportView | None:
    report = attempt.report
    if report is None:
        return None
    return ReportView(
        receipt_id=report.receipt_id,
        accepted_at=timestamp(report.accepted_at_ms),
        payload_digest=report.payload_digest,
        outcome=report.outcome.value,
        summary=report.summary,
        data=report.data,
        evidence=[each.model_dump(mode="json") for each in report.evidence],
    )
