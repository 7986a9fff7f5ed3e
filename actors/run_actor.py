"""The run actor: the one writer of a run while it is active, and the runner of its intents.

Plain asyncio; Ray only gives it a process (``ray_handles``). After every commit it compares
what is owed with what is in flight, so nothing depends on having seen an event go by. The work
of reviewers' branches is done by branch actors; what they find out is committed here alone.
"""

import asyncio
import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Final, Protocol

import structlog

from pointsman.actors import metrics
from pointsman.actors.branches import BranchPool, branch_of
from pointsman.actors.clock import Clock
from pointsman.actors.crash_points import CrashPoint, CrashPoints
from pointsman.actors.failing import Failing
from pointsman.actors.head_reading import read_head, review_to_compare
from pointsman.actors.host import Host, HostUnavailableError
from pointsman.actors.intent_runner import NEEDS_TOKEN, IntentRunner
from pointsman.actors.mailbox import Mailbox
from pointsman.actors.messages import Answer, Message, Unavailable
from pointsman.actors.metric_labels import IntentOutcome
from pointsman.actors.run_core import RunCore
from pointsman.actors.workers import WorkerLostError
from pointsman.graph import ids, owed_reviews
from pointsman.graph.commands import (
    Advance,
    BindCredential,
    Command,
    DecideGate,
    ObserveCheck,
    ObserveCheckout,
    ObserveHead,
    ObserveWork,
    RecordReceipt,
    RecordUnknown,
)
from pointsman.graph.intents import Intent, ReleaseWorkspace
from pointsman.graph.owed import turns_begun
from pointsman.graph.rejections import Rejected
from pointsman.graph.replies import Reply
from pointsman.graph.run import CheckTryStatus
from pointsman.graph.tried import attempt_in_force
from pointsman.graph.work import ReceiptStatus, WorkAggregate
from pointsman.storage.journal import Journal

log = structlog.get_logger()

_HOST_RETRY_S: Final = (0.1, 0.3, 1.0, 3.0, 10.0)


