"""What a host would say, made up from the answers of a rehearsal: receipts, work, reads."""

from typing import Any, Final

from pointsman.graph import commands as cmd
from pointsman.graph.answers import CheckAnswer, Given, Word
from pointsman.graph.evidence import Checkout, HeadReading
from pointsman.graph.intents import Intent, VerifyCheckout
from pointsman.graph.work import (
    CheckExited,
    CheckLost,
    HostRun,
    HostRunCause,
    HostRunStatus,
    Receipt,
    ReceiptStatus,
)

ANOTHER_COMMIT: Final = "f" * 40
_SAID: Final = "the answers say so"


def accepted(intent: Intent, host_ref: dict[str, Any]) -> cmd.RecordReceipt:
    """Have the host accept an intent."""
    key = intent.intent_id
    receipt = Receipt(idempotency_key=key, status=ReceiptStatus.ACCEPTED, host_ref=host_ref)
    return cmd.RecordReceipt(intent_id=key, receipt=receipt)


def rejected(intent: Intent) -> cmd.RecordReceipt:
    """Have the host reject an intent."""
    key, why = intent.intent_id, _SAID
    status = ReceiptStatus.REJECTED
    receipt = Receipt(idempotency_key=key, status=status, reason="refused", message=why)
    return cmd.RecordReceipt(intent_id=key, receipt=receipt)


def checkout(intent: VerifyCheckout, *, wrong: bool) -> cmd.ObserveCheckout:
    """Show a reviewer's checkout: what was frozen, or something else."""
    head = ANOTHER_COMMIT if wrong else intent.commit
    seen = Checkout(head_commit=head, top_level=True)
    return cmd.ObserveCheckout(intent_id=intent.intent_id, checkout=seen)


def head(frozen: str, given: Given | None) -> HeadReading:
    """Say where the reviewed change stands: where it was, unless the answer says otherwise."""
    if given is Word.UNKNOWN:
        return HeadReading(head_commit=None, unavailable=_SAID)
    moved = given in (Word.STALE, Word.REVIEW_AGAIN)
    return HeadReading(head_commit=ANOTHER_COMMIT if moved else frozen)


def turn(
    ordinal: int,
    cause: HostRunCause = HostRunCause.LAUNCH,
    cause_key: str | None = None,
    status: HostRunStatus = HostRunStatus.COMPLETED,
) -> HostRun:
    """Return one native turn, which ended well unless it is said otherwise."""
    return HostRun(
        host_run_id=str(ordinal), ordinal=ordinal, status=status, cause=cause, cause_key=cause_key
    )


def check_state(given: Given) -> CheckExited | CheckLost:
    if given is Word.LOST:
        return CheckLost()
    if isinstance(given, int):
        given = CheckAnswer(exit_code=given)
    if isinstance(given, CheckAnswer):
        return CheckExited(
            exit_code=given.exit_code,
            timed_out=False,
            interrupted=False,
            duration_s=float(given.duration_s),
            output_tail=given.output,
        )
    assert given in (Word.TIMED_OUT, Word.INTERRUPTED), f"{given} is no answer of a check"
    return CheckExited(
        exit_code=-1,
        timed_out=given is Word.TIMED_OUT,
        interrupted=given is Word.INTERRUPTED,
        duration_s=0.0,
        output_tail="",
    )
