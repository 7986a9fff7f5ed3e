"""Performing one intent at a host, so that it happens once however often it is tried.

Look the key up first: found is taken as the answer, not found is issued under the same key,
unknown is told to the run and never issued again. What is idempotent by nature (making or
letting go of a worktree, ending work) is issued without asking.
"""

import hashlib
from collections.abc import Awaitable, Callable
from typing import assert_never

from pointsman.actors.host import Host, ReportingAccess
from pointsman.graph.commands import BindCredential, Command, RecordReceipt, RecordUnknown
from pointsman.graph.intents import (
    AnswerRequest,
    CancelCheck,
    Intent,
    InterruptExecution,
    LaunchExecution,
    PrepareWorkspace,
    ReleaseWorkspace,
    ResumeExecution,
    SendReminder,
    StartCheck,
)
from pointsman.graph.work import Found, Receipt, Unknown

Bind = Callable[[BindCredential], Awaitable[bool]]


class IntentRunner:
    """Performs intents at one host; ``mint`` gives a fresh bearer token."""

    def __init__(self, host: Host, reporting_url: str, mint: Callable[[], str]) -> None:
        self._host = host
        self._reporting_url = reporting_url
        self._mint = mint

    async def perform(self, intent: Intent, bind: Bind) -> Command | None:
        """Return the outcome as a command to the run, or ``None`` if it no longer wants it.

        Raises ``HostUnavailableError`` when the host cannot be reached: try again later.
        """
        match intent:
            case LaunchExecution() | SendReminder() | ResumeExecution():
                return await self._with_access(intent, bind)
            case StartCheck() | AnswerRequest():
                return await self._once(intent)
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

    async def _known(self, intent: Intent) -> Command | None:
        found = await self._host.lookup(intent.intent_id)
        if isinstance(found, Found):
            return RecordReceipt(intent_id=intent.intent_id, receipt=found.receipt)
        if isinstance(found, Unknown):
            return RecordUnknown(intent_id=intent.intent_id, why=found.why)
        return None

    async def _once(self, intent: StartCheck | AnswerRequest) -> Command:
        known = await self._known(intent)
        if known is not None:
            return known
        if isinstance(intent, StartCheck):
            receipt = await self._host.start_check(intent)
        else:
            receipt = await self._host.answer(intent)
        return RecordReceipt(intent_id=intent.intent_id, receipt=receipt)

    async def _with_access(
        self, intent: LaunchExecution | SendReminder | ResumeExecution, bind: Bind
    ) -> Command | None:
        known = await self._known(intent)
        if known is not None:
            return known
        token = self._mint()
        token_digest = hashlib.sha256(token.encode()).hexdigest()
        if not await bind(BindCredential(attempt_id=intent.attempt_id, token_digest=token_digest)):
            return None
        access = ReportingAccess(url=self._reporting_url, token=token)
        receipt: Receipt
        match intent:
            case LaunchExecution():
                receipt = await self._host.launch(intent, access)
            case SendReminder():
                receipt = await self._host.send(intent, access)
            case ResumeExecution():
                receipt = await self._host.resume(intent, access)
        return RecordReceipt(intent_id=intent.intent_id, receipt=receipt)
