"""What the host answered to our intents, and what is bound before one is issued."""

from typing import assert_never

from pointsman.graph import ids
from pointsman.graph.changes import RemoteRef
from pointsman.graph.commands import BindCredential, RecordReceipt, RecordUnknown
from pointsman.graph.events import (
    AttemptLaunched,
    AttemptRefused,
    AttemptResumed,
    AttemptSettled,
    CheckLaunched,
    CheckRefused,
    CredentialBound,
    Event,
    NativeRequestClosed,
    ReminderDelivered,
    ResumeRefused,
    TurnUnknown,
    WorkInterrupted,
    WorkspacePrepared,
    WorkspaceRefused,
    WorkspaceReleased,
)
from pointsman.graph.intents import (
    AnswerRequest,
    CancelCheck,
    FreezeChange,
    Intent,
    InterruptExecution,
    LaunchExecution,
    PrepareWorkspace,
    ReadHead,
    ReleaseWorkspace,
    ResumeExecution,
    SendReminder,
    StartCheck,
    VerifyCheckout,
)
from pointsman.graph.owed import owed_intents, prepare_workspace
from pointsman.graph.rejections import Rejected, RejectionCode
from pointsman.graph.replies import Accepted, Reply, Verdict
from pointsman.graph.review_events import ChangeFrozen, ChangeRefused
from pointsman.graph.run import Run
from pointsman.graph.settlement import SettlementOutcome
from pointsman.graph.work import Receipt, ReceiptStatus
from pointsman.graph.workspace import WorkspaceStatus


def bind_credential(run: Run, command: BindCredential) -> Verdict:
    """Bind a token to the attempt whose launch, reminder or resume is owed."""
    owed = {
        intent.attempt_id
        for intent in owed_intents(run)
        if isinstance(intent, LaunchExecution | SendReminder | ResumeExecution)
    }
    if command.attempt_id not in owed:
        return _not_current(command.attempt_id)
    bound = CredentialBound(attempt_id=command.attempt_id, token_digest=command.token_digest)
    return Accepted(events=(bound,), reply=Reply(run_id=run.run_id))


def record_receipt(run: Run, command: RecordReceipt) -> Verdict:
    """Turn the host's answer into a fact, if the intent is still owed."""
    intent = _owed(run, command.intent_id)
    if intent is None:
        return _not_current(command.intent_id)
    if command.receipt.status is ReceiptStatus.REJECTED:
        event = _refused(intent, command.receipt.reason or "refused", _said(command.receipt))
    else:
        event = _taken(intent, command.receipt)
    return Accepted(events=(event,), reply=Reply(run_id=run.run_id))


def record_unknown(run: Run, command: RecordUnknown) -> Verdict:
    """The host cannot tell: the intent is never issued again, a person decides."""
    intent = _owed(run, command.intent_id)
    if intent is None:
        return _not_current(command.intent_id)
    event = _refused(intent, "unknown", command.why, unknown=True)
    return Accepted(events=(event,), reply=Reply(run_id=run.run_id))


def _owed(run: Run, intent_id: str) -> Intent | None:
    for intent in owed_intents(run):
        if intent.intent_id == intent_id:
            return intent
    # A worktree that was being made while the run was canceled is recorded all the same:
    # only what is known to exist is let go of.
    late = prepare_workspace(run)
    absent = run.workspace.status is WorkspaceStatus.ABSENT
    return late if absent and late.intent_id == intent_id else None


def _not_current(what: str) -> Rejected:
    return Rejected(code=RejectionCode.NOT_CURRENT, message=f"{what} is no longer owed")


def _said(receipt: Receipt) -> str:
    return receipt.message or "the host gave no reason"


def _text(receipt: Receipt, name: str) -> str:
    return str(receipt.host_ref.get(name, ""))