class _Perform(Protocol):
    """``IntentRunner.perform``, wherever it runs."""

    async def __call__(self, intent: Intent, token: str | None = None) -> Command | None: ...


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
        branches: BranchPool,
        crash: CrashPoints | None = None,
    ) -> None:
        self._journal = journal
        self._host = host
        self._clock = clock
        self._crash = crash or CrashPoints()
        self._mint = mint
        self._branches = branches
        self._runner = IntentRunner(host, reporting_url, self._crash)
        self._core: RunCore | None = None
        self._mailbox = Mailbox(self._handle)
        self._in_flight: dict[str, asyncio.Task[None]] = {}
        self._looks_owed: set[str] = set()
        self._raised: Exception | None = None
        self._failing = Failing(clock)

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
        if isinstance(message.command, DecideGate):
            message = await self._with_head(self._core, message, message.command)
        return await self._mailbox.put(message)

    async def _with_head(self, core: RunCore, message: Message, command: DecideGate) -> Message:
        """Have an approval that relies on a review carry the head as it is now, and only so.

        A head that has moved is told to the run first: the approval is withdrawn for good, also
        if this very command is never judged.
        """
        review = review_to_compare(core.run, command) if core.run is not None else None
        reading = None
        if review is not None and core.answered_before(message) is None:
            assert core.run is not None, "only a run has a review"
            order = owed_reviews.read_head(core.run, review)
            reading = await read_head(self._host, order)
            if reading.has_left(review.frozen_commit):
                moved = ObserveHead(visit_id=order.visit_id, reading=reading)
                await self._tell_fact(core.run_id, moved)
        command = command.model_copy(update={"head": reading})
        return dataclasses.replace(message, command=command)

    async def wake(self, run_id: str, subject_id: str | None = None) -> None:
        """Look at an attempt's or a check's work, or at everything the run owes.

        Raises what the actor's own work for the run has raised since, or ``WaitsInVainError``
        for what the host has not answered for long: nobody else is there to be told.
        """
        if self._core is None or self._core.run_id != run_id:
            return
        if self._raised is not None:
            raised, self._raised = self._raised, None
            raise raised
        if subject_id is None:
            self._start_owed(self._core)
        for subject in (subject_id,) if subject_id is not None else self._core.open_work:
            self._observe_soon(subject)
        self._failing.demand_hope()

    async def passivate(self) -> bool:
        """Let go of the run if nothing is in flight; the actor is then free for another."""
        if self._in_flight or not self._mailbox.empty:
            return False
        self._core, self._raised = None, None
        self._failing.clear()
        self._branches.rest()
        return True

    def _handle(self, message: Message) -> Answer:
        core = self._core
        if core is None or core.run_id != message.run_id:
            raise NotAssignedError(message.run_id)
        answer = core.handle(message)
        if isinstance(answer, Rejected):
            metrics.command_rejected(answer.code)
            log.info(
                "command_rejected",
                run_id=core.run_id,
                command=message.command.kind,
                code=answer.code,
            )
        self._start_owed(core)
        self._crash.here(CrashPoint.BEFORE_REPLY)
        return answer

    def _start_owed(self, core: RunCore) -> None:
        self._branches.keep_only(
            {
                *filter(None, map(branch_of, core.outbox)),
                *filter(None, (ids.place_of(each).branch_id for each in core.open_work)),
            }
        )
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
        """What failed stays owed: the supervisor's next sweep is told, or starts it again."""
        self._in_flight.pop(name, None)
        error = task.exception() if not task.cancelled() else None
        if error is not None:
            log.error("work_failed", work=name, exc_info=error)
            # Of a run that it no longer holds there is nothing to tell.
            if isinstance(error, Exception) and not isinstance(error, NotAssignedError):
                self._raised = error

    async def _perform(self, core: RunCore, intent: Intent) -> None:
        """Issue one intent until the host has answered, and record what it answered."""
        what = intent.intent_id
        for pause_s in itertools.chain(_HOST_RETRY_S, itertools.repeat(_HOST_RETRY_S[-1])):
            try:
                outcome = await self._outcome(core, intent)
                break
            except HostUnavailableError as error:
                metrics.intent_tried(intent, IntentOutcome.HOST_UNAVAILABLE)
                log.warning("host_unavailable", intent_id=what, error=str(error))
                self._failing.note(what, error)
            except WorkerLostError as error:
                metrics.intent_tried(intent, IntentOutcome.WORKER_LOST)
                log.warning("branch_worker_lost", intent_id=what, error=str(error))
                self._failing.note(what, error)
            await asyncio.sleep(pause_s)
            if self._core is not core or intent not in core.outbox:
                self._failing.end(what)
                return
        self._failing.end(what)
        if outcome is None:
            return
        metrics.intent_tried(intent, _outcome_of(outcome))
        answer = await self._tell_fact(core.run_id, outcome)
        log.info(
            "intent_performed",
            run_id=core.run_id,
            intent_id=intent.intent_id,
            recorded=isinstance(answer, Reply),
        )
        subject = getattr(intent, "attempt_id", None) or getattr(intent, "check_id", None)
        if subject is not None and not isinstance(outcome, ObserveCheckout):
            self._observe_soon(subject)

    async def _outcome(self, core: RunCore, intent: Intent) -> Command | None:
        """Perform an intent here, or at its branch's worker; ``None`` if it is wanted no more."""
        branch = branch_of(intent)
        if branch is None:
            return await self._with_token(core, intent, self._runner.perform)
        # Letting go of a worktree is not worth a process.
        cheap = isinstance(intent, ReleaseWorkspace)
        worker = self._branches.at_hand(branch) if cheap else self._branches.worker(branch)
        if worker is None:
            return await self._with_token(core, intent, self._runner.perform)
        try:
            return await self._with_token(core, intent, worker.perform)
        except WorkerLostError:
            self._branches.discard(worker)
            raise

    async def _with_token(self, core: RunCore, intent: Intent, perform: _Perform) -> Command | None:
        """Have an agent's token committed, by its digest, before the agent gets it."""
        outcome = await perform(intent)
        if outcome is not None or not isinstance(intent, NEEDS_TOKEN):
            return outcome
        token = self._mint()
        digest = hashlib.sha256(token.encode()).hexdigest()
        binding = BindCredential(attempt_id=intent.attempt_id, token_digest=digest)
        if not isinstance(await self._tell_fact(core.run_id, binding), Reply):
            return None
        return await perform(intent, token)

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
                self._failing.note(subject_id, error)
                return
            self._failing.end(subject_id)
            if fact is not None:
                await self._tell_fact(core.run_id, fact)

    async def _look(self, core: RunCore, subject_id: str) -> ObserveWork | ObserveCheck | None:
        """Ask the host for a subject's state, unless the run knows of nothing begun there.

        The answer may be overtaken by the launch or by a further turn: what shows nothing yet
        must not be told as the end of what began meanwhile.
        """
        run, visit = core.run, core.run.visit if core.run is not None else None
        if run is None or visit is None or subject_id not in core.open_work:
            return None
        if visit.check is not None and visit.check.check_id == subject_id:
            if visit.check.status is not CheckTryStatus.LAUNCHED:
                return None
            state = await self._host.inspect_check(subject_id)
            return ObserveCheck(check_id=subject_id, state=state)
        attempt = attempt_in_force(run, subject_id)
        begun = turns_begun(attempt) if attempt is not None else 0
        if not begun:
            return None
        return ObserveWork(work=await self._inspect(subject_id), turns_begun=begun)

    async def _inspect(self, attempt_id: str) -> WorkAggregate:
        """Look at an attempt's work; a branch's worker does it if the branch has one.

        A look alone is not worth a process: waiting for long reviews would cost one for each.
        """
        branch = ids.place_of(attempt_id).branch_id
        worker = self._branches.at_hand(branch) if branch is not None else None
        if worker is not None:
            try:
                return await worker.look(attempt_id)
            except WorkerLostError as error:
                log.warning("branch_worker_lost", attempt_id=attempt_id, error=str(error))
                self._branches.discard(worker)
        return await self._host.inspect(attempt_id)


_OF_RECEIPT: Final = {
    ReceiptStatus.ACCEPTED: IntentOutcome.TAKEN,
    ReceiptStatus.ALREADY: IntentOutcome.TAKEN_BEFORE,
    ReceiptStatus.REJECTED: IntentOutcome.REFUSED,
}


def _outcome_of(command: Command) -> IntentOutcome:
    match command:
        case RecordReceipt(receipt=receipt):
            return _OF_RECEIPT[receipt.status]
        case RecordUnknown():
            return IntentOutcome.UNKNOWN
        case _:
            return IntentOutcome.OBSERVED
