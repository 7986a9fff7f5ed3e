"""What the processes of one server count together, each in files of its own.

The rival is the client library's own mode for several processes. It names files after process
numbers, so every worker that ever lived leaves two behind, and it finds their folder in the
environment, which Ray's own processes inherit. Here a process takes the first place that nobody
living holds, and counts on where a dead one stopped: there are never more files than there were
processes at once, and nothing that was counted goes with a worker. The files and their merging
are the library's.
"""

import contextlib
import fcntl
import glob
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any, Final, Self

import structlog
from prometheus_client import Metric, values
from prometheus_client.mmap_dict import MmapedDict, mmap_key
from prometheus_client.multiprocess import MultiProcessCollector

from pointsman.storage.filesystem import make_allocated

log = structlog.get_logger()

PLACES_MAX: Final = 4_096
# All that is declared fits, so that no file grows: a hole in a mapped file is a SIGBUS once the
# disk is full, and counting must harm nobody.
FILE_BYTES: Final = 64 * 1024
# What begins anew with each process, because it tells of the living only.
_LIVE: Final = ("gauge_livesum", "gauge_livemax")
# Nothing is shown of it before somebody knows.
_UNTIL_TOLD: Final = "gauge_livemax"
_FILES: Final = ("counter", "histogram", *_LIVE)


class _Place:
    """One process's files in the folder, held by a lock that the kernel lets go of at its death."""

    def __init__(self, folder: Path, number: int, held: int) -> None:
        self._held = held
        self._files: dict[str, MmapedDict] = {}
        for kind in _FILES:
            path = folder / f"{kind}_{number}.db"
            if kind in _LIVE:
                path.unlink(missing_ok=True)
            make_allocated(path, FILE_BYTES)
            self._files[kind] = MmapedDict(str(path))  # type: ignore[no-untyped-call]

    @classmethod
    def take(cls, folder: Path) -> Self:
        """Take the first free place; raises ``OSError`` when there is none, or no room for it."""
        for number in range(PLACES_MAX):
            held = _locked(folder / f"place-{number}")
            if held is None:
                continue
            try:
                return cls(folder, number, held)
            except BaseException:
                os.close(held)
                raise
        raise OSError(f"all {PLACES_MAX} places in {folder} are taken")

    def read(self, kind: str, key: str) -> float:
        found: tuple[float, float] = self._files[kind].read_value(key)  # type: ignore[no-untyped-call]
        return found[0]

    def write(self, kind: str, key: str, value: float) -> None:
        self._files[kind].write_value(key, value, 0.0)  # type: ignore[no-untyped-call]

    def leave(self) -> None:
        for file in self._files.values():
            file.close()  # type: ignore[no-untyped-call]
        os.close(self._held)


def _locked(path: Path) -> int | None:
    """Lock a file for this process's life; ``None`` when another one has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


class _Counting:
    """Where this process counts: nowhere that others see until it is told a folder."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.place: _Place | None = None
        self.known: list[SharedValue] = []


_here: Final = _Counting()


class SharedValue:
    """One number of this process, as the client library keeps one; others read it in the file."""

    _multiprocess = True

    def __init__(
        self,
        typ: str,
        metric_name: str,
        name: str,
        labelnames: Any,
        labelvalues: Any,
        help_text: str,
        multiprocess_mode: str = "",
        **_: Any,
    ) -> None:
        self.kind = f"{typ}_{multiprocess_mode}" if typ == "gauge" else typ
        assert self.kind in _FILES, f"{name}: there is no file for {self.kind}"
        self.key = mmap_key(metric_name, name, labelnames, labelvalues, help_text)
        _here.known.append(self)

    def inc(self, amount: float) -> None:
        with _here.lock:
            if _here.place is not None:
                before = _here.place.read(self.kind, self.key)
                _here.place.write(self.kind, self.key, before + amount)

    def set(self, value: float, timestamp: float | None = None) -> None:
        with _here.lock:
            if _here.place is not None:
                _here.place.write(self.kind, self.key, value)

    def get(self) -> float:
        with _here.lock:
            return _here.place.read(self.kind, self.key) if _here.place is not None else 0.0

    def set_exemplar(self, exemplar: object) -> None:
        """Keep none: the files have no room for them."""

    def get_exemplar(self) -> None:
        """Return none."""


@contextlib.contextmanager
def shared() -> Iterator[None]:
    """Have the metrics that are made inside keep their numbers where all processes can see them.

    Outside, the library's own stay as they are: others in this process may count, too.
    """
    before = values.ValueClass
    values.ValueClass = SharedValue
    try:
        yield
    finally:
        values.ValueClass = before


def count_in(folder: Path) -> None:
    """Count in a folder from now on, together with the others who do.

    Without room for its files a process is left out of what is counted: nothing else suffers.
    """
    stop_counting()
    try:
        place = _Place.take(folder)
    except OSError as error:
        log.warning("not_counted", error=str(error))
        return
    with _here.lock:
        _here.place = place


def stop_counting() -> None:
    """Let go of this process's files; what it counted stays in them."""
    with _here.lock:
        place, _here.place = _here.place, None
    if place is not None:
        place.leave()


@contextlib.contextmanager
def counting(folder: Path) -> Iterator[None]:
    """Keep a folder for the counts of one server's life; they begin at zero, and are all shown."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        count_in(folder)
        for value in _here.known:
            if value.kind != _UNTIL_TOLD:
                value.get()
        yield
    finally:
        stop_counting()
        shutil.rmtree(folder, ignore_errors=True)


def merged(folder: Path) -> Iterator[Metric]:
    """Add up what all processes have counted, dead ones too, and what the living show."""
    found = [
        path
        for path in glob.iglob(str(folder / "*.db"))
        if not Path(path).name.startswith(_LIVE) or _is_held(Path(path))
    ]
    yield from MultiProcessCollector.merge(found)  # type: ignore[no-untyped-call]


def _is_held(path: Path) -> bool:
    """Whether the process whose file this is lives."""
    number = path.stem.rpartition("_")[2]
    descriptor = _locked(path.with_name(f"place-{number}"))
    if descriptor is None:
        return True
    os.close(descriptor)
    return False
