"""Performing one intent at a host, so that it happens once however often it is tried.

Look the key up first: found is taken as the answer, not found is issued under the same key,
unknown is told to the run and never issued again. What is idempotent by nature (making or
letting go of a worktree, ending work) is issued without asking, and so is a pure read.
"""

from typing import assert_never

from pointsman.actors.crash_points import CrashPoint, CrashPoints
from pointsman.actors.host import Host, ReportingAccess
from pointsman.graph.commands import (
    Command,
    ObserveCheckout,
    ObserveHead,
    RecordReceipt,
    RecordUnknown,
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
from pointsman.graph.work import Found, Receipt, Unknown

# What lets an agent report, and therefore needs a token that the run knows of.
NEEDS_TOKEN = LaunchExecution | SendReminder | ResumeExecution
_LOOKED_UP = NEEDS_TOKEN | StartCheck | AnswerRequest | FreezeChange


class IntentRunner:
    """Performs intents at one host; agents report to ``reporting_url``. It keeps nothing."""

    def __init__(self, host: Host, reporting_url: str, crash: CrashPoints | None = None) -> None:
        self._host = host
        self._reporting_url = reporting_url
        self._crash = crash or CrashPoints()

    async def perform(self, intent: Intent, token: str | None = None) -> Command | None:
        """Return the outcome as a command to the run.

        ``None`` if nothing was done yet because the agent needs a token: have the run commit its
        binding first, then ask again with it. Two calls, so that nobody need be called back.
        Raises ``HostUnavailableError`` when the host cannot be reached: begin again later,
        without the token.
        """
        if isinstance(intent, _LOOKED_UP) and token is None:
            known = await self._known(intent)
            if known is not None:
                return known
            if isinstance(intent, NEEDS_TOKEN):
                return None
        self._crash.here(CrashPoint.BEFORE_ACT)
        outcome = await self._issue(intent, token)
        self._crash.here(CrashPoint.AFTER_ACT)
        return outcome

    async def _known(self, intent: Intent) -> Command | None:
        found = await self._host.lookup(intent.intent_id)
        if isinstance(found, Found):
            return RecordReceipt(intent_id=intent.intent_id, receipt=found.receipt)
        if isinstance(found, Unknown):
            return RecordUnknown(intent_id=intent.intent_id, why=found.why)
        return None

    async def _issue(self, intent: Intent, token: str | None) -> Command:
        match intent:
            case VerifyCheckout():
                checkout = await self._host.verify_checkout(intent)
                return ObserveCheckout(intent_id=intent.intent_id, checkout=checkout)
            case ReadHead():
                reading = await self._host.read_head(intent)
                return ObserveHead(visit_id=intent.visit_id, reading=reading)
            case LaunchExecution() | SendReminder() | ResumeExecution():
                assert token is not None, f"{intent.intent_id} without a token"
                receipt = await self._with_access(intent, token)
            case StartCheck():
                receipt = await self._host.start_check(intent)
            case AnswerRequest():
                receipt = await self._host.answer(intent)
            case FreezeChange():
                receipt = await self._host.freeze_change(intent)
            case PrepareWorkspace():
                receipt = await self._host.prepare_workspace(intent)
            case ReleaseWorkspace():
                receipt = await self._host.release_workspace(intent)
            case InterruptExecution():
                receipt = await self._host.interrupt(intent)
            case CancelCheck():
                receipt = await self._host.cancel_check(intent)
            case _:
                assert_never(intent)
        return RecordReceipt(intent_id=intent.intent_id, receipt=receipt)

    async def _with_access(self, intent: NEEDS_TOKEN, token: str) -> Receipt:
        access = ReportingAccess(url=self._reporting_url, token=token)
        match intent:
            case LaunchExecution():
                return await self._host.launch(intent, access)
            case SendReminder():
                return await self._host.send(intent, access)
            case ResumeExecution():
                return await self._host.resume(intent, access)
