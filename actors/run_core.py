"""The life of one run in its one writer: decide, commit, evolve, reply, act. No Ray, no I/O
but the journal. The order is visible in ``_transition``, and each gap has a crash point.
"""

from dataclasses import dataclass
from time import perf_counter
from typing import Final

from pointsman.actors import metrics
from pointsman.actors.clock import Clock
from pointsman.actors.crash_points import CrashPoint, CrashPoints
from pointsman.actors.messages import Answer, Message, Unavailable
from pointsman.graph.advance import advance
from pointsman.graph.canonical import digest
from pointsman.graph.commands import DecideGate, StartRun
from pointsman.graph.decide import decide
from pointsman.graph.events import CredentialBound, Event, RecordedEvent
from pointsman.graph.evolve import evolve
from pointsman.graph.intents import Intent
from pointsman.graph.model import Model
from pointsman.graph.project import project
from pointsman.graph.projection import Projection
from pointsman.graph.rejections import Rejected, RejectionCode
from pointsman.graph.replies import Accepted, Reply
from pointsman.graph.run import Run
from pointsman.storage.journal import Journal, TokenBinding, Transition
from pointsman.storage.journal_errors import (
    JournalFullError,
    ReceiptConflictError,
    SequenceConflictError,
)
from pointsman.storage.receipts import CommandReceipt

_DECISIONS_MAX: Final = 3
# Each automatic step either waits for the outside or uses up a visit, so a definition that
# passed validation cannot come near this; reaching it is a bug, not a load.
_STEPS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Folded:
    """A run with the events that led from its committed state to here."""

    run: Run
    events: tuple[RecordedEvent, ...]


class RunCore:
    """The only writer of one run while its fencing token is the newest.

    If ``handle`` returns, what it answered is durable. If it raises ``FencedError``, another
    writer owns the run and this one must stop; any other error leaves the run as it was.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        run_id: str,
        fencing_token: int,
        crash: CrashPoints | None = None,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._crash = crash or CrashPoints()
        self._token = fencing_token
        self.run_id = run_id
        self.run: Run | None = journal.run(run_id)
        self._projection: Projection | None = project(self.run) if self.run else None

    @property
    def outbox(self) -> tuple[Intent, ...]:
        """The intents that must be in flight now."""
        return self._projection.outbox if self._projection is not None else ()

    @property
    def open_work(self) -> tuple[str, ...]:
        """The attempts and checks that the host works on."""
        return self._projection.summary.open_work if self._projection is not None else ()

    def answered_before(self, message: Message) -> Answer | None:
        """Return the first answer to the message's command id, if there is one."""
        return answered_before(self._journal, message) if message.command_id is not None else None

    def handle(self, message: Message) -> Answer:
        """Answer a command: from its receipt, or by deciding it and making it durable."""
        assert message.run_id == self.run_id, f"{message.run_id} is not {self.run_id}"
        for _ in range(_DECISIONS_MAX):
            known = self.answered_before(message)
            if known is not None:
                return known
            try:
                return self._transition(message)
            except (SequenceConflictError, ReceiptConflictError):
                self._reload()
            except JournalFullError:
                return Unavailable(
                    code="journal_full",
                    message="the disk with the data directory is full; nothing was changed",
                )
        return Unavailable(code="busy", message="the run is being changed by others; try again")

    def _transition(self, message: Message) -> Answer:
        at_ms = self._clock.now_ms()
        verdict = decide(self.run, message.command, at_ms)
        if isinstance(verdict, Rejected):
            return verdict
        folded = self._fold(verdict, at_ms)
        if folded is None:
            return verdict.reply
        projection = project(folded.run)
        self._crash.here(CrashPoint.BEFORE_COMMIT)
        transition = self._prepared(message, verdict.reply, folded, projection)
        began_s = perf_counter()
        self._journal.commit(transition)
        metrics.committed(perf_counter() - began_s)
        self._crash.here(CrashPoint.AFTER_COMMIT)
        self.run, self._projection = folded.run, projection
        return verdict.reply

    def _fold(self, verdict: Accepted, at_ms: int) -> _Folded | None:
        """Apply the decision's events and every automatic step they make due."""
        run, recorded = self.run, list[RecordedEvent]()
        due: tuple[Event, ...] = verdict.events
        for _ in range(_STEPS_MAX):
            for event in due:
                sequence = run.version if run is not None else 0
                each = RecordedEvent(
                    run_id=self.run_id, sequence=sequence, at_ms=at_ms, event=event
                )
                run = evolve(run, each)
                recorded.append(each)
            assert run is not None, f"{self.run_id}: accepted without a run"
            due = advance(run)
            if not due:
                return _Folded(run, tuple(recorded)) if recorded else None
        raise AssertionError(f"{self.run_id} does not come to rest")

    def _prepared(
        self, message: Message, reply: Reply, folded: _Folded, projection: Projection
    ) -> Transition:
        receipt = None
        if message.command_id is not None:
            receipt = CommandReceipt(
                scope=message.scope,
                command_id=message.command_id,
                digest=_asked(message),
                run_id=self.run_id,
                reply=reply.model_dump_json().encode(),
            )
        return Transition(
            run_id=self.run_id,
            expected_sequence=folded.events[0].sequence,
            fencing_token=self._token,
            events=folded.events,
            run=folded.run,
            projection=projection,
            receipt=receipt,
            tokens=tuple(
                TokenBinding(each.event.token_digest, each.event.attempt_id)
                for each in folded.events
                if isinstance(each.event, CredentialBound)
            ),
        )

    def _reload(self) -> None:
        self.run = self._journal.run(self.run_id)
        self._projection = project(self.run) if self.run else None


def answered_before(journal: Journal, message: Message) -> Answer | None:
    """Return the first answer to a command id, if there is one.

    The same id for another command is refused: the caller's two wishes cannot be told apart.
    """
    assert message.command_id is not None, "only a command with an id has a receipt"
    receipt = journal.receipt(message.scope, message.command_id)
    if receipt is None:
        return None
    if receipt.digest != _asked(message):
        return Rejected(
            code=RejectionCode.COMMAND_ID_REUSED,
            message="this command id was used for another command; use a new one",
            details={"run_id": receipt.run_id},
        )
    reply = Reply.model_validate_json(receipt.reply)
    return reply.model_copy(update={"duplicate": True})


# What a client asked for, without what was only observed or minted on the way.
_OBSERVED: Final[dict[type[Model], frozenset[str]]] = {
    StartRun: frozenset({"run_id", "base_commit", "base_branch", "left_out", "skills"}),
    DecideGate: frozenset({"head"}),
}


def _asked(message: Message) -> str:
    excluded = set(_OBSERVED.get(type(message.command), ()))
    return digest(message.command.model_dump(mode="json", exclude=excluded, exclude_none=True))
