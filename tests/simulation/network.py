"""Calls between simulated processes: they take time, and their answers may be lost.

Who calls a process that dies, or gets no answer in time, is told so by the error that the caller
names; what was asked may have been done by then, or be done later.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from tests.simulation.chance import Chance
from tests.simulation.faults import Faults
from tests.simulation.loop import Process, SimulatedLoop, current

T = TypeVar("T")

_LATENCY_S: Final = 0.002
_DELAY_MAX_S: Final = 20.0
_NOTICE_MAX_S: Final = 2.0


class Network:
    """Carries calls. The called code runs in the called process, the answer comes back."""

    def __init__(self, loop: SimulatedLoop, chance: Chance, faults: Faults) -> None:
        self._loop = loop
        self._chance = chance
        self._faults = faults

    def latency_s(self) -> float:
        """Draw how long a message takes."""
        if self._chance.happens(self._faults.call_delayed):
            return self._chance.spread(_LATENCY_S, _DELAY_MAX_S)
        return _LATENCY_S * self._chance.below()

    async def call(
        self,
        target: Process | None,
        work: Callable[[], Coroutine[Any, Any, T]],
        lost: Callable[[str], Exception],
        timeout_s: float,
    ) -> T:
        """Have a process do something, and return what came of it."""
        caller = current()
        caller.demand_alive()
        answer: asyncio.Future[T] = self._loop.create_future()

        def settle(outcome: T | None, error: BaseException | None) -> None:
            if answer.done():
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(outcome)  # type: ignore[arg-type]

        def fail(why: str, after_s: float) -> None:
            error = lost(why)
            self._loop.call_later(after_s, settle, None, error, context=caller.context)

        if target is None or not target.alive:
            fail("there is no such process", self.latency_s())
            return await answer

        def died() -> None:
            fail(f"{target.name} died", self._chance.uniform(0, _NOTICE_MAX_S))

        def begin() -> None:
            task = target.spawn(work())
            task.add_done_callback(answered)

        def answered(task: asyncio.Task[T]) -> None:
            if task.cancelled() or self._chance.happens(self._faults.answer_lost / 10):
                return  # the caller gives up in the end
            if self._chance.happens(self._faults.crash_at_reply):
                target.kill()
                return
            error = task.exception()
            outcome = task.result() if error is None else None
            self._loop.call_later(self.latency_s(), settle, outcome, error, context=caller.context)

        target.on_death.append(died)
        timer = self._loop.call_later(timeout_s, settle, None, lost("no answer in time"))
        self._loop.call_later(self.latency_s(), begin, context=target.context)
        try:
            return await answer
        finally:
            timer.cancel()
            if died in target.on_death:
                target.on_death.remove(died)

    def tell(self, target: Process | None, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Send what nobody waits for: it may be lost, doubled, late, and out of order."""
        chance, faults = self._chance, self._faults
        if target is None or not target.alive or chance.happens(faults.wake_lost):
            return
        for _ in range(2 if chance.happens(faults.wake_doubled) else 1):
            late = chance.happens(faults.wake_delayed)
            after_s = chance.spread(0.01, 300) if late else self.latency_s()
            self._loop.call_later(after_s, lambda: target.spawn(work()), context=target.context)
