"""Whose processes belong to a Ray of ours, and their end when nothing else would end them.

Ray's workers outlive a killed raylet, and a killed server. Every process of our Ray inherits its
folder's name; agents and checks, whose environment is made anew, do not.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FOLDER_VARIABLE: Final = "POINTSMAN_RAY_FOLDER"
_PATIENCE_S: Final = 10.0
_END_WITHIN_S: Final = 1.0


def end_processes_of(folder: Path) -> int:
    """SIGKILL every process of the Ray in a folder but this one; return how many are left."""
    give_up = time.monotonic() + _PATIENCE_S
    # Again and again: one that was just being killed may have begun another.
    while found := list(_processes_of(folder)):
        if time.monotonic() > give_up:
            return len(found)
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                _kill(pid)
    return 0


def _kill(pid: int) -> None:
    ended = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(ended, signal.SIGKILL)
        select.select([ended], [], [], _END_WITHIN_S)
    finally:
        os.close(ended)


def _processes_of(folder: Path) -> Iterator[int]:
    """Find them by what they were started with; the dead that nobody has collected do not count."""
    named, logs = f"{FOLDER_VARIABLE}={folder}".encode(), f"{folder}/"
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            inherited = (entry / "environ").read_bytes()  # empty once it is dead
            # Some of Ray's processes write a title over their environment; all write logs.
            if named in inherited.split(b"\0") or _writes_to(entry).startswith(logs):
                yield int(entry.name)
        except OSError:
            continue


def _writes_to(process: Path) -> str:
    return os.readlink(process / "fd" / "2")
