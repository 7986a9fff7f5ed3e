"""Accepting an agent's report: one per attempt, and an exact retry gets its receipt again.

Spec, *Acceptance and receipts*. Acceptance never advances the run; settlement does.
"""

from pointsman.graph import ids
from pointsman.graph.attempt import OPEN_ATTEMPT, AcceptedReport, Attempt, ReportReceipt
from pointsman.graph.commands import SubmitReport
from pointsman.graph.contract import Envelope, EnvelopeProblems, check_envelope
from pointsman.graph.events import ReportAccepted
from pointsman.graph.rejections import Rejected, RejectionCode
from pointsman.graph.replies import Accepted, Reply, Verdict
from pointsman.graph.run import Run
from pointsman.graph.tried import assigned, attempt_in_force, attempts_kept


def submit_report(run: Run, command: SubmitReport, at_ms: int) -> Verdict:
    """Judge a report against the attempt it is authenticated for.

    The exact retry comes before every question of state: it is answered even after
    settlement or cancel (§10.12). A payload that is not a valid envelope is never an exact
    retry, so its problems are told first.
    """
    work = assigned(run.workflow, command.attempt_id)
    if work is None:
        return Rejected(code=RejectionCode.NOT_BOUND, message="no such attempt in this run")
    checked = check_envelope(work.report, command.envelope)
    if isinstance(checked, EnvelopeProblems):
        return Rejected(
            code=RejectionCode(checked.code),
            message="the report was refused; nothing was recorded",
            details={"fields": [each.model_dump(mode="json") for each in checked.fields]},
        )
    kept = _kept_report(run, command.attempt_id)
    if kept is not None:
        return _again(run, command.attempt_id, kept, checked)
    attempt = attempt_in_force(run, command.attempt_id) or _ended(run, command.attempt_id)
    refusal = _refusal(run, attempt)
    if refusal is not None or attempt is None:
        return refusal or Rejected(code=RejectionCode.STALE_ATTEMPT, message=_STALE)
    return _accept(run, attempt, checked, at_ms)


_STALE = "a newer attempt of this step has taken over; this one can no longer report"


def _ended(run: Run, attempt_id: str) -> Attempt | None:
    """Return the latest attempt of a branch that has ended, while its siblings go on."""
    latest = (branch.attempt for review in run.reviews.values() for branch in review.branches)
    return next((each for each in latest if each and each.attempt_id == attempt_id), None)


def _kept_report(run: Run, attempt_id: str) -> AcceptedReport | ReportReceipt | None:
    for attempt in attempts_kept(run):
        if attempt.attempt_id == attempt_id:
            return attempt.report
    return run.earlier_reports.get(attempt_id)


def _again(
    run: Run, attempt_id: str, kept: AcceptedReport | ReportReceipt, envelope: Envelope
) -> Verdict:
    if kept.retry_key != envelope.retry_key:
        return Rejected(
            code=RejectionCode.CONFLICT,
            message="this attempt has already reported; a report is final",
            details={"receipt_id": kept.receipt_id},
        )
    if kept.payload_digest != envelope.payload_digest:
        return Rejected(
            code=RejectionCode.KEY_REUSED,
            message="this retry key was used with another payload; the first one stands",
            details={"receipt_id": kept.receipt_id},
        )
    reply = _reply(run, attempt_id, kept.receipt_id, kept.accepted_at_ms, kept.payload_digest)
    return Accepted(events=(), reply=reply.model_copy(update={"duplicate": True}))


def _refusal(run: Run, attempt: Attempt | None) -> Rejected | None:
    if run.cancellation is not None:
        return Rejected(code=RejectionCode.CANCELLED, message="the run was canceled; stop working")
    if attempt is None:
        return Rejected(code=RejectionCode.STALE_ATTEMPT, message=_STALE)
    if attempt.status not in OPEN_ATTEMPT or attempt.timed_out:
        return Rejected(
            code=RejectionCode.SETTLED,
            message="this attempt's work has ended; it can no longer report",
        )
    return None


def _accept(run: Run, attempt: Attempt, envelope: Envelope, at_ms: int) -> Verdict:
    receipt_id = f"{attempt.attempt_id}.report"
    accepted = ReportAccepted(
        attempt_id=attempt.attempt_id,
        receipt_id=receipt_id,
        protocol_version=envelope.protocol_version,
        retry_key=envelope.retry_key,
        payload_digest=envelope.payload_digest,
        outcome=envelope.outcome,
        summary=envelope.summary,
        data=envelope.data,
        evidence=envelope.evidence,
    )
    reply = _reply(run, attempt.attempt_id, receipt_id, at_ms, envelope.payload_digest)
    return Accepted(events=(accepted,), reply=reply)


def _reply(run: Run, attempt_id: str, receipt_id: str, at_ms: int, digest: str) -> Reply:
    assert ids.run_of(attempt_id) == run.run_id, f"{attempt_id} is not of {run.run_id}"
    return Reply(
        run_id=run.run_id,
        attempt_id=attempt_id,
        receipt_id=receipt_id,
        accepted_at_ms=at_ms,
        payload_digest=digest,
    )
