"""Finding the running server of a data directory, and telling others where it is.

The lock decides whether a server lives, not the file: the operating system lets go of the
lock when the process dies, however it dies.
"""

import contextlib
import errno
import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pointsman.runtime.config import DataDirectory
from pointsman.runtime.hosts.durable import write_durably
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
    """Return the live server of a data directory, if there is one."""
    with usable(data):
        if not _is_locked(data):
            return None
    try:
        told = json.loads(data.server.read_text())
        token = data.operator_token.read_text().strip()
        return ServerAddress(url=told["url"], token=token, pid=told["pid"])
    except (OSError, ValueError, KeyError):
        # It holds the lock but has not told its address yet: it is starting.
        return None


def _is_locked(data: DataDirectory) -> bool:
    """Try the lock without writing, for a directory that may be read only."""
    try:
        probe = os.open(data.lock, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        # Shared, so that nobody takes another one who looks for the server itself.
        fcntl.flock(probe, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(probe)
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


def publish(data: DataDirectory, url: str) -> None:
    """Tell where this process listens."""
    address = {"url": url, "pid": os.getpid()}
    write_durably(data.server, json.dumps(address))


def operator_token(data: DataDirectory) -> str:
    """Return the operator's token, minting it once; the file is its owner's alone."""
    try:
        return data.operator_token.read_text().strip()
    except FileNotFoundError:
        pass
    token = secrets.token_urlsafe(32)
    try:
        made = os.open(data.operator_token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return data.operator_token.read_text().strip()
    with os.fdopen(made, "w") as file:
        file.write(token)
    return token
