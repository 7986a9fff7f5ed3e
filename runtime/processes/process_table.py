"""Processes of this machine: who they are for certain, whose they are, and how to end them.

A process number is used again after a while, so a process is named by its number, its start
time and the boot. Standard library only: the runner uses it too.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

GRACE_S: Final = 2.0
MARKER: Final = "POINTSMAN_WORK"
_KILL_AGAIN_S: Final = 0.05
_LOOK_EVERY_MS: Final = 20


class Identity(NamedTuple):
    """A process that cannot be mistaken for a later one with the same number."""

    pid: int
    start_ticks: int
    boot_id: str


class Stat(NamedTuple):
    """What the kernel says of a process."""

    state: str
    parent: int
    start_ticks: int


def boot_id() -> str:
    """Name this boot of the machine; process numbers mean nothing in another."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def read_stat(pid: int) -> Stat | None:
    """Look at a process; ``None`` when there is none."""
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name, in parentheses, may itself hold spaces and parentheses.
    fields = raw[raw.rindex(b")") + 2 :].split()
    return Stat(fields[0].decode(), int(fields[1]), int(fields[19]))


def own_identity() -> Identity:
    """Name the calling process."""
    stat = read_stat(os.getpid())
    assert stat is not None, "the calling process exists"
    return Identity(os.getpid(), stat.start_ticks, boot_id())


def is_alive(identity: Identity) -> bool:
    """Tell whether this very process still runs; one that waits to be reaped does not."""
    stat = read_stat(identity.pid)
    return (
        stat is not None
        and stat.start_ticks == identity.start_ticks
        and stat.state not in "ZX"
        and identity.boot_id == boot_id()
    )


def _numbers() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def descendants(root: int) -> list[tuple[int, int]]:
    """Return (pid, start time) of every living descendant, nearest first."""
    children: dict[int, list[tuple[int, int]]] = {}
    parents: dict[int, list[int]] = {}
    for pid in _numbers():
        if (stat := read_stat(pid)) is None:
            continue
        parents.setdefault(stat.parent, []).append(pid)
        if stat.state not in "ZX":
            children.setdefault(stat.parent, []).append((pid, stat.start_ticks))
    found: list[tuple[int, int]] = []
    ancestors = [root]
    for ancestor in ancestors:
        found.extend(children.get(ancestor, ()))
        ancestors.extend(parents.get(ancestor, ()))
    return found


def marked(marker: str) -> list[tuple[int, int]]:
    """Return (pid, start time) of every process that inherited ``POINTSMAN_WORK=marker``."""
    wanted = f"{MARKER}={marker}".encode()
    found: list[tuple[int, int]] = []
    for pid in _numbers():
        if (stat := read_stat(pid)) is None or stat.state in "ZX":
            continue
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue  # ended meanwhile, or another user's and hence not ours
        if wanted in environment.split(b"\0"):
            found.append((pid, stat.start_ticks))
    return found


def command_name(pid: int) -> str:
    """Name what a process runs, without its arguments, which may hold secrets."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "ended"


def signal_exactly(pid: int, start_ticks: int, number: int) -> bool:
    """Signal this very process; a later owner of its number is never hit."""
    handle: int | None = None
    # Without a handle it is gone, or a sandbox forbids it: then we look and signal right after.
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(pid)
    try:
        # The handle was taken first: if the start time fits now, the handle is that process.
        stat = read_stat(pid)
        if stat is None or stat.start_ticks != start_ticks:
            return False
        if handle is None:
            os.kill(pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        if handle is not None:
            os.close(handle)
    return True


def await_end(identity: Identity, timeout_s: float) -> bool:
    """Wait until the process has ended; ``False`` when it still runs after the timeout."""
    poll = select.poll()
    handle: int | None = None
    # Without a handle it is gone, or a sandbox forbids it: then looking now and then must do.
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(identity.pid)
        poll.register(handle, select.POLLIN)
    look_again_ms = timeout_s * 1000 if handle is not None else _LOOK_EVERY_MS
    deadline = time.monotonic() + timeout_s
    try:
        while is_alive(identity):
            if time.monotonic() >= deadline:
                return False
            poll.poll(look_again_ms)
        return True
    finally:
        if handle is not None:
            os.close(handle)


def end_all(find: Callable[[], list[tuple[int, int]]], patience_s: float) -> int:
    """End whatever ``find`` finds, politely first; return how many could not be ended.

    It is looked for anew each time: a process may start another while it is being ended.
    """
    for pid, start_ticks in find():
        signal_exactly(pid, start_ticks, signal.SIGTERM)
    began_at = time.monotonic()
    while left := find():
        waited_s = time.monotonic() - began_at
        if waited_s >= patience_s:
            return len(left)
        if waited_s >= GRACE_S:
            for pid, start_ticks in left:
                signal_exactly(pid, start_ticks, signal.SIGKILL)
        pid, start_ticks = left[0]
        await_end(Identity(pid, start_ticks, boot_id()), _KILL_AGAIN_S)
    return 0
