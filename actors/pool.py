"""A pool of workers: a new process costs half a CPU-second, a pooled one a millisecond.

A burst of starts is served by a few processes in turn, not by one each. Only when none of them
comes free (long set-ups hold them, say) does the pool grow, one by one.
"""

import asyncio
import os
from collections import deque
from typing import Final

from pointsman.actors.workers import Worker, Workers

IDLE_WORKERS_MAX: Final = 2
# Lent before anybody has to wait.
WORKERS_AT_ONCE_MAX: Final = max(4, 2 * (os.cpu_count() or 1))
WORKERS_MAX: Final = 64
PATIENCE_S: Final = 20.0


class PoolExhaustedError(Exception):
    """All workers the pool may have are in use, and none came free in time."""


class Pool:
    """Lends workers and takes them back; keeps a few idle ones ready.

    Whoever finds none free waits in order. ``handed_over`` counts those who had to and got one.
    """

    def __init__(
        self,
        workers: Workers,
        idle_max: int = IDLE_WORKERS_MAX,
        at_once_max: int = WORKERS_AT_ONCE_MAX,
        workers_max: int = WORKERS_MAX,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._workers = workers
        self._idle: deque[Worker] = deque()
        self._waiters: deque[asyncio.Future[Worker]] = deque()
        self._idle_max = idle_max
        self._at_once_max = min(at_once_max, workers_max)
        self._workers_max = workers_max
        self._patience_s = patience_s
        self.lent = 0
        self.handed_over = 0

    @property
    def idle(self) -> int:
        """How many workers wait for a run."""
        return len(self._idle)

    @property
    def is_short(self) -> bool:
        """Whether somebody waits for a worker."""
        return bool(self._waiters)

    def warm(self) -> None:
        """Begin one idle worker ahead of the first run."""
        if not self._idle:
            self._idle.append(self._workers.spawn())

    async def take(self, patience_s: float | None = None) -> Worker:
        """Lend a worker: an idle one, a new one, or the next that comes free.

        Raises ``PoolExhaustedError`` when none did in time.
        """
        if not self._waiters and (self._idle or self.lent < self._at_once_max):
            return self._lend()
        if patience_s is None:
            patience_s = self._patience_s
        waiter: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await asyncio.wait((waiter,), timeout=patience_s)  # which does not cancel it
        except asyncio.CancelledError:
            if waiter.done():
                self.give_back(waiter.result())
            raise
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
        if not waiter.done():
            raise PoolExhaustedError
        return waiter.result()

    def grow(self) -> None:
        """Begin one more worker for the first who waits, if there may be one more."""
        if self.lent < self._workers_max:
            self._hand_over()

    def give_back(self, worker: Worker) -> None:
        """Take back a worker that holds no run."""
        self.lent -= 1
        self._idle.append(worker)
        self._settle()

    def discard(self, worker: Worker) -> None:
        """End a worker that is lost, or whose state is not known."""
        self.lent -= 1
        worker.end()
        self._settle()

    def _settle(self) -> None:
        """Serve the first who waits with what came free, else keep only a few idle workers."""
        if self.lent < self._at_once_max or self._idle:
            self._hand_over()
        while len(self._idle) > self._idle_max:
            self._idle.pop().end()

    def _hand_over(self) -> None:
        if self._waiters:
            self._waiters.popleft().set_result(self._lend())
            self.handed_over += 1

    def _lend(self) -> Worker:
        self.lent += 1
        return self._idle.popleft() if self._idle else self._workers.spawn()
