"""How whoever has commands reaches the supervisor of a shard."""

from typing import Protocol

from pointsman.actors.messages import Answer, Message


class Supervising(Protocol):
    """What is asked of the supervisor of a shard; both may raise ``WorkerLostError``."""

    async def tell(self, message: Message) -> Answer:
        """Bring a command to its run and return the run's answer."""
        ...

    async def status(self) -> dict[str, int]:
        """Count what is leased."""
        ...
