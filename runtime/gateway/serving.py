"""Serving the gateway from a thread of its own, for as long as the server lives.

Apart from ``app``, which loads this module while Ray's processes come up: what speaks HTTP and
MCP takes about as long to import as they take to start.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Final

import uvicorn
from fastapi import FastAPI
from ulid import ULID

from pointsman.actors.clock import SystemClock
from pointsman.actors.ray_handles.historians import RemoteHistorian
from pointsman.actors.ray_handles.hosts import RemoteHost
from pointsman.actors.ray_handles.supervisors import RaySupervisor
from pointsman.graph import ids
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.discovery import metrics_token
from pointsman.runtime.gateway.app import create_app
from pointsman.runtime.gateway.operations import Operations
from pointsman.runtime.gateway.scheduling import Scheduling
from pointsman.runtime.gateway.scraping import Scraping
from pointsman.runtime.hosts.assembly import output_logs
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.spans.service import spans_sent
from pointsman.runtime.views.measures import Measures
from pointsman.storage.journal import Journal

_START_PATIENCE_S: Final = 60.0


@contextlib.contextmanager
def serving(
    data: DataDirectory,
    listener: socket.socket,
    token: str,
    journal: Journal,
    supervisor: RaySupervisor,
    host: RemoteHost,
    historian: RemoteHistorian,
    measures: Measures,
    *,
    shard: int,
    fires_schedules: bool,
) -> Iterator[None]:
    """Take commands inside, on a socket that is bound already; whoever waits is told of the end."""
    stopping = threading.Event()
    with spans_sent(data, journal, supervisor) as watched:
        operations = Operations(journal, watched, host, partial(_mint_run_id, shard))
        scheduling = Scheduling(journal, operations.start, SystemClock(), fires=fires_schedules)
        logs_of = partial(output_logs, data)
        scraping = Scraping(measures, supervisor, metrics_token(data))
        app = create_app(
            operations, journal, token, logs_of, scheduling, scraping, historian, stopping.is_set
        )
        with _answering(app, listener):
            try:
                yield
            finally:
                stopping.set()


@contextlib.contextmanager
def _answering(app: FastAPI, listener: socket.socket) -> Iterator[None]:
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=2)
    )
    thread = threading.Thread(target=server.run, args=([listener],), name="gateway", daemon=True)
    thread.start()
    give_up = time.monotonic() + _START_PATIENCE_S
    while not server.started:
        if not thread.is_alive() or time.monotonic() > give_up:
            raise PointsmanError("internal_error", "the gateway did not start; see server.log")
        thread.join(timeout=0.02)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def _mint_run_id(shard: int) -> str:
    return ids.run_id(shard, str(ULID()))
