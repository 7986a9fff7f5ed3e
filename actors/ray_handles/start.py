"""Starting a Ray of our own, and ending it."""

import contextlib
import logging
import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import ray
from ray._private import node, ray_constants, worker

from pointsman.actors.ray_handles.calls import NAMESPACE
from pointsman.actors.ray_handles.leftovers import FOLDER_VARIABLE, remove_ray

_OBJECT_STORE_BYTES: Final = 80 * 1024 * 1024
# Without either no actor is begun again and no call is answered, for good.
_VITAL: Final = frozenset({"raylet", "gcs_server"})
# What starts a process that nothing here asks for: the dashboard's server, the autoscaler, and the
# collector of logs, which nobody reads. Each costs a second of CPU at every start. And what prints
# the raylet's messages on the user's terminal: whoever calls a worker that died is told of it.
_UNUSED: Final = (
    (node.Node, "start_api_server"),
    (node.Node, "start_monitor"),
    (node.Node, "start_log_monitor"),
    (worker, "listen_error_messages"),
)
_LOOK_EVERY_S: Final = 0.5
# One for the life of the process: Ray reads it once, also when it is started a second time.
_TOKEN: Final = secrets.token_hex(32)


class RayNotStartedError(Exception):
    """Ray's processes did not come up; the message is Ray's own."""


def start_ray(folder: Path) -> None:
    """Start a Ray of our own, joined to nothing else on the machine.

    The folder's path must be short: Unix socket paths are limited to 107 bytes. Raises
    ``RayNotStartedError``; ``stop_ray`` then removes what there is of it.
    """
    # Ray opens its folder to all users, so it gets one inside ours, which stays its owner's alone.
    folder.chmod(0o700)
    inner = folder / "r"
    inner.mkdir()
    # Ray turns a loopback address that it is given into the machine's own, and then listens on
    # every interface, unless it is told that this node will have no peers.
    ray_constants.ENABLE_RAY_CLUSTER = False
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ[FOLDER_VARIABLE] = str(folder)
    # Other users of the machine must not reach the cluster's loopback ports. A token of our own
    # keeps Ray from leaving one in the home folder.
    os.environ["RAY_AUTH_TOKEN"] = _TOKEN
    # Ray lowers its workers' priority by default; agents and checks would inherit that.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - Ray's name
    # Agents must outlive the process that launched them; see ``runtime.processes.runner``.
    os.environ["RAY_kill_child_processes_on_worker_exit"] = "false"  # noqa: SIM112 - Ray's name
    # What Ray remembers of calls that have ended and of actors that are gone, for a dashboard that
    # we do not run: hundreds of megabytes in a server that lives for weeks.
    os.environ["RAY_task_events_report_interval_ms"] = "0"  # noqa: SIM112 - Ray's name
    os.environ["RAY_maximum_gcs_destroyed_actor_cached_count"] = "64"  # noqa: SIM112 - Ray's name
    os.environ["RAY_maximum_gcs_dead_worker_cached_count"] = "64"  # noqa: SIM112 - Ray's name
    # glibc gives each thread a heap of its own, and none of them ever shrinks.
    os.environ["MALLOC_ARENA_MAX"] = "2"
    logging.getLogger("ray").setLevel(logging.ERROR)
    # Ray installs a handler that prints stack traces; the program's own way to end stays.
    on_terminate = signal.getsignal(signal.SIGTERM)
    try:
        with _elsewhere(folder), _without(*_UNUSED):
            ray.init(
                address="local",
                namespace=NAMESPACE,
                include_dashboard=False,
                num_cpus=1,
                object_store_memory=_OBJECT_STORE_BYTES,
                configure_logging=False,
                log_to_driver=False,
                _temp_dir=str(inner),
            )
    except Exception as error:
        # Ray raises whatever its parts did: each time its processes did not come up.
        raise RayNotStartedError(_first_line(error)) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, on_terminate)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


@contextlib.contextmanager
def _elsewhere(folder: Path) -> Iterator[None]:
    """Work in another folder for a moment.

    Ray puts the driver's folder first on its workers' paths. That is the user's repository, and
    a ``yaml.py`` of theirs must not be taken for the library of that name.
    """
    # By descriptor: the folder may have been removed below us.
    here = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chdir(folder)
        yield
    finally:
        os.fchdir(here)
        os.close(here)


@contextlib.contextmanager
def _without(*parts: tuple[object, str]) -> Iterator[None]:
    """Let Ray skip some of its parts for a moment; ``ray.init`` has no say in them."""
    kept = [(owner, name, getattr(owner, name)) for owner, name in parts]
    for owner, name in parts:
        setattr(owner, name, lambda *_, **__: None)
    try:
        yield
    finally:
        for owner, name, part in kept:
            setattr(owner, name, part)


def stop_ray(folder: Path) -> None:
    """End Ray and every process it started, and remove its folder."""
    ray.shutdown()
    remove_ray(folder)


@contextlib.contextmanager
def watching_ray(lost: Callable[[str], None]) -> Iterator[None]:
    """Call ``lost`` with what has died if our Ray dies in the meantime, from another thread.

    Ray itself tells nobody of a dead raylet, and of a dead GCS only after a minute.
    """
    own: Any = worker._global_node  # noqa: SLF001 - Ray shows it nowhere else
    leaving = threading.Event()

    def watch() -> None:
        while not leaving.wait(_LOOK_EVERY_S):
            dead = sorted(_VITAL & {kind for kind, _ in own.dead_processes()})
            if dead and not leaving.is_set():
                lost(", ".join(dead))
                return

    watcher = threading.Thread(target=watch, name="ray-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        leaving.set()
        watcher.join()
