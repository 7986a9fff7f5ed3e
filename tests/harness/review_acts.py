"""What a host answers to any intent, reads of checkouts and heads included; a number picks."""

from typing import Any

from pointsman.graph import commands as cmd
from pointsman.graph.evidence import Checkout, HeadReading
from pointsman.graph.freshness import relied_on
from pointsman.graph.intents import FreezeChange, Intent, ReadHead, VerifyCheckout
from pointsman.graph.work import Receipt, ReceiptStatus
from tests.harness.core import Process
from tests.harness.reviews import OTHER

READS = (VerifyCheckout, ReadHead)


def taken(process: Process, intent: Intent, pick: int) -> cmd.Command:
    """Return what the host says when it does as it is told; reads rarely show what is wrong."""
    if isinstance(intent, VerifyCheckout):
        return cmd.ObserveCheckout(intent_id=intent.intent_id, checkout=_checkout(intent, pick))
    if isinstance(intent, ReadHead):
        return cmd.ObserveHead(visit_id=intent.visit_id, reading=head_for(process, pick))
    host_ref: dict[str, Any] = {"continuity": "native", "left": 0, "path": "/w", "branch": "b"}
    if isinstance(intent, FreezeChange):
        host_ref = {"frozen_commit": commit_of(intent.review_set_id), "base_commit": "1" * 40}
    return _receipt(intent, ReceiptStatus.ACCEPTED, host_ref)


def commit_of(review_set_id: str) -> str:
    """Return the commit that a generation is frozen at: each has its own."""
    number = int(review_set_id.rpartition(".")[2])
    return f"{number:x}".rjust(40, "f")


def refused(intent: Intent, pick: int) -> cmd.Command:
    """Return what the host says when it cannot, or when what it reads is not as it should be."""
    if isinstance(intent, VerifyCheckout):
        seen = _checkout(intent, 11) if pick % 2 else Checkout(unreadable="permission denied")
        return cmd.ObserveCheckout(intent_id=intent.intent_id, checkout=seen)
    if isinstance(intent, ReadHead):
        return cmd.ObserveHead(visit_id=intent.visit_id, reading=_bad_head(pick))
    return _receipt(intent, ReceiptStatus.REJECTED, {})


def _receipt(intent: Intent, status: ReceiptStatus, host_ref: dict[str, Any]) -> cmd.RecordReceipt:
    key = intent.intent_id
    why = None if status is ReceiptStatus.ACCEPTED else "refused"
    receipt = Receipt(
        idempotency_key=key, status=status, host_ref=host_ref, reason=why, message=why
    )
    return cmd.RecordReceipt(intent_id=key, receipt=receipt)


def _checkout(intent: VerifyCheckout, pick: int) -> Checkout:
    fits = Checkout(head_commit=intent.commit, top_level=True, untracked=pick)
    return fits.model_copy(update={"changed": ("a.py",)}) if pick == 11 else fits


def _bad_head(pick: int) -> HeadReading:
    if pick % 2:
        return HeadReading(head_commit=OTHER)
    return HeadReading(head_commit=None, unavailable="no route to host")


def moved(process: Process, pick: int) -> None:
    """Show a head that is another one, or cannot be read, to whatever visit there is."""
    if process.state.visit is not None:
        reading = _bad_head(pick)
        process.send(cmd.ObserveHead(visit_id=process.visit.visit_id, reading=reading))


def head_for(process: Process, pick: int) -> HeadReading:
    """Return the head that was reviewed, or now and then another one, or none."""
    review = relied_on(process.state)
    if pick == 9:
        return HeadReading(head_commit=None, unavailable="no route to host")
    return HeadReading(head_commit=OTHER if pick == 10 or review is None else review.frozen_commit)
