"""Watching open work: whatever changes in its folder, or dies, wakes the engine.

A wake says only that looking is worth while. Missing one would leave a run waiting, so changes
are found by comparing folders (``SupervisedCommand.fingerprint``), not by counting events.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from pointsman.actors.host import HostUnavailableError
from pointsman.runtime.processes.supervised import OPEN_STATES, CommandState, SupervisedCommand

_LOOK_EVERY_S: Final = 0.05
_PROCESS_LOOK_EVERY: Final = 5  # looks at the folder for one at the process table

Fingerprint = frozenset[tuple[str, int]]


class Watch:
    """Watches commands by the id of the attempt or check they belong to."""

    def __init__(
        self,
        wake: Callable[[str], None],
        settle_loss: Callable[[SupervisedCommand], Awaitable[None]],
    ):
        self._wake = wake
        self._settle_loss = settle_loss
        self._open: dict[str, SupervisedCommand] = {}
        self._seen: dict[str, Fingerprint] = {}
        self._settling: dict[str, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, subject: str, command: SupervisedCommand) -> None:
        """Watch a command until it has ended; a later turn takes the place of an earlier."""
        self._open[subject] = command
        self._seen.pop(subject, None)

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="host watch")

    def check(self) -> None:
        """Raise what ended the watch, if a mistake did: without wakes no call may look well."""
        if self._task is not None and self._task.done():
            self._task.result()

    async def stop(self) -> None:
        """Stop watching; the work goes on."""
        tasks = [*self._settling.values()] + ([self._task] if self._task is not None else [])
        self._task = None
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        look = 0
        while True:
            for subject, command in list(self._open.items()):
                try:
                    self._look(subject, command, look % _PROCESS_LOOK_EVERY == 0)
                except OSError:
                    # Such as too many open files: the next look comes in a moment, and until
                    # one succeeds this work simply counts as unchanged.
                    continue
            look += 1
            await asyncio.sleep(_LOOK_EVERY_S)

    def _look(self, subject: str, command: SupervisedCommand, at_processes: bool) -> None:
        # The fingerprint is taken before the state: what is added in between is seen next time.
        seen = command.fingerprint()
        changed = seen != self._seen.get(subject)
        if not changed and not at_processes:
            return
        self._seen[subject] = seen
        state = command.state()
        if state is CommandState.ORPHANED and subject not in self._settling:
            # Ending stubborn leftovers takes seconds; the others are looked at meanwhile.
            self._settling[subject] = asyncio.create_task(self._settle(subject, command))
        if state not in OPEN_STATES and self._open.get(subject) is command:
            del self._open[subject]
            del self._seen[subject]
            changed = True
        if changed:
            self._wake(subject)

    async def _settle(self, subject: str, command: SupervisedCommand) -> None:
        try:
            with suppress(HostUnavailableError):  # the next look begins it again
                await self._settle_loss(command)
        finally:
            del self._settling[subject]
