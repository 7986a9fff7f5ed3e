"""A historian in this process: the real one without Ray's process around it."""

import asyncio
from pathlib import Path

from pointsman.actors.historian import Historian
from pointsman.actors.history import ArrowAnswer
from pointsman.storage.history.limits import Limits
from pointsman.storage.journal import Journal


class InProcessHistorian:
    """Begun when it is first needed, as a server's is."""

    def __init__(self, path: Path, journal: Journal) -> None:
        self._path = path
        self._journal = journal
        self._begun: Historian | None = None

    def stop(self) -> None:
        if self._begun is not None:
            self._begun.stop()

    def _historian(self) -> Historian:
        if self._begun is None:
            self._begun = Historian(self._path, {"shard-0": self._journal})
            self._begun.start()
        return self._begun

    async def ask(self, asked_id: str, statement: str, limits: Limits) -> ArrowAnswer:
        return await asyncio.to_thread(self._historian().ask, asked_id, statement, limits)

    async def interrupt(self, asked_id: str) -> None:
        self._historian().interrupt(asked_id)

    async def export(self, folder: Path) -> None:
        await asyncio.to_thread(self._historian().export, folder)

    async def rebuild(self) -> None:
        await asyncio.to_thread(self._historian().rebuild)

    async def behind(self) -> int:
        return self._historian().behind()
