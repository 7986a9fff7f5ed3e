"""The processes that branch actors live in, as the run actor sees them, and who gets which.

A process costs half a CPU-second and 45 MB. They are begun when a branch first has something to
do, kept while the run is at its worker, and given to the next branch that comes.
"""

from collections.abc import Collection
from typing import Final, Protocol

from pointsman.graph import ids
from pointsman.graph.commands import Command
from pointsman.graph.intents import Intent
from pointsman.graph.work import WorkAggregate

# An actor each for eight reviewers; more of them share, as their work is waiting for the host.
BRANCH_WORKERS_MAX: Final = 8
# Kept for the next run, or the next turn of this one, when a run is let go of.
IDLE_BRANCH_WORKERS_MAX: Final = 1


class BranchWorker(Protocol):
    """One branch actor in a process of its own.

    Every call may raise ``WorkerLostError``: what it was doing then happened, or it did not, and
    is asked of another worker under the same key.
    """

    async def perform(self, intent: Intent, token: str | None = None) -> Command | None:
        """Perform an intent, as ``IntentRunner.perform`` does."""
        ...

    async def look(self, attempt_id: str) -> WorkAggregate:
        """Return an attempt's work as the host shows it now."""
        ...

    def end(self) -> None:
        """End the worker's process."""
        ...


class BranchWorkers(Protocol):
    """Where branch workers come from. They end with the process that asked for them."""

    def spawn(self) -> BranchWorker:
        """Begin a new worker; its process may still be starting when this returns."""
        ...


def branch_of(intent: Intent) -> str | None:
    """Return the id of the reviewer's branch that an intent is for; ``None`` if it is the run's."""
    attempt_id: str | None = getattr(intent, "attempt_id", None)
    if attempt_id is not None:
        return ids.place_of(attempt_id).branch_id
    key: str | None = getattr(intent, "workspace_key", None)
    if key is None or key == ids.workspace_key(intent.run_id):
        return None
    return key.removeprefix("wf:")


class BranchPool:
    """Gives each branch with something to do a worker: one of its own, as long as there are."""

    def __init__(
        self,
        workers: BranchWorkers,
        workers_max: int = BRANCH_WORKERS_MAX,
        idle_max: int = IDLE_BRANCH_WORKERS_MAX,
    ) -> None:
        self._workers = workers
        self._workers_max = workers_max
        self._idle_max = idle_max
        self._of: dict[str, BranchWorker] = {}
        self._all: list[BranchWorker] = []

    @property
    def size(self) -> int:
        """How many processes there are."""
        return len(self._all)

    def worker(self, branch_id: str) -> BranchWorker:
        """Return the branch's worker: its own, an idle one, a new one, or the least shared."""
        found = self.at_hand(branch_id)
        if found is None:
            if len(self._all) < self._workers_max:
                found = self._workers.spawn()
                self._all.append(found)
            else:
                found = min(self._all, key=self._branches_at)
            self._of[branch_id] = found
        return found

    def at_hand(self, branch_id: str) -> BranchWorker | None:
        """Return the branch's worker if that costs no new process and nobody else's turn."""
        found = self._of.get(branch_id)
        if found is None:
            found = next((each for each in self._all if not self._branches_at(each)), None)
            if found is not None:
                self._of[branch_id] = found
        return found

    def keep_only(self, branches: Collection[str]) -> None:
        """Take the workers of all other branches back; they wait for the next branch."""
        for gone in self._of.keys() - set(branches):
            del self._of[gone]

    def discard(self, worker: BranchWorker) -> None:
        """End a worker that is lost; its branches get another when they next need one."""
        if worker in self._all:
            self._all.remove(worker)
            self._of = {branch: each for branch, each in self._of.items() if each is not worker}
            worker.end()

    def rest(self) -> None:
        """Keep a few workers and end the others: no branch has anything to do."""
        self._of.clear()
        for worker in self._all[self._idle_max :]:
            worker.end()
        del self._all[self._idle_max :]

    def _branches_at(self, worker: BranchWorker) -> int:
        return sum(1 for each in self._of.values() if each is worker)
