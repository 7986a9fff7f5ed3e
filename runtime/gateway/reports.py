"""Taking agents' reports: who may report for what follows from the bearer token alone.

The same for every surface; ``reporting`` offers it as MCP tools. Payloads and tokens are never
logged.
"""

import hashlib
from typing import Any, Final

import structlog

from pointsman.actors.messages import Message, Unavailable
from pointsman.actors.supervising import Supervising
from pointsman.graph import ids
from pointsman.graph.commands import SubmitReport
from pointsman.graph.contract import describe
from pointsman.graph.rejections import Rejected, RejectionCode
from pointsman.graph.tried import assigned
from pointsman.runtime.gateway.telling import tell
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.queries import known_run, timestamp
from pointsman.runtime.wire.requests import ReportAnswer, ReportFieldError, ReportReceipt
from pointsman.storage.journal import Journal

log = structlog.get_logger()

_MENDABLE: Final = frozenset(
    {RejectionCode.INVALID, RejectionCode.TOO_LARGE, RejectionCode.UNSUPPORTED_VERSION}
)


class Reports:
    """Accepts at most one report an attempt; an exact retry gets the same receipt again."""

    def __init__(self, journal: Journal, supervisor: Supervising) -> None:
        self._journal = journal
        self._supervisor = supervisor

    def attempt_of(self, token: str) -> str | None:
        """Return the attempt a bearer token may report for, if it is one of ours."""
        return self._journal.attempt_of_token(hashlib.sha256(token.encode()).hexdigest())

    async def submit(self, token: str, envelope: object) -> ReportAnswer:
        """Have a report judged; what is answered is durable."""
        attempt_id = self.attempt_of(token)
        if attempt_id is None:
            return _unauthorized()
        message = Message(
            ids.run_of(attempt_id), SubmitReport(attempt_id=attempt_id, envelope=envelope)
        )
        try:
            answer = await tell(self._supervisor, message)
        except PointsmanError as error:
            return not_judged(error.code, error.message)
        if isinstance(answer, Unavailable):
            return not_judged(answer.code, answer.message)
        if isinstance(answer, Rejected):
            log.info("report_refused", attempt_id=attempt_id, code=answer.code.value)
            return _refusal(answer)
        assert answer.receipt_id is not None, f"{attempt_id}: accepted without a receipt"
        assert answer.accepted_at_ms is not None, f"{attempt_id}: accepted at no time"
        assert answer.payload_digest is not None, f"{attempt_id}: accepted without a digest"
        log.info("report_answered", attempt_id=attempt_id, duplicate=answer.duplicate)
        receipt = ReportReceipt(
            receipt_id=answer.receipt_id,
            attempt_id=attempt_id,
            accepted_at=timestamp(answer.accepted_at_ms),
            payload_digest=answer.payload_digest,
            duplicate=answer.duplicate,
        )
        return ReportAnswer(ok=True, receipt=receipt)

    def contract(self, token: str) -> dict[str, Any] | ReportAnswer:
        """Return the exact contract of the attempt's step; changes nothing."""
        attempt_id = self.attempt_of(token)
        if attempt_id is None:
            return _unauthorized()
        run = known_run(self._journal, ids.run_of(attempt_id))
        work = assigned(run.workflow, attempt_id)
        assert work is not None, f"{attempt_id} is no agent's"
        place = ids.place_of(attempt_id)
        step = place.node if place.branch is None else f"{place.node}.{place.branch}"
        return {"step": step, "attempt_id": attempt_id, **describe(work.report)}


def sub_agent_refused() -> ReportAnswer:
    """Refuse a native sub-agent, which inherits its parent's token but not its authority."""
    return ReportAnswer(
        ok=False,
        code=RejectionCode.NOT_BOUND.value,
        message="a sub-agent cannot report for its parent; hand your result to it instead",
        retry="do_not_retry",
    )


def _unauthorized() -> ReportAnswer:
    return ReportAnswer(
        ok=False,
        code="unauthorized",
        message="this token may not report, or may no longer",
        retry="do_not_retry",
    )


def not_judged(code: str, message: str) -> ReportAnswer:
    """Tell that a report was neither accepted nor refused."""
    return ReportAnswer(
        ok=False,
        code=code,
        message=f"{message}; send exactly the same report again",
        retry="resend_unchanged",
    )


def ambiguous(message: str) -> ReportAnswer:
    """Refuse a report that says one thing twice; it was neither accepted nor kept."""
    return ReportAnswer(
        ok=False, code=RejectionCode.INVALID.value, message=message, retry="fix_and_resend"
    )


def _refusal(answer: Rejected) -> ReportAnswer:
    return ReportAnswer(
        ok=False,
        code=answer.code.value,
        message=answer.message,
        fields=[ReportFieldError(**each) for each in answer.details.get("fields", [])],
        retry="fix_and_resend" if answer.code in _MENDABLE else "do_not_retry",
    )
