"""The composition root: one server of one data directory, from its lock to its socket.

``start_runtime`` either gives a server that takes commands, or raises a ``PointsmanError``
and leaves nothing running. The same server stands behind ``serve`` and inside ``run``.
"""

import contextlib
import errno
import importlib
import os
import secrets
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import structlog

from pointsman.actors.clock import SystemClock
from pointsman.actors.ray_handles.historians import RemoteHistorian
from pointsman.actors.ray_handles.hosts import spawn_host
from pointsman.actors.ray_handles.leftovers import reaping, remove_ray
from pointsman.actors.ray_handles.start import (
    RayNotStartedError,
    start_ray,
    stop_ray,
    watching_ray,
)
from pointsman.actors.ray_handles.supervisors import spawn_supervisor
from pointsman.actors.ray_handles.workers import ActorSettings
from pointsman.actors.shared_counts import counting
from pointsman.runtime import discovery, in_actors, logs
from pointsman.runtime.care.migrating import migrate_if_older
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.journals import (
    make_data_directory,
    open_journal,
    open_journal_read_only,
)
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.measures import Measures
from pointsman.runtime.worktrees.counted import worktrees_on_disk

__all__ = ["Runtime", "open_journal_read_only", "start_runtime"]

log = structlog.get_logger()

_SHARD: Final = 0
_LOOPBACK: Final = "127.0.0.1"
_GATEWAY: Final = "pointsman.runtime.gateway.serving"
# Unix socket paths are limited to 107 bytes, so Ray's folder cannot lie in the data directory.
_RAY_FOLDERS: Final = Path("/tmp")
_RAY_PREFIX: Final = "pm-"


@dataclass(slots=True)
class Runtime:
    """A running server. ``stop`` ends everything but agents at work: those are adopted again."""

    url: str
    token: str
    _undo: contextlib.ExitStack

    def stop(self) -> None:
        """End the server in the reverse order of its start."""
        self._undo.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def start_runtime(
    data: DataDirectory, port: int | None = None, *, lasting: bool = False
) -> Runtime:
    """Start a server on a data directory and return when it takes commands.

    A ``lasting`` one fires schedules and keeps the history caught up; one within another command
    ends when that command does, and leaves both alone.

    Raises ``PointsmanError`` with ``data_directory_in_use``, ``data_directory_newer``,
    ``data_directory_unusable`` or ``port_in_use``.
    """
    with contextlib.ExitStack() as undo, discovery.usable(data):
        make_data_directory(data)
        undo.enter_context(discovery.held(data))
        migrate_if_older(data, SystemClock().now_ms())
        announce = undo.enter_context(discovery.announcing(data))
        logs.configure(data.log)
        journal = open_journal(data.journal)
        undo.callback(journal.close)
        listener = undo.enter_context(_listener(data, port))
        url = f"http://{_LOOPBACK}:{listener.getsockname()[1]}"
        token = discovery.operator_token(data)
        undo.enter_context(counting(data.metrics))
        # Before anybody commits: it counts what is committed from here on.
        worktrees = partial(worktrees_on_disk, data.workspaces)
        measures = Measures(journal, SystemClock(), data.metrics, worktrees)
        _begin_to_load_the_gateway()
        undo.enter_context(_ray(data))
        host = spawn_host(partial(in_actors.host, data), _SHARD)
        settings = ActorSettings(
            shard=_SHARD,
            open_journal=partial(in_actors.journal, data),
            reporting_url=f"{url}/mcp",
        )
        supervisor = spawn_supervisor(settings)
        historian = RemoteHistorian(partial(in_actors.historian, data))
        # Loaded meanwhile, beside Ray's start.
        from pointsman.runtime.gateway.serving import serving

        gateway = serving(
            data,
            listener,
            token,
            journal,
            supervisor,
            host,
            historian,
            measures,
            shard=_SHARD,
            fires_schedules=lasting,
        )
        undo.enter_context(gateway)
        announce(url)
        if lasting:
            historian.begin()
        return Runtime(url=url, token=token, _undo=undo.pop_all())
    raise AssertionError("the exit stack lets every error through")


def _begin_to_load_the_gateway() -> None:
    loading = threading.Thread(
        target=importlib.import_module, args=(_GATEWAY,), name="load-gateway", daemon=True
    )
    loading.start()


def remove_stale_ray(data: DataDirectory) -> None:
    """Remove what the Ray of a killed server left; nothing else, whatever is named.

    Its workers may live on, and would contend with ours for the runs.
    """
    with contextlib.suppress(FileNotFoundError):
        folder = Path(data.ray.read_text())
        if folder.parent == _RAY_FOLDERS and folder.name.startswith(_RAY_PREFIX):
            remove_ray(folder)


@contextlib.contextmanager
def _ray(data: DataDirectory) -> Iterator[None]:
    """Run Ray in a folder that the next server removes if this one is killed.

    Its name is written down before it is made, so that no kill leaves one that nobody knows.
    """
    remove_stale_ray(data)
    with contextlib.ExitStack() as undo:
        undo.callback(lambda: data.ray.unlink(missing_ok=True))
        try:
            try:
                folder = undo.enter_context(_started_ray(data))
            except RayNotStartedError:
                # On a machine that is busy for a moment the second try comes up.
                folder = undo.enter_context(_started_ray(data))
        except RayNotStartedError as error:
            raise PointsmanError("engine_not_started", str(error)) from error
        with watching_ray(partial(_end_without_ray, folder)):
            yield


@contextlib.contextmanager
def _started_ray(data: DataDirectory) -> Iterator[Path]:
    folder = _RAY_FOLDERS / f"{_RAY_PREFIX}{secrets.token_hex(4)}"
    data.ray.write_text(str(folder))
    folder.mkdir(mode=0o700)
    with reaping(folder):
        try:
            start_ray(folder)
            yield folder
        finally:
            stop_ray(folder)


def _end_without_ray(folder: Path, dead: str) -> None:
    """End this process and its actors as a power cut would: the next start is made for that.

    Nothing is lost, as every acknowledged command stands in the journal, and agents go on.
    """
    log.error("ray_lost", dead=dead)
    print(  # noqa: T201 - whoever began the server sees it end
        f"The server ends: its {dead} died. Nothing is lost; the next command goes on from here.",
        file=sys.stderr,
        flush=True,
    )
    remove_ray(folder)
    os._exit(ExitCode.UNAVAILABLE)


@contextlib.contextmanager
def _listener(data: DataDirectory, port: int | None) -> Iterator[socket.socket]:
    """Bind the asked port, else the last server's (agents still report there), else any."""
    wanted = [port] if port is not None else [_last_port(data), 0]
    listener = _bound(next(w for w in wanted if w is not None)) or (
        _bound(0) if port is None else None
    )
    if listener is None:
        raise PointsmanError("port_in_use", f"port {port} of {_LOOPBACK} is in use")
    with listener:
        data.port.write_text(str(listener.getsockname()[1]))
        yield listener


def _last_port(data: DataDirectory) -> int | None:
    try:
        return int(data.port.read_text())
    except (OSError, ValueError):
        return None


def _bound(port: int) -> socket.socket | None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_LOOPBACK, port))
    except OSError as error:
        listener.close()
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        return None
    return listener
