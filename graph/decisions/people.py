"""What people decide beside gates: resume, retry, answers to native requests.

Each names the revision it was offered with; one that has passed changes nothing.
"""

from pointsman.graph.allowed import can_resume, can_retry
from pointsman.graph.commands import AnswerNativeRequest, ResumeAttempt, RetryVisit
from pointsman.graph.events import NativeRequestAnswered, ResumeRequested, RetryRequested
from pointsman.graph.rejections import Rejected, RejectionCode
from pointsman.graph.replies import Accepted, Reply, Verdict
from pointsman.graph.run import Run, Visit


def _unresolved_visit(run: Run, revision: int) -> Visit | Rejected:
    visit = run.visit
    if visit is None or visit.unresolved is None or run.cancellation is not None:
        return Rejected(code=RejectionCode.NOT_ALLOWED, message="the run is not unresolved")
    if visit.unresolved.revision != revision:
        return Rejected(
            code=RejectionCode.STALE_REVISION,
            message="the run has moved on since you looked; look again",
            details={"revision": visit.unresolved.revision},
        )
    return visit


def resume_attempt(run: Run, command: ResumeAttempt) -> Verdict:
    """Let the same native session go on (§10.16): no new visit, an earlier report stands."""
    visit = _unresolved_visit(run, command.revision)
    if isinstance(visit, Rejected):
        return visit
    attempt = visit.attempt
    mine = attempt is not None and attempt.attempt_id == command.attempt_id
    if attempt is None or not mine or not can_resume(visit):
        return Rejected(
            code=RejectionCode.NOT_ALLOWED,
            message="the host cannot prove the same native session; retry instead",
        )
    event = ResumeRequested(
        attempt_id=attempt.attempt_id,
        number=attempt.resumes + 1,
        requested_by=command.requested_by,
    )
    return Accepted(events=(event,), reply=Reply(run_id=run.run_id))


def retry_visit(run: Run, command: RetryVisit) -> Verdict:
    """Try the visit again with its inputs, as a new attempt that counts as one visit."""
    visit = _unresolved_visit(run, command.revision)
    if isinstance(visit, Rejected):
        return visit
    if visit.visit_id != command.visit_id or not can_retry(run, visit):
        return Rejected(code=RejectionCode.NOT_ALLOWED, message="this visit cannot be tried again")
    event = RetryRequested(
        node=visit.node,
        visit_id=visit.visit_id,
        visits_used=run.visits_used + 1,
        requested_by=command.requested_by,
    )
    return Accepted(events=(event,), reply=Reply(run_id=run.run_id))


def answer_native_request(run: Run, command: AnswerNativeRequest) -> Verdict:
    """Take a person's answer once; the harness gets it after this is durable."""
    attempt = run.visit.attempt if run.visit is not None else None
    open_ = attempt.requests if attempt is not None else ()
    found = [e for e in open_ if e.request.request_id == command.request_id]
    mine = attempt is not None and attempt.attempt_id == command.attempt_id
    if attempt is None or not mine or not found or run.cancellation is not None:
        return Rejected(
            code=RejectionCode.REQUEST_UNKNOWN, message="no such request is open any more"
        )
    if found[0].answered:
        return Rejected(
            code=RejectionCode.REQUEST_ANSWERED, message="this request was answered already"
        )
    if found[0].request.answerable == "no":
        return Rejected(
            code=RejectionCode.NOT_ALLOWED, message="the harness can no longer take an answer"
        )
    event = NativeRequestAnswered(
        attempt_id=attempt.attempt_id,
        request_id=command.request_id,
        allow=command.allow,
        text=command.text,
        answered_by=command.answered_by,
    )
    return Accepted(events=(event,), reply=Reply(run_id=run.run_id))
