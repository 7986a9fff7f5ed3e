"""The run actor: the one writer of a run while it is active, and the runner of its intents.

Plain asyncio; Ray only gives it a process (``ray_handles``). After every commit it compares
what is owed with what is in flight, so nothing depends on having seen an event go by.
"""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Final

import structlog

from pointsman.actors.clock import Clock
from pointsman.actors.crash_points import CrashPoint, CrashPoints
from pointsman.actors.host import Host, HostUnavailableError
from pointsman.actors.intent_runner import IntentRunner
from pointsman.actors.mailbox import Mailbox
from pointsman.actors.messages import Answer, Message, Unavailable
from pointsman.actors.run_core import RunCore
from pointsman.graph import ids
from pointsman.graph.commands import (
    Advance,
    BindCredential,
    Command,
    ObserveCheck,
    ObserveWork,
)
from pointsman.graph.intents import Intent
from pointsman.graph.rejections import Rejected
from pointsman.graph.replies import Reply
from pointsman.storage.journal import Journal

log = structlog.get_logger()

_HOST_RETRY_S: Final = (0.1, 0.3, 1.0, 3.0, 10.0)


class NotAssignedError(Exception):
    """The message is for a run that this actor does not hold (any more)."""


class RunActor:
    """Holds at most one run at a time; between runs it waits in the pool."""

    def __init__(
        self,
        journal: Journal,
        host: Host,
        clock: Clock,
        reporting_url: str,
        mint: Callable[[], str],
        crash: CrashPoints | None = None,
    ) -> None:
        self._journal = journal
        self._host = host
        self._clock = clock
        self._crash = crash or CrashPoints()
        self._runner = IntentRunner(host, reporting_url, mint)
        self._core: RunCore | None = None
        self._mailbox = Mailbox(self._handle)
        self._in_flight: dict[str, asyncio.Task[None]] = {}
        self._looks_owed: set[str] = set()

    async def assign(self, run_id: str, fencing_token: int) -> None:
        """Take a run: fold it from its checkpoint, do what it owes, look at its open work."""
        assert self._core is None, "still holds another run"
        self._core = RunCore(self._journal, self._clock, run_id, fencing_token, self._crash)
        if self._core.run is None:
            return
        await self.tell(Message(run_id, Advance()))
        await self.wake(run_id)

    async def tell(self, message: Message) -> Answer:
        """Handle a command in its turn."""
        if self._core is None or self._core.run_id != message.run_id:
            raise NotAssignedError(message.run_id)
        return await self._mailbox.put(message)

    async def wake(self, run_id: str, subject_id: str | None = None) -> None:
        """Look at an attempt's or a check's work, or at everything the run owes."""
        if self._core is None or self._core.run_id != run_id:
            return
        if subject_id is None:
            self._start_owed(self._core)
        for subject in (subject_id,) if subject_id is not None else self._core.open_work:
            self._observe_soon(subject)

    async def passivate(self) -> bool:
        """Let go of the run if nothing is in flight; the actor is then free for another."""
        if self._in_flight or not self._mailbox.empty:
            return False
        self._core = None
        return True

    def _handle(self, message: Message) -> Answer:
        core = self._core
        if core is None or core.run_id != message.run_id:
            raise NotAssignedError(message.run_id)
        answer = core.handle(message)
        if isinstance(answer, Rejected):
            log.info(
                "command_rejected",
                run_id=core.run_id,
                command=message.command.kind,
                code=answer.code,
            )
        self._start_owed(core)
        return answer

    def _start_owed(self, core: RunCore) -> None:
        for intent in core.outbox:
            self._start(intent.intent_id, partial(self._perform, core, intent))

    def _start(self, name: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Begin a piece of work unless the same is in flight already."""
        if name in self._in_flight:
            return
        task = asyncio.create_task(work())
        self._in_flight[name] = task
        task.add_done_callback(partial(self._landed, name))

    def _landed(self, name: str, task: asyncio.Task[None]) -> None:
        """What failed stays owed: the supervisor's next sweep starts it again."""
        self._in_flight.pop(name, None)
        if not task.cancelled() and task.exception() is not None:
            log.error("work_failed", work=name, exc_info=task.exception())

    async def _perform(self, core: RunCore, intent: Intent) -> None:
        """Issue one intent until the host has answered, and record what it answered."""
        for pause_s in itertools.chain(_HOST_RETRY_S, itertools.repeat(_HOST_RETRY_S[-1])):
            self._crash.here(CrashPoint.BEFORE_ACT)
            try:
                outcome = await self._runner.perform(intent, self._bind)
                break
            except HostUnavailableError as error:
                log.warning("host_unavailable", intent_id=intent.intent_id, error=str(error))
            await asyncio.sleep(pause_s)
            if self._core is not core or intent not in core.outbox:
                return
        self._crash.here(CrashPoint.AFTER_ACT)
        if outcome is None:
            return
        answer = await self._tell_fact(core.run_id, outcome)
        log.info(
            "intent_performed",
            run_id=core.run_id,
            intent_id=intent.intent_id,
            recorded=isinstance(answer, Reply),
        )
        subject = getattr(intent, "attempt_id", None) or getattr(intent, "check_id", None)
        if subject is not None:
            self._observe_soon(subject)

    async def _bind(self, command: BindCredential) -> bool:
        answer = await self._tell_fact(ids.run_of(command.attempt_id), command)
        return isinstance(answer, Reply)

    async def _tell_fact(self, run_id: str, command: Command) -> Answer:
        """Tell the run a fact; a full mailbox or disk only delays it, it is never dropped."""
        for pause_s in itertools.chain(_HOST_RETRY_S, itertools.repeat(_HOST_RETRY_S[-1])):
            answer = await self.tell(Message(run_id, command))
            if not isinstance(answer, Unavailable):
                break
            await asyncio.sleep(pause_s)
        return answer

    def _observe_soon(self, subject_id: str) -> None:
        """Look at a subject's work; wakes that come while looking cause one more look."""
        self._looks_owed.add(subject_id)
        self._start(f"observe {subject_id}", lambda: self._observe(subject_id))

    async def _observe(self, subject_id: str) -> None:
        core = self._core
        while core is not None and subject_id in self._looks_owed:
            self._looks_owed.discard(subject_id)
            try:
                fact = await self._look(core, subject_id)
            except HostUnavailableError as error:
                # The supervisor's sweep looks again; nothing is lost by giving up here.
                log.warning("host_unavailable", subject_id=subject_id, error=str(error))
                return
            if fact is not None:
                await self._tell_fact(core.run_id, fact)

    async def _look(self, core: RunCore, subject_id: str) -> ObserveWork | ObserveCheck | None:
        visit = core.run.visit if core.run is not None else None
        if visit is None or subject_id not in core.open_work:
            return None
        if visit.check is not None and visit.check.check_id == subject_id:
            state = await self._host.inspect_check(subject_id)
            return ObserveCheck(check_id=subject_id, state=state)
        return ObserveWork(work=await self._host.inspect(subject_id))
