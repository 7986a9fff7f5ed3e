"""A run's mailbox: commands wait here, in order, up to a bound; then they are refused."""

import asyncio
from collections.abc import Callable
from typing import Final

from pointsman.actors import metrics
from pointsman.actors.messages import Answer, Message, Unavailable

MAILBOX_LENGTH_MAX: Final = 256


class Mailbox:
    """Hands messages to one handler, one at a time, in the order they came."""

    def __init__(
        self, handle: Callable[[Message], Answer], length_max: int = MAILBOX_LENGTH_MAX
    ) -> None:
        self._handle = handle
        self._queue: asyncio.Queue[tuple[Message, asyncio.Future[Answer]]] = asyncio.Queue(
            length_max
        )
        self._consumer: asyncio.Task[None] | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return self._queue.empty()

    async def put(self, message: Message) -> Answer:
        """Wait for the answer, or be refused at once when the mailbox is full."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        try:
            self._queue.put_nowait((message, answer))
        except asyncio.QueueFull:
            metrics.mailbox_was_full()
            return Unavailable(
                code="mailbox_full", message="too many commands wait for this run; try again"
            )
        metrics.mailbox_entered()
        if self._consumer is None or self._consumer.done():
            self._consumer = asyncio.create_task(self._consume())
        return await answer

    async def _consume(self) -> None:
        while not self._queue.empty():
            message, answer = self._queue.get_nowait()
            metrics.mailbox_left()
            if answer.cancelled():
                continue
            try:
                answer.set_result(self._handle(message))
            except Exception as error:  # noqa: BLE001
                # The caller gets it: the supervisor decides whether the actor lives on.
                answer.set_exception(error)
            await asyncio.sleep(0)