def _taken(intent: Intent, receipt: Receipt) -> Event:
    match intent:
        case PrepareWorkspace(workspace_key=key):
            return WorkspacePrepared(
                workspace_key=key,
                path=_text(receipt, "path"),
                branch=_text(receipt, "branch") or None,
                head_commit=_text(receipt, "head_commit"),
            )
        case ReleaseWorkspace(workspace_key=key):
            kept = receipt.host_ref.get("kept") is True
            why = _text(receipt, "why") or None
            return WorkspaceReleased(workspace_key=key, kept=kept, why=why)
        case FreezeChange():
            return _frozen(intent, receipt)
        case LaunchExecution(attempt_id=attempt, thread_id=thread):
            host_run = _text(receipt, "host_run_id")
            return AttemptLaunched(attempt_id=attempt, thread_id=thread, host_run_id=host_run)
        case SendReminder(attempt_id=attempt):
            return ReminderDelivered(attempt_id=attempt)
        case InterruptExecution(attempt_id=subject) | CancelCheck(check_id=subject):
            left = receipt.host_ref.get("left", 0)
            return WorkInterrupted(subject_id=subject, left=int(left))
        case ResumeExecution(attempt_id=attempt):
            continuity = _text(receipt, "continuity")
            if continuity == "native":
                return AttemptResumed(attempt_id=attempt)
            return ResumeRefused(
                attempt_id=attempt, continuity=continuity, message="the session is not the same"
            )
        case AnswerRequest(attempt_id=attempt, request_id=request):
            return NativeRequestClosed(attempt_id=attempt, request_id=request)
        case StartCheck(check_id=check):
            return CheckLaunched(check_id=check)
        case VerifyCheckout() | ReadHead():
            raise AssertionError(f"{intent.intent_id} is a read, which has no receipt")
        case _:
            assert_never(intent)


def _frozen(intent: FreezeChange, receipt: Receipt) -> ChangeFrozen:
    change, remote = intent.change, receipt.host_ref.get("remote")
    if isinstance(change, RemoteRef) and isinstance(remote, str):
        # Looked up there from now on: were that remote removed, none named would mean another.
        change = change.model_copy(update={"remote": remote})
    return ChangeFrozen(
        node=ids.place_of(intent.review_set_id).node,
        visit_id=intent.review_set_id,
        review_set_id=intent.review_set_id,
        change=change,
        frozen_commit=_text(receipt, "frozen_commit"),
        base_commit=_text(receipt, "base_commit"),
        diff_stat=_text(receipt, "diff_stat"),
        left_out=tuple(_text(receipt, "left_out").splitlines()),
        committed=receipt.host_ref.get("committed") is True,
        mark=_text(receipt, "mark") or None,
    )


def _refused(intent: Intent, reason: str, message: str, *, unknown: bool = False) -> Event:
    match intent:
        case PrepareWorkspace(workspace_key=key):
            return WorkspaceRefused(workspace_key=key, reason=reason, message=message)
        case ReleaseWorkspace(workspace_key=key):
            return WorkspaceReleased(workspace_key=key, kept=True, why=f"{reason}: {message}")
        case FreezeChange(review_set_id=visit):
            node = ids.place_of(visit).node
            return ChangeRefused(node=node, visit_id=visit, reason=reason, message=message)
        case LaunchExecution(attempt_id=attempt):
            return AttemptRefused(
                attempt_id=attempt, unknown=unknown, reason=reason, message=message
            )
        case SendReminder(attempt_id=attempt) if unknown:
            return TurnUnknown(attempt_id=attempt, turn="reminder", message=message)
        case ResumeExecution(attempt_id=attempt) if unknown:
            return TurnUnknown(attempt_id=attempt, turn="resume", message=message)
        case SendReminder(attempt_id=attempt):
            # The work itself had settled well; without the reminder it stays without a report.
            return AttemptSettled(
                attempt_id=attempt,
                outcome=SettlementOutcome.SUCCEEDED,
                reason=f"no report, and the reminder could not be delivered: {message}",
            )
        case InterruptExecution(attempt_id=subject) | CancelCheck(check_id=subject):
            return WorkInterrupted(subject_id=subject, left=1)
        case ResumeExecution(attempt_id=attempt):
            return ResumeRefused(attempt_id=attempt, continuity=reason, message=message)
        case AnswerRequest(attempt_id=attempt, request_id=request):
            return NativeRequestClosed(attempt_id=attempt, request_id=request)
        case StartCheck(check_id=check):
            return CheckRefused(check_id=check, unknown=unknown, reason=reason, message=message)
        case VerifyCheckout() | ReadHead():
            raise AssertionError(f"{intent.intent_id} is a read, which cannot be refused")
        case _:
            assert_never(intent)
