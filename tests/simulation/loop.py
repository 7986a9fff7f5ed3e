"""An event loop with simulated time, which picks from a seed whose turn is next.

Every callback belongs to a process: the context it was scheduled in says to which. Within a
process callbacks keep their order, as in asyncio; between processes any order may come. A process
that was killed never runs again, at whichever await its tasks stood. Nothing here waits for real.
"""

import asyncio
import contextvars
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from tests.simulation.chance import Chance

T = TypeVar("T")

# What one callback takes; the clock moves on by it while there is something to do.
_STEP_S: Final = 0.00005


class ProcessDiedError(BaseException):
    """Ends the code of a process that was killed; nothing may catch it and go on."""


class StuckError(Exception):
    """Nothing will ever happen any more, or far too much happens."""


class Process:
    """What can be killed as one: a worker, the supervisor, the host, the gateway."""

    def __init__(self, loop: "SimulatedLoop", name: str) -> None:
        self.name = name
        self.alive = True
        self.stalled_until = 0.0
        self.ready: deque[asyncio.Handle] = deque()
        self.on_death: list[Callable[[], None]] = []
        # A timer of exactly this delay is a periodic look around, and may come late.
        self.tick_s: float | None = None
        self.context = contextvars.copy_context()
        self.context.run(_CURRENT.set, self)
        self._loop = loop
        # Kept until the loop is closed: a collected coroutine would run its last steps.
        self._tasks: list[asyncio.Task[Any]] = []

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin a task of this process."""
        task = self._loop.create_task(work, context=self.context.copy())
        self._tasks.append(task)
        return task

    def kill(self) -> None:
        """End the process between two steps, as a power cut would."""
        if not self.alive:
            return
        self.alive = False
        self.ready.clear()
        for told in self.on_death:
            told()

    def demand_alive(self) -> None:
        """End the code that calls this if its process was killed."""
        if not self.alive:
            raise ProcessDiedError(self.name)


_CURRENT: contextvars.ContextVar[Process] = contextvars.ContextVar("process")


def current() -> Process:
    """Return the process whose code is running."""
    return _CURRENT.get()


Timer = tuple[float, int, asyncio.TimerHandle, Process]


class SimulatedLoop(asyncio.BaseEventLoop):
    """``steps`` counts callbacks. ``leap_s`` says how late a process's tick may come now."""

    def __init__(self, chance: Chance, steps_max: int) -> None:
        super().__init__()
        self._below = chance.below
        self._now = 0.0
        self._steps_max = steps_max
        self._numbers = itertools.count()
        self._timers: list[Timer] = []
        self._ticks: list[Timer] = []
        self._runnable: list[Process] = []
        self.steps = 0
        self.before_step: Callable[[Process], None] = lambda process: None
        self.leap_s: Callable[[], float] = lambda: 0.0
        self.outside = Process(self, "outside")
        self.set_exception_handler(lambda loop, context: None)

    def __del__(self, *_: object) -> None:
        """Warn of nothing: it holds no file, and killed processes never end their tasks."""

    def time(self) -> float:
        return self._now

    def call_soon(  # type: ignore[override]
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        process = _CURRENT.get(self.outside) if context is None else context.get(_CURRENT)
        self._enqueue(process or self.outside, handle)
        return handle

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        process = _CURRENT.get(self.outside) if context is None else context.get(_CURRENT)
        process = process or self.outside
        tick = process.tick_s is not None and abs(when - self._now - process.tick_s) < 1e-9
        self._schedule(self._ticks if tick else self._timers, when, handle, process)
        return handle

    def _schedule(
        self, timers: list[Timer], when: float, handle: asyncio.TimerHandle, process: Process
    ) -> None:
        heapq.heappush(timers, (when, next(self._numbers), handle, process))

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Leave the cancelled timer where it is; it is thrown away when its time comes."""

    def _enqueue(self, process: Process, handle: asyncio.Handle) -> None:
        if not process.alive:
            return
        if not process.ready:
            self._runnable.append(process)
        process.ready.append(handle)

    def _run_once(self) -> None:
        self._let_time_pass()
        runnable = self._runnable
        at = int(self._below() * len(runnable))
        process = runnable[at]
        if process.stalled_until > self._now:
            runnable[at] = runnable[-1]
            runnable.pop()
            until = process.stalled_until
            self.call_at(until, self._go_on, process, context=self.outside.context)
            return
        handle = process.ready.popleft() if process.ready else None
        if not process.ready:
            runnable[at] = runnable[-1]
            runnable.pop()
        if handle is None or handle.cancelled():
            return
        self.steps += 1
        if self.steps > self._steps_max:
            raise StuckError(f"{self.steps} steps and no end")
        self._now += _STEP_S
        self.before_step(process)
        if process.alive:
            handle._run()  # noqa: SLF001 - an event loop is whom this is for

    def _go_on(self, process: Process) -> None:
        if process.alive and process.ready:
            self._runnable.append(process)

    def _let_time_pass(self) -> None:
        """Take in the timers that are due; with nothing to do, move on to the next."""
        while True:
            tick_is_next = bool(self._ticks) and (
                not self._timers or self._ticks[0] < self._timers[0]
            )
            timers = self._ticks if tick_is_next else self._timers
            if self._runnable and not (timers and timers[0][0] <= self._now):
                return
            if not timers:
                raise StuckError("nothing will ever happen any more")
            when, _, handle, process = heapq.heappop(timers)
            if handle.cancelled() or not process.alive:
                continue
            if tick_is_next and not self._runnable:
                when = self._as_late_as_can_be(when)
            self._now = max(self._now, when)
            if process.stalled_until > self._now:
                self._schedule(self._timers, process.stalled_until, handle, process)
            else:
                self._enqueue(process, handle)

    def _as_late_as_can_be(self, when: float) -> float:
        """Let a look around come late where there would be nothing to see.

        A timer promises no more than not to come early, as on a machine that was asleep.
        """
        until = when + self.leap_s()
        return max(when, min(until, self._timers[0][0])) if self._timers else until

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Do at once what is meant for a thread: there are no others."""
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except BaseException as error:  # noqa: BLE001 - told to whoever waits, as by a thread
            done.set_exception(error)
        return done

    def _process_events(self, event_list: Any) -> None:
        """There are no sockets."""

    def _write_to_self(self) -> None:
        """There are no other threads."""


async def pause(seconds: float) -> None:
    """Let simulated time go by."""
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()
    timer = loop.call_later(seconds, _wake, waiter)
    try:
        await waiter
    finally:
        timer.cancel()


def _wake(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)
