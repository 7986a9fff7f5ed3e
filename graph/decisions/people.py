"""What people decide beside gates: resume, retry, answers to native requests.

Each names the revision it was offered with; one that has passed changes nothing.
"""

from pointsman.graph import ids
from pointsman.graph.allowed import can_resume, can_retry, can_review_again
from pointsman.graph.commands import (
    AnswerNativeRequest,
    ResumeAttempt,
    RetryVisit,
    ReviewAgain,
)
from pointsman.graph.events import NativeRequestAnswered, ResumeRequested, RetryRequested
from pointsman.graph.rejections import Rejected, RejectionCode
from pointsman.graph.replies import Accepted, Reply, Verdict
from pointsman.graph.review_events import ReviewAgainRequested
from pointsman.graph.review_set import ReviewBranch
from pointsman.graph.run import Run, Visit
from pointsman.graph.tried import attempt_in_force, attempts_in_force, tried_by_id


def _unresolved(
    run: Run, tried: Visit | ReviewBranch | None, revision: int
) -> Visit | ReviewBranch | Rejected:
    if tried is None or tried.unresolved is None or run.cancellation is not None:
        return Rejected(code=RejectionCode.NOT_ALLOWED, message="nothing is unresolved there")
    if tried.unresolved.revision != revision:
        return Rejected(
            code=RejectionCode.STALE_REVISION,
            message="the run has moved on since you looked; look again",
            details={"revision": tried.unresolved.revision},
        )
    return tried


def resume_attempt(run: Run, command: ResumeAttempt) -> Verdict:
    """Let the same native session go on (§10.16): no new visit, an earlier report stands."""
    of = next((t for t, a in attempts_in_force(run) if a.attempt_id == command.attempt_id), None)
    tried = _unresolved(run, of, command.revision)
    if isinstance(tried, Rejected):
        return tried
    attempt = tried.attempt
    if attempt is None or not can_resume(tried):
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
    """Try a visit or a branch again with its inputs, as a new attempt that counts as one visit."""
    tried = _unresolved(run, tried_by_id(run, command.visit_id), command.revision)
    if isinstance(tried, Rejected):
        return tried
    if not can_retry(run, tried):
        return Rejected(code=RejectionCode.NOT_ALLOWED, message="this visit cannot be tried again")
    event = RetryRequested(
        node=ids.place_of(tried.tried_id).node,
        visit_id=tried.tried_id,
        visits_used=run.visits_used + 1,
        requested_by=command.requested_by,
    )
    return Accepted(events=(event,), reply=Reply(run_id=run.run_id))


def review_again(run: Run, command: ReviewAgain) -> Verdict:
    """Have the change reviewed anew: the group is entered again (§10.25)."""
    offered = can_review_again(run)
    if offered is None or offered.visit_id != command.visit_id:
        return Rejected(code=RejectionCode.NOT_ALLOWED, message="no new review is offered there")
    if offered.revision != command.revision:
        return Rejected(
            code=RejectionCode.STALE_REVISION,
            message="the run has moved on since you looked; look again",
            details={"revision": offered.revision},
        )
    event = ReviewAgainRequested(
        node=offered.node,
        visit_id=offered.visit_id,
        group=offered.group,
        requested_by=command.requested_by,
    )
    return Accepted(events=(event,), reply=Reply(run_id=run.run_id))


def answer_native_request(run: Run, command: AnswerNativeRequest) -> Verdict:
    """Take a person's answer once; the harness gets it after this is durable."""
    attempt = attempt_in_force(run, command.attempt_id)
    open_ = attempt.requests if attempt is not None else ()
    found = [e for e in open_ if e.request.request_id == command.request_id]
    if attempt is None or attempt.timed_out or not found or run.cancellation is not None:
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
