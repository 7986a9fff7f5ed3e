"""Reading what the processes of a server hold, and telling growth from noise."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.harness.processes import called, engine_of

# A sample before that is of a process that is still filling its caches.
_WARM_UP_RUNS: Final = 12
# What a kind of process may grow by over the whole, beyond what it had after the warm-up.
_GROWTH_MB_MAX: Final = 40.0
# DuckDB keeps what it has read of a history that grows, up to the bound that it is given.
_CACHE_MB_MAX: Final = {"historian": 512.0}
_GROWTH_FILES_MAX: Final = 40
_GROWTH_THREADS_MAX: Final = 40
_PROCESSES_MAX: Final = 40


@dataclass(frozen=True)
class Sample:
    """What one process held at a moment, ``runs`` ended runs into the soak."""

    runs: int
    memory_mb: float
    files: int
    threads: int
    zombies: int


class Watch:
    """Samples of every process of a data directory's engine, by kind and process."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._samples: dict[tuple[str, int], list[Sample]] = defaultdict(list)
        self._processes_max = 0

    def look(self, runs: int) -> None:
        """Take a sample of everything there is."""
        found = engine_of(self._data)
        self._processes_max = max(self._processes_max, len(found))
        zombies = _zombies_by_parent()
        for pid in found:
            try:
                held = _sample(pid, runs, zombies.get(pid, 0))
                self._samples[called(pid), pid].append(held)
            except (OSError, ValueError, IndexError):
                continue  # it has ended meanwhile

    def table(self) -> Iterator[str]:
        """Show each long-lived process at its first sample after the warm-up and at its last."""
        yield f"at most {self._processes_max} processes of the engine at once"
        names = f"{'MB':>14} {'files':>12} {'threads':>12} {'zombies':>8}"
        yield f"{'process':<22} {'samples':>8} {names}"
        for (kind, _), samples in sorted(self._long_lived()):
            first, last = samples[0], samples[-1]
            zombies = max(each.zombies for each in samples)
            yield (
                f"{kind:<22} {len(samples):>8} {first.memory_mb:>6.0f} > {last.memory_mb:<5.0f}"
                f" {first.files:>5} > {last.files:<4} {first.threads:>5} > {last.threads:<4}"
                f" {zombies:>8}"
            )

    def growth(self) -> Iterator[str]:
        """Name what has grown beyond what noise explains."""
        if self._processes_max > _PROCESSES_MAX:
            yield f"{self._processes_max} processes at once"
        for (kind, pid), samples in self._long_lived():
            early, end = _part(samples, 0, 4), _part(samples, 3, 4)
            for name, most in (
                ("memory_mb", _CACHE_MB_MAX.get(kind, _GROWTH_MB_MAX)),
                ("files", _GROWTH_FILES_MAX),
                ("threads", _GROWTH_THREADS_MAX),
            ):
                grown = _least(end, name) - _least(early, name)
                if grown > most:
                    yield f"{kind} ({pid}): {name} grew by {grown:.0f} in {end[-1].runs} runs"
            if all(each.zombies for each in end):
                yield f"{kind} ({pid}): keeps dead children"

    def _long_lived(self) -> list[tuple[tuple[str, int], list[Sample]]]:
        found = []
        for key, samples in self._samples.items():
            warm = [each for each in samples if each.runs >= _WARM_UP_RUNS]
            if len(warm) >= 8:
                found.append((key, warm))
        return found


def _part(samples: list[Sample], number: int, of: int) -> list[Sample]:
    size = len(samples) // of
    return samples[number * size : (number + 1) * size]


def _least(samples: list[Sample], name: str) -> float:
    """The least of a stretch: what was held even in its quietest moment."""
    return min(float(getattr(each, name)) for each in samples)


def _sample(pid: int, runs: int, zombies: int) -> Sample:
    folder = Path(f"/proc/{pid}")
    fields = dict(
        line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line
    )
    if "RssAnon" not in fields:
        raise ProcessLookupError(f"{pid} has ended, and is still to be collected")
    # Pages shared with other processes, Ray's object store among them, are nobody's growth.
    private_kb = int(fields["RssAnon"].split()[0])
    files = sum(1 for _ in (folder / "fd").iterdir())
    return Sample(runs, private_kb / 1024, files, int(fields["Threads"]), zombies)


def _zombies_by_parent() -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields and fields[0] == "Z":
            found[int(fields[1])] += 1
    return found
