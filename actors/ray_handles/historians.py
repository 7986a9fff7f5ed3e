"""The historian in a named Ray actor, begun when it is first needed."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ray
from ray.exceptions import RayActorError, RayTaskError

from pointsman.actors.history import ArrowAnswer, HistoryUnavailableError
from pointsman.actors.ray_handles.calls import options
from pointsman.storage.history.errors import HistoryError
from pointsman.storage.history.limits import Limits
from pointsman.storage.history.memory import bound_memory
from pointsman.storage.journal_errors import JournalError

if TYPE_CHECKING:  # which loads DuckDB, and only the actor needs it
    from pointsman.actors.historian import Historian

_NAME: Final = "historian"
# More statements at once than the gateway lets through, and what else is asked beside them.
_CALLS_AT_ONCE: Final = 8
# Copying and asking are never in the way of the work itself.
_NICENESS: Final = 5

HistorianFactory = Callable[[], "Historian"]


class _HistorianActor:
    """Holds the historian; each call has a thread."""

    def __init__(self, factory: HistorianFactory) -> None:
        os.nice(_NICENESS)
        bound_memory()
        self._historian = factory()
        self._historian.start()

    def call(self, method: str, *arguments: Any) -> Any:
        return getattr(self._historian, method)(*arguments)


class RemoteHistorian:
    """``AsksHistory`` in an actor of its own, which Ray begins again when it dies."""

    def __init__(self, factory: HistorianFactory) -> None:
        self._factory = factory

    def begin(self) -> Any:
        """Begin the historian unless it lives already, and return it."""
        made = {**options(_NAME), "max_concurrency": _CALLS_AT_ONCE}
        actor: Any = ray.remote(_HistorianActor).options(**made, get_if_exists=True)
        return actor.remote(self._factory)

    async def _call(self, method: str, *arguments: Any) -> Any:
        try:
            actor = await asyncio.to_thread(self.begin)
            return await actor.call.remote(method, *arguments)
        except RayTaskError as error:
            if isinstance(error.cause, HistoryError | JournalError):
                raise error.cause from error
            raise
        except RayActorError as error:
            raise HistoryUnavailableError(str(error)) from error

    async def ask(self, asked_id: str, statement: str, limits: Limits) -> ArrowAnswer:
        stream, cut = await self._call("ask", asked_id, statement, limits)
        return ArrowAnswer(stream, cut)

    async def interrupt(self, asked_id: str) -> None:
        await self._call("interrupt", asked_id)

    async def export(self, folder: Path) -> None:
        await self._call("export", folder)

    async def rebuild(self) -> None:
        await self._call("rebuild")

    async def behind(self) -> int:
        count: int = await self._call("behind")
        return count
