"""Finding the running server of a data directory, and telling others where it is.

The lock decides whether a server lives, not the file: the operating system lets go of the
lock when the process dies, however it dies.
"""

import json
import os
import secrets
from dataclasses import dataclass

from filelock import FileLock, Timeout

from pointsman.runtime.config import DataDirectory
from pointsman.runtime.hosts.durable import write_durably


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server listens, and the operator's bearer token for it."""

    url: str
    token: str
    pid: int


def running_server(data: DataDirectory) -> ServerAddress | None:
    """Return the live server of a data directory, if there is one."""
    if not data.lock.exists() or not _is_locked(data):
        return None
    try:
        told = json.loads(data.server.read_text())
        token = data.operator_token.read_text().strip()
        return ServerAddress(url=told["url"], token=token, pid=told["pid"])
    except (OSError, ValueError, KeyError):
        # It holds the lock but has not told its address yet: it is starting.
        return None


def _is_locked(data: DataDirectory) -> bool:
    probe = FileLock(data.lock)
    try:
        probe.acquire(blocking=False)
    except Timeout:
        return True
    probe.release()
    return False


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
