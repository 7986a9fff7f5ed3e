"""The processes that run actors live in, as the supervisor sees them."""

from typing import Protocol

from pointsman.actors.messages import Answer, Message


class WorkerLostError(Exception):
    """The worker's process is gone; what it was doing was committed, or it was not."""


class LeaseLostError(Exception):
    """A newer fencing token exists for the run; the worker has let go of it."""


class Worker(Protocol):
    """One run actor in a process of its own. Every call may raise ``WorkerLostError``."""

    async def assign(self, run_id: str, fencing_token: int) -> None:
        """Give the worker a run."""
        ...

    async def tell(self, message: Message) -> Answer:
        """Have a command handled. May raise ``LeaseLostError``."""
        ...

    async def wake(self, run_id: str, subject_id: str | None = None) -> None:
        """Have the work of an attempt or a check looked at, or all that the run owes."""
        ...

    async def passivate(self) -> bool:
        """Ask the worker to let go of its run; it refuses while something is in flight."""
        ...

    def end(self) -> None:
        """End the worker's process."""
        ...


class Workers(Protocol):
    """Where workers come from."""

    def spawn(self) -> Worker:
        """Begin a new worker; its process may still be starting when this returns."""
        ...
