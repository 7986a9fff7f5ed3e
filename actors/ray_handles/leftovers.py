"""Whose processes belong to a Ray of ours, and their end when nothing else would end them.

Ray's workers outlive a killed raylet, and a killed server; its helpers do so for half a minute.
Every process of our Ray inherits its folder's name; agents and checks, whose environment is made
anew, do not. Run as a program with a folder's name, this ends them when its standard input ends.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FOLDER_VARIABLE: Final = "POINTSMAN_RAY_FOLDER"
_PATIENCE_S: Final = 10.0
_END_WITHIN_S: Final = 1.0


@contextlib.contextmanager
def reaping(folder: Path) -> Iterator[None]:
    """Have another process remove the Ray in a folder if this one is killed in the meantime.

    Should that one be killed too, the next server of the data directory does the same.
    """
    reaper = subprocess.Popen(
        [sys.executable, "-I", "-m", "pointsman.actors.ray_handles.leftovers", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
    with reaper:  # which closes the pipe, as our death would
        yield


def remove_ray(folder: Path) -> None:
    """End what is left of a Ray, whoever began it, and remove its folder."""
    end_processes_of(folder)
    shutil.rmtree(folder, ignore_errors=True)


def end_processes_of(folder: Path) -> int:
    """SIGKILL every process of the Ray in a folder but this one; return how many are left."""
    give_up = time.monotonic() + _PATIENCE_S
    # Again and again: one that was just being killed may have begun another.
    while found := list(processes_of(folder)):
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


def processes_of(folder: Path) -> Iterator[int]:
    """Find them by what they were started with; the dead that nobody has collected do not count."""
    inherited = f"{FOLDER_VARIABLE}={folder}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()  # empty once it is dead
            # Some write a title over their environment; none of Ray's leaves the folder.
            works_in = os.readlink(entry / "cwd").removesuffix(" (deleted)")
            if inherited in environment.split(b"\0") or Path(works_in).is_relative_to(folder):
                yield int(entry.name)
        except OSError:
            continue


if __name__ == "__main__":
    sys.stdin.buffer.read()
    remove_ray(Path(sys.argv[1]))
