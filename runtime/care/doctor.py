"""What a healthy installation needs, looked at one by one: what is so, what it means, what to do.

Every check is a small function of its own, and none of them raises: a doctor that falls ill with
the patient is none. Nothing is changed but a file that is made in the data directory, synced and
removed again.
"""

import asyncio
import contextlib
import os
import platform
import re
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pointsman
from pointsman.actors.clock import Clock
from pointsman.runtime import discovery
from pointsman.runtime.care.doctor_journal import check_journal, check_leftovers
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.spans.configured import ENDPOINTS, collector, other_protocol
from pointsman.runtime.worktrees import git
from pointsman.storage.filesystem import is_local, type_of

GIT_MIN: Final = (2, 25)
PYTHON_MIN: Final = (3, 11)
_FREE_BYTES_MIN: Final = 1 << 30
_SYNC_SLOW_S: Final = 0.05
_CLOCK_DRIFT_S_MAX: Final = 0.5
# Pointsman did not exist before; a clock that says so was never set.
_WALL_CLOCK_MIN_MS: Final = 1_735_689_600_000
_DISTRIBUTIONS: Final = ("ray", "lmdb", "pydantic")


class Level(StrEnum):
    """Whether anything must be done."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the doctor's."""

    check: str
    level: Level
    found: str
    next: str | None = None


Check = Callable[[], Iterator[Result]]


def examine(data: DataDirectory, clock: Clock, *, with_ray: bool) -> list[Result]:
    """Look at everything; ``with_ray`` also starts a Ray, which takes seconds."""
    checks: list[tuple[str, Check]] = [
        ("versions", _versions),
        ("git", _git),
        ("providers", _providers),
        ("disk", lambda: _disk(data)),
        ("permissions", lambda: _permissions(data)),
        ("loopback", _loopback),
        ("clock", lambda: _clock(clock)),
        ("time zones", _zones),
        ("journal", lambda: _of_journal(data)),
        ("server", lambda: _server(data)),
        ("leftovers", lambda: _leftovers(data)),
        ("spans", _spans),
    ]
    if with_ray:
        checks.append(("ray", _ray))
    return [result for name, check in checks for result in _performed(name, check)]


def _performed(name: str, check: Check) -> list[Result]:
    try:
        return list(check())
    except Exception as error:  # noqa: BLE001 - it is told, and the other checks go on
        text = f"could not be looked at: {type(error).__name__}: {error}"
        return [Result(name, Level.PROBLEM, text, "mend what the message names")]


def _versions() -> Iterator[Result]:
    told = [f"Pointsman {pointsman.__version__}", f"Python {platform.python_version()}"]
    for name in _DISTRIBUTIONS:
        try:
            told.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            next_ = "install Pointsman anew"
            yield Result("versions", Level.PROBLEM, f"{name} is not installed", next_)
    yield Result("versions", Level.OK, ", ".join(told))
    if sys.version_info < PYTHON_MIN:
        yield Result("versions", Level.PROBLEM, "this Python is too old", "use 3.11 or newer")
    if sys.platform != "linux":
        found = f"{sys.platform}: agents and checks are only run on Linux"
        yield Result("versions", Level.PROBLEM, found, "use a Linux machine, or WSL 2")


def _git() -> Iterator[Result]:
    try:
        told = git.git(Path("/"), "version")
    except git.GitMissingError:
        yield Result("git", Level.PROBLEM, "git is not on the path", "install git")
        return
    match = re.search(r"(\d+)\.(\d+)", told)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    if version < GIT_MIN:
        found = f"{told.strip()} is too old for worktrees as they are used here"
        yield Result("git", Level.PROBLEM, found, "install git 2.25 or newer")
    else:
        yield Result("git", Level.OK, f"{told.strip()}; no identity need be configured")


def _providers() -> Iterator[Result]:
    from pointsman.runtime.hosts.assembly import capabilities

    for each in asyncio.run(capabilities()):
        name = f"provider {each.provider}"
        if each.unavailable is not None:
            next_ = "install it, or use workflows that need another provider"
            yield Result(name, Level.WARNING, each.unavailable, next_)
        else:
            version = f" {each.version}" if each.version else ""
            yield Result(name, Level.OK, f"can be used{version}: {', '.join(each.modes)}")


def _disk(data: DataDirectory) -> Iterator[Result]:
    kind = type_of(data.path)
    if kind is not None and not is_local(kind):
        next_ = "choose a folder on a local disk with --data or POINTSMAN_DATA"
        yield Result("disk", Level.PROBLEM, f"{data.path} is on {kind}, no local disk", next_)
        return
    folder = _existing(data.path)
    free = shutil.disk_usage(folder).free
    text = f"{data.path} on {kind or 'an unknown file system'}, {free / 1e9:.1f} GB free"
    if free < _FREE_BYTES_MIN:
        yield Result("disk", Level.WARNING, text, "make room: commands are refused on a full disk")
    else:
        yield Result("disk", Level.OK, text)
    if not data.path.exists():
        yield Result("disk", Level.OK, "the data directory is made with the first run")
        return
    try:
        took = _synced_write(data.path)
    except OSError as error:
        next_ = "see to the disk and to who may write there"
        yield Result("disk", Level.PROBLEM, f"{data.path}: {error.strerror}", next_)
        return
    text = f"a durable write takes {took * 1000:.1f} ms"
    if took > _SYNC_SLOW_S:
        next_ = "use a faster disk: every step of a run waits for this"
        yield Result("disk", Level.WARNING, text, next_)
    else:
        yield Result("disk", Level.OK, text)


