"""How the history is reached while a server has it; what has it is the ``historian``."""

from pathlib import Path
from typing import NamedTuple, Protocol

from pointsman.storage.history.limits import Limits


class HistoryUnavailableError(Exception):
    """The historian's process died, or does not answer; it is begun again by itself."""


class ArrowAnswer(NamedTuple):
    """Rows as a stream in Arrow's format, and whether there were more."""

    stream: bytes
    cut: bool


class AsksHistory(Protocol):
    """How the gateway reaches the historian. Every method may raise what ``History`` raises."""

    async def ask(self, asked_id: str, statement: str, limits: Limits) -> ArrowAnswer:
        """Answer one statement on all that is committed by now."""
        ...

    async def interrupt(self, asked_id: str) -> None:
        """End a statement that nobody waits for any more."""
        ...

    async def export(self, folder: Path) -> None:
        """Write all tables as Parquet."""
        ...

    async def rebuild(self) -> None:
        """Make the history again from the journals."""
        ...

    async def behind(self) -> int:
        """Return how many positions of the journals' logs are not yet taken."""
        ...
