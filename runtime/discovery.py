"""Finding the running server of a data directory, and telling others where it is.

Two locks, which the operating system lets go of when the process dies, however it dies: one on the
data directory, from the server's start to its end, and one on the very file that tells its address,
so that what a killed server wrote is never taken for the address of the next one.
"""

import contextlib
import errno
import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pointsman.runtime.config import DataDirectory
from pointsman.runtime.durable import write_durably
from pointsman.runtime.problems import PointsmanError

_LOCK_PATIENCE_S: Final = 2.0
_DISK_TROUBLES: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server listens, and the operator's bearer token for it."""

    url: str
    token: str
    pid: int


def running_server(data: DataDirectory) -> ServerAddress | None:
    """Return the live server of a data directory, if there is one that takes commands."""
    with usable(data), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        with data.server.open() as file:
            if not _is_locked(file.fileno()):
                return None
            told = json.load(file)
        token = data.operator_token.read_text().strip()
        return ServerAddress(url=told["url"], token=token, pid=told["pid"])
    return None


def is_held(data: DataDirectory) -> bool:
    """Tell whether a server, which may only be starting or ending, holds the data directory."""
    absent = contextlib.suppress(FileNotFoundError, NotADirectoryError)
    with usable(data), absent, data.lock.open() as lock:
        return _is_locked(lock.fileno())
    return False


def _is_locked(probe: int) -> bool:
    """Try a lock without writing, for a directory that may be read only."""
    try:
        # Shared, so that nobody takes another one who looks for the server itself.
        fcntl.flock(probe, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


@contextlib.contextmanager
def held(data: DataDirectory) -> Iterator[None]:
    """Hold the data directory; a moment's patience, since others may be looking for a server."""
    from filelock import FileLock, Timeout  # not needed to look

    lock = FileLock(data.lock)
    try:
        lock.acquire(timeout=_LOCK_PATIENCE_S)
    except Timeout as error:
        raise PointsmanError(
            "data_directory_in_use", f"another server works on {data.path}"
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def usable(data: DataDirectory) -> Iterator[None]:
    """Say ``data_directory_unusable`` where the disk or its permissions refuse something."""
    try:
        yield
    except OSError as error:
        named = None if error.filename is None else Path(os.fsdecode(error.filename))
        ours = named is not None and named.is_relative_to(data.path)
        if not ours and error.errno not in _DISK_TROUBLES:
            raise
        raise PointsmanError(
            "data_directory_unusable", f"{named or data.path}: {error.strerror}"
        ) from error


@contextlib.contextmanager
def announcing(data: DataDirectory) -> Iterator[Callable[[str], None]]:
    """Give what tells others where this process listens, until the block ends or the process."""
    with contextlib.ExitStack() as undo:

        def announce(url: str) -> None:
            write_durably(data.server, json.dumps({"url": url, "pid": os.getpid()}))
            undo.callback(lambda: data.server.unlink(missing_ok=True))
            # Whoever reads it before it is locked finds no server yet.
            fcntl.flock(undo.enter_context(data.server.open()), fcntl.LOCK_EX)

        yield announce


def operator_token(data: DataDirectory) -> str:
    """Return the operator's token, minting it once; the file is its owner's alone."""
    return _token(data.operator_token)


def metrics_token(data: DataDirectory) -> str:
    """Return the token of those who only scrape, minting it once like the operator's."""
    return _token(data.metrics_token)


def _token(path: Path) -> str:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        pass
    token = secrets.token_urlsafe(32)
    try:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(made, "w") as file:
        file.write(token)
    return token
