"""Turns at a workspace: one act at a time, whichever host of the data folder does it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from filelock import FileLock, Timeout

from pointsman.runtime.durable import file_name


class Turns:
    """Locks by workspace key."""

    def __init__(self, folder: Path, is_closing: Callable[[], bool]):
        self._folder = folder
        self._is_closing = is_closing

    def take(self, workspace_key: str) -> AbstractContextManager[object]:
        """Wait for the turn and hold it; ``filelock.Timeout`` when the host closes meanwhile."""
        return self._lock(workspace_key).acquire(cancel_check=self._is_closing)

    def take_now(self, workspace_key: str) -> AbstractContextManager[object] | None:
        """Hold the turn if nobody has it; ``None`` when somebody does."""
        try:
            return self._lock(workspace_key).acquire(timeout=0)
        except Timeout:
            return None

    def _lock(self, workspace_key: str) -> FileLock:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return FileLock(self._folder / f"{file_name(workspace_key)}.lock")
