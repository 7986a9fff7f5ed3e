"""The spans of commands: how long a client waited for its answer, and what the answer was.

The journal knows nothing of a refused command or of a wait, so these are seen as they happen and
kept in memory, the latest thousands of them, until they are sent. Whoever asks may give its own
span (W3C ``traceparent``): the command's is then a child of that, and names the run's beside it.
"""

from collections import deque
from time import perf_counter_ns
from typing import Final, NamedTuple

from pointsman.actors.clock import Clock
from pointsman.actors.messages import Answer, Message
from pointsman.actors.supervising import Supervising
from pointsman.actors.workers import WorkerLostError
from pointsman.graph.commands import SubmitReport
from pointsman.graph.rejections import Rejected
from pointsman.graph.replies import Reply
from pointsman.runtime.spans.asked_by import asked_by
from pointsman.runtime.spans.span import NS_PER_MS, Span, Value, made_ref, ref_of
from pointsman.storage.journal_errors import JournalFullError

_KEPT_MAX: Final = 4_096


class _Began(NamedTuple):
    at_ns: int
    counter_ns: int


class WatchedSupervisor:
    """A supervisor, and what it was told as spans; of too many, the oldest are let go."""

    def __init__(self, supervisor: Supervising, clock: Clock) -> None:
        self._supervisor = supervisor
        self._clock = clock
        self._kept: deque[Span] = deque(maxlen=_KEPT_MAX)

    async def status(self) -> dict[str, int]:
        """Count what is leased."""
        return await self._supervisor.status()

    async def tell(self, message: Message) -> Answer:
        """Bring a command to its run and return the run's answer; each try is a span."""
        began = _Began(self._clock.now_ms() * NS_PER_MS, perf_counter_ns())
        try:
            answer = await self._supervisor.tell(message)
        except (WorkerLostError, JournalFullError) as error:
            code = "journal_full" if isinstance(error, JournalFullError) else "worker_lost"
            self._keep(message, message.run_id, began, failed=code)
            raise
        if isinstance(answer, Reply):
            self._keep(message, answer.run_id, began, duplicate=answer.duplicate)
        else:
            code = answer.code.value if isinstance(answer, Rejected) else answer.code
            self._keep(message, message.run_id, began, failed=code)
        return answer

    def take(self, spans_max: int) -> list[Span]:
        """Take the oldest spans out."""
        return [self._kept.popleft() for _ in range(min(spans_max, len(self._kept)))]

    def _keep(
        self,
        message: Message,
        run_id: str,
        began: _Began,
        *,
        duplicate: bool = False,
        failed: str | None = None,
    ) -> None:
        command = message.command
        subject = command.attempt_id if isinstance(command, SubmitReport) else run_id
        own, asker = ref_of(subject), asked_by.get()
        parent = asker or own
        attributes: dict[str, Value] = {
            "pointsman.run_id": run_id,
            "pointsman.id": subject,
            "pointsman.command": command.kind,
            "pointsman.duplicate": duplicate,
        }
        if message.command_id is not None:
            attributes["pointsman.command_id"] = message.command_id
        span = Span(
            ref=made_ref(parent.trace),
            parent=parent,
            name=f"command {command.kind}",
            began_ns=began.at_ns,
            ended_ns=began.at_ns + perf_counter_ns() - began.counter_ns,
            attributes=attributes,
            failed=failed,
            link=own if asker is not None else None,
            answers=True,
        )
        self._kept.append(span)
