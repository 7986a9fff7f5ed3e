"""Bringing a command to its run, past the death of any process on the way."""

import asyncio
from time import perf_counter
from typing import Final

import structlog

from pointsman.actors import metrics
from pointsman.actors.messages import Answer, Message
from pointsman.actors.supervising import Supervising
from pointsman.actors.workers import WorkerLostError
from pointsman.runtime.problems import PointsmanError
from pointsman.storage.journal_errors import JournalFullError

log = structlog.get_logger()

_TELL_PAUSES_S: Final = (0.1, 0.3, 1.0, 2.0)


async def tell(supervisor: Supervising, message: Message) -> Answer:
    """Bring a command to its run, again when a process on the way died.

    Only for commands that may be sent again: one with an id is then answered from its receipt,
    and a report by its own retry key. Raises ``worker_lost`` when nobody answers, and
    ``journal_full``.
    """
    began_s = perf_counter()
    try:
        return await _told(supervisor, message)
    finally:
        metrics.command_ended(message.command.kind, perf_counter() - began_s)


async def _told(supervisor: Supervising, message: Message) -> Answer:
    for pause_s in (*_TELL_PAUSES_S, None):
        try:
            return await supervisor.tell(message)
        except WorkerLostError as error:
            log.warning("supervisor_lost", run_id=message.run_id, error=repr(error))
            if pause_s is None:
                raise PointsmanError(
                    "worker_lost", "the run's process died again and again; send it again later"
                ) from error
        except JournalFullError as error:
            # The run could not even be leased; a commit's own is answered by the run.
            raise PointsmanError("journal_full", str(error)) from error
        await asyncio.sleep(pause_s)
    raise AssertionError("the last try answers or raises")