def _existing(path: Path) -> Path:
    return next(each for each in (path, *path.parents) if each.exists())


def _synced_write(folder: Path) -> float:
    path = folder / f".doctor-{secrets.token_hex(4)}"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        began = time.monotonic()
        os.write(descriptor, b"\0" * 4096)
        os.fsync(descriptor)
        return time.monotonic() - began
    finally:
        os.close(descriptor)
        path.unlink()


def _permissions(data: DataDirectory) -> Iterator[Result]:
    if not data.path.exists():
        return
    wrong = [
        str(path)
        for path in (data.path, data.operator_token, data.metrics_token, data.journal / "data.mdb")
        if path.exists()
        and path.stat().st_mode & 0o077
        # What is inside a folder that is its owner's alone is out of reach of others.
        and (path == data.path or data.path.stat().st_mode & 0o077)
    ]
    if data.path.stat().st_uid != os.geteuid():
        next_ = "run Pointsman as the user who owns it"
        yield Result("permissions", Level.PROBLEM, f"{data.path} is another user's", next_)
    if wrong:
        found = f"others may read {', '.join(wrong)}"
        yield Result("permissions", Level.PROBLEM, found, f"chmod -R go= {data.path}")
    else:
        yield Result("permissions", Level.OK, f"{data.path} is its owner's alone")


def _loopback() -> Iterator[Result]:
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port), timeout=5):
                yield Result("loopback", Level.OK, "ports of 127.0.0.1 can be listened at")
    except OSError as error:
        next_ = "allow this user to listen at 127.0.0.1"
        yield Result("loopback", Level.PROBLEM, f"127.0.0.1: {error.strerror}", next_)


def _clock(clock: Clock) -> Iterator[Result]:
    wall, steady = clock.now_ms(), time.monotonic()
    with contextlib.suppress(OSError):
        _synced_write(Path("/tmp"))  # something that takes a moment
    drift = abs((clock.now_ms() - wall) / 1000 - (time.monotonic() - steady))
    if wall < _WALL_CLOCK_MIN_MS:
        found = "the clock says a time before there was a Pointsman"
        yield Result("clock", Level.PROBLEM, found, "set the clock: timeouts and schedules use it")
    elif drift > _CLOCK_DRIFT_S_MAX:
        found = f"the clock jumped by {drift:.1f} s while it was looked at"
        yield Result("clock", Level.WARNING, found, "see to the machine's time service")
    else:
        yield Result("clock", Level.OK, "the clock is set and goes evenly")


def _zones() -> Iterator[Result]:
    try:
        ZoneInfo("Europe/Vienna")
        yield Result("time zones", Level.OK, "the data of time zones are there")
    except ZoneInfoNotFoundError:
        next_ = "install tzdata: schedules in other zones than UTC need it"
        yield Result("time zones", Level.WARNING, "there are no data of time zones", next_)


def _of_journal(data: DataDirectory) -> Iterator[Result]:
    for level, found, next_ in check_journal(data):
        yield Result("journal", Level(level), found, next_)


def _server(data: DataDirectory) -> Iterator[Result]:
    server = discovery.running_server(data) if data.path.exists() else None
    found = "no server is running" if server is None else f"{server.url} (process {server.pid})"
    yield Result("server", Level.OK, found)


def _leftovers(data: DataDirectory) -> Iterator[Result]:
    for level, found, next_ in check_leftovers(data):
        yield Result("leftovers", Level(level), found, next_)


def _spans() -> Iterator[Result]:
    address, protocol = collector(), other_protocol()
    if address is None:
        yield Result("spans", Level.OK, f"not sent; {ENDPOINTS[-1]} would name a collector")
    elif protocol is not None:
        next_ = "set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, and the port for it, mostly 4318"
        yield Result("spans", Level.WARNING, f"sent by HTTP, and not by {protocol}", next_)
    else:
        yield Result("spans", Level.OK, f"sent to {urlsplit(address).hostname}")


def _ray() -> Iterator[Result]:
    from pointsman.actors.ray_handles.start import start_ray, stop_ray

    folder = Path("/tmp") / f"pm-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    began = time.monotonic()
    try:
        start_ray(folder)
        yield Result("ray", Level.OK, f"Ray starts in {time.monotonic() - began:.1f} s")
    finally:
        stop_ray(folder)
        shutil.rmtree(folder, ignore_errors=True)
