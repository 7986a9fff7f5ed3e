"""Finding and killing the processes of one data directory, as a power cut would.

A process belongs to a data directory if its environment or command line names it. Reading
``/proc`` finds the server, Ray and its workers; agents and checks run under their own runner
with a clean environment, and are found by their command line or working folder.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from pointsman.runtime.app import remove_stale_ray
from pointsman.runtime.config import DataDirectory
from tests.harness.hosts import wait_until


def _read(pid: int, what: str) -> str:
    try:
        raw = Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b"\n").decode(errors="replace")


def _parent(pid: int) -> int:
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _pids() -> Iterator[int]:
    mine = os.getpid()
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != mine:
            yield int(entry)


def _cwd(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def engine_of(data: Path) -> set[int]:
    """Return the server of a data directory, its Ray and all Ray workers."""
    named = f"POINTSMAN_DATA={data}\n"
    return {
        pid for pid in _pids() if named in _read(pid, "environ") + "\n" and not _runs(pid, data)
    }


def agents_of(data: Path) -> set[int]:
    """Return the runners of a data directory with the agents and checks below them."""
    found = {pid for pid in _pids() if _runs(pid, data)}
    while more := {pid for pid in _pids() if _parent(pid) in found} - found:
        found |= more
    return found


def _runs(pid: int, data: Path) -> bool:
    works_in = (str(data / "host"), str(data / "workspaces"))
    line = _read(pid, "cmdline")
    return any(place in line for place in works_in) or _cwd(pid).startswith(works_in)


def everything_of(data: Path) -> set[int]:
    """Return every process that belongs to a data directory."""
    return engine_of(data) | agents_of(data)


# What a process of each kind is called; those of the host are told apart by what they run.
_CALLED: Final[dict[str, Callable[[list[str]], bool]]] = {
    "raylet": lambda line: line[0].endswith("/raylet"),
    "gcs": lambda line: line[0].endswith("/gcs_server"),
    "server": lambda line: len(line) > 1 and line[1].endswith("/pointsman"),
    "supervisor": lambda line: line[0].startswith("ray::_SupervisorActor"),
    "run worker": lambda line: line[0].startswith("ray::_RunWorker"),
    "branch worker": lambda line: line[0].startswith("ray::_BranchWorker"),
    "host": lambda line: line[0].startswith("ray::_HostActor"),
    "historian": lambda line: line[0].startswith("ray::_HistorianActor"),
}
ENGINE_KINDS: Final = tuple(_CALLED)


def of_kind(kind: str, data: Path) -> list[int]:
    """Return the processes of one kind that belong to a data directory."""
    is_called = _CALLED[kind]
    return [pid for pid in engine_of(data) if _alive(pid) and is_called(_line(pid))]


def called(pid: int) -> str:
    """Return which kind of process this is, or what its program is called."""
    line = _line(pid)
    known = (kind for kind, is_called in _CALLED.items() if is_called(line))
    names = [Path(part).name for part in line[:3] if part.endswith((".py", "pointsman"))]
    return next(known, None) or (names or [line[0]])[-1][:22]


def still_there(
    find: Callable[[Path], set[int]], data: Path, patience_s: float = 30.0
) -> list[str]:
    """Describe the processes that ``find`` still finds when the patience is over; mostly none."""
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: not find(data), patience_s)
    return [_described(pid) for pid in find(data)]


def _described(pid: int) -> str:
    state = _read(pid, "stat").rpartition(")")[2].split()[:2]
    return f"{pid} {' of '.join(state)}: {' '.join(_line(pid))[:300]} in {_cwd(pid)}"


def _line(pid: int) -> list[str]:
    return _read(pid, "cmdline").split("\n")


def kill_all(find: Callable[[Path], set[int]], data: Path) -> int:
    """SIGKILL what ``find`` finds until it finds nothing; return how many were killed."""
    killed = 0
    while found := {pid for pid in find(data) if _alive(pid)}:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
    return killed


def kill_once(find: Callable[[Path], set[int]], data: Path) -> None:
    """SIGKILL what ``find`` finds now; what is begun again in its place lives."""
    for pid in find(data):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def clear_away(data: Path) -> None:
    """Kill what is left of a data directory and remove what its Ray left outside it."""
    kill_all(everything_of, data)
    remove_stale_ray(DataDirectory(data))


def _alive(pid: int) -> bool:
    stat = _read(pid, "stat").rpartition(")")[2].split()
    return bool(stat) and stat[0] not in ("Z", "X")
