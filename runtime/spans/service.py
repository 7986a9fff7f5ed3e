"""Spans for as long as a server lives, if there is a collector for them."""

import contextlib
from collections.abc import Iterator

from pointsman.actors.clock import SystemClock
from pointsman.actors.supervising import Supervising
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.spans.configured import collector
from pointsman.runtime.spans.of_commands import WatchedSupervisor
from pointsman.runtime.spans.sending import SpanSender
from pointsman.storage.journal import Journal


@contextlib.contextmanager
def spans_sent(
    data: DataDirectory, journal: Journal, supervisor: Supervising
) -> Iterator[Supervising]:
    """Send spans inside, if that is configured; give the supervisor that commands are told to."""
    if collector() is None:
        yield supervisor
        return
    from pointsman.runtime.spans.otlp import Collector

    watched, collecting = WatchedSupervisor(supervisor, SystemClock()), Collector()
    sender = SpanSender(journal, data.spans_mark, collecting.send, watched.take)
    sender.start()
    try:
        yield watched
    finally:
        sender.stop()
        collecting.close()
