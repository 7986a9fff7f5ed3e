"""Folders that appear whole or not at all: made beside their place, and renamed when durable.

A process that is killed leaves its half-made folder under a name that nobody takes for the real
one. Whoever makes one in the same place removes those of the dead, which no longer hold the lock.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from pointsman.runtime.durable import sync_folder


class PlaceTakenError(Exception):
    """Something is where the folder would go."""


@contextlib.contextmanager
def staged(place: Path, purpose: str) -> Iterator[Path]:
    """Give an empty folder to fill; when the ``with`` ends well it is at its place, durably.

    Files in it must be synced by whoever writes them. Raises ``PlaceTakenError`` when there is
    anything but an empty folder at the place, at the beginning or at the end.
    """
    _demand_free(place)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in leftovers(place, purpose):
        shutil.rmtree(left, ignore_errors=True)
    folder = place.parent / f"{_prefix(place, purpose)}{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
        for inner in folder.rglob("*"):
            if inner.is_dir():
                sync_folder(inner)
        sync_folder(folder)
        _demand_free(place)
        try:
            folder.rename(place)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            raise PlaceTakenError(str(place)) from error
        sync_folder(place.parent)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        os.close(lock)


def leftovers(place: Path, purpose: str) -> list[Path]:
    """List the half-made folders of processes that are gone."""
    return [each for each in place.parent.glob(f"{_prefix(place, purpose)}*") if _is_left(each)]


def _prefix(place: Path, purpose: str) -> str:
    return f".{place.name}.{purpose}-"


def _is_left(folder: Path) -> bool:
    try:
        probe = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(probe)
    return True


def _demand_free(place: Path) -> None:
    if place.is_symlink() or (place.exists() and (not place.is_dir() or any(place.iterdir()))):
        raise PlaceTakenError(str(place))
