"""A pool of idle workers: a new process costs half a CPU-second, a pooled one a millisecond."""

from collections import deque
from typing import Final

from pointsman.actors.workers import Worker, Workers

IDLE_WORKERS_MAX: Final = 2
WORKERS_MAX: Final = 64


class PoolExhaustedError(Exception):
    """All workers the pool may have are in use."""


class Pool:
    """Lends workers and takes them back; keeps a few idle ones ready."""

    def __init__(
        self,
        workers: Workers,
        idle_max: int = IDLE_WORKERS_MAX,
        workers_max: int = WORKERS_MAX,
    ) -> None:
        self._workers = workers
        self._idle: deque[Worker] = deque()
        self._idle_max = idle_max
        self._workers_max = workers_max
        self.lent = 0

    def warm(self) -> None:
        """Begin one idle worker ahead of the first run."""
        if not self._idle:
            self._idle.append(self._workers.spawn())

    def take(self) -> Worker:
        """Lend a worker, an idle one if there is one."""
        if self.lent >= self._workers_max:
            raise PoolExhaustedError
        self.lent += 1
        return self._idle.popleft() if self._idle else self._workers.spawn()

    def give_back(self, worker: Worker) -> None:
        """Take back a worker that holds no run."""
        self.lent -= 1
        if len(self._idle) < self._idle_max:
            self._idle.append(worker)
        else:
            worker.end()

    def discard(self, worker: Worker) -> None:
        """End a worker that is lost, or whose state is not known."""
        self.lent -= 1
        worker.end()
