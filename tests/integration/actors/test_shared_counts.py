"""Goal: what processes count together survives each of them, costs no more files, and harms nobody.

Method: processes that count on command, and are killed; and a disk of a megabyte that is full.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from prometheus_client import Counter

from pointsman.actors import metrics
from pointsman.actors.metric_labels import HostKind
from pointsman.actors.shared_counts import (
    FILE_BYTES,
    count_in,
    counting,
    merged,
    stop_counting,
)
from tests.harness.tiny_disk import mounted

_PROGRAM = """
import sys
from pathlib import Path
from pointsman.actors import metrics
from pointsman.actors.metric_labels import HostKind
from pointsman.actors.shared_counts import count_in
count_in(Path(sys.argv[1]))
metrics.host_connected(HostKind.REMOTE)
print("counting", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        metrics.run_leased()
        metrics.committed(0.001)
    print("counted", flush=True)
"""


class Process:
    """A process that counts leases and commits when it is told."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._hear("counting")

    def count(self, times: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{times}\n")
        self._process.stdin.flush()
        self._hear("counted")

    def kill(self) -> None:
        if self._process.poll() is None:
            with self._process:
                self._process.kill()

    def _hear(self, word: str) -> None:
        assert self._process.stdout is not None
        while (line := self._process.stdout.readline()) != f"{word}\n":
            assert "not_counted" in line, line


class Place:
    """A folder that this process and others count in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ending = ExitStack()

    def process(self) -> Process:
        begun = Process(self.folder)
        self._ending.callback(begun.kill)
        return begun

    def shown(self, name: str, **labels: str) -> float | None:
        found = [
            sample.value
            for family in merged(self.folder)
            for sample in family.samples
            if sample.name == f"pointsman_{name}" and sample.labels == labels
        ]
        return found[0] if found else None

    def files(self) -> int:
        return len(list(self.folder.glob("*.db")))

    def close(self) -> None:
        self._ending.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with counting(tmp_path / "counts"):
        opened = Place(tmp_path / "counts")
        yield opened
        opened.close()


def test_several_processes_count_into_one_number(place: Place) -> None:
    one, two = place.process(), place.process()
    one.count(3)
    two.count(4)
    metrics.run_leased()
    assert place.shown("leases_total") == 8
    assert place.shown("commit_duration_seconds_count") == 7
    assert place.shown("commit_duration_seconds_bucket", le="0.001") == 7


def test_what_a_killed_process_counted_stays_and_the_next_one_counts_on_in_its_place(
    place: Place,
) -> None:
    place.process().count(1)
    files = place.files()
    for times in range(5):
        process = place.process()
        process.count(10)
        process.kill()
        assert place.shown("leases_total") == 1 + 10 * (times + 1)
    assert place.files() == files + 4, "one more place for all five, as they lived one by one"


def test_what_tells_of_the_living_goes_with_them(place: Place) -> None:
    assert place.shown("host_connections", host="remote") == 0
    one, two = place.process(), place.process()
    assert place.shown("host_connections", host="remote") == 2
    one.kill()
    assert place.shown("host_connections", host="remote") == 1
    two.kill()
    assert place.shown("host_connections", host="remote") == 0
    place.process()
    assert place.shown("host_connections", host="remote") == 1


def test_counts_begin_at_zero_with_each_server_and_leave_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    for _ in range(2):
        with counting(folder):
            assert Place(folder).shown("leases_total") == 0
            metrics.run_leased()
            assert Place(folder).shown("leases_total") == 1
        assert not folder.exists()
    metrics.run_leased()  # of nobody, and no harm


def test_all_that_is_declared_fits_into_files_that_have_all_their_blocks(place: Place) -> None:
    for path in place.folder.glob("*.db"):
        found = path.stat()
        assert found.st_size == FILE_BYTES, path
        assert found.st_blocks * 512 >= FILE_BYTES, f"{path} has holes"


def test_the_counts_of_other_libraries_in_the_process_stay_out_of_it(place: Place) -> None:
    Counter("foreign_total", "Somebody else's.", registry=None).inc()
    assert [family.name for family in merged(place.folder) if "foreign" in family.name] == []


def test_a_process_without_room_for_its_files_works_on_uncounted(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "1m") as disk, counting(disk.folder / "counts"):
        metrics.run_leased()
        disk.fill()
        metrics.host_connected(HostKind.LOCAL)
        for _ in range(100):
            metrics.run_leased()
        process = Process(disk.folder / "counts")
        process.count(5)
        process.kill()
        assert Place(disk.folder / "counts").shown("leases_total") == 101
        disk.clear()


def test_a_folder_that_is_not_there_is_no_reason_to_fail(tmp_path: Path) -> None:
    count_in(tmp_path / "nowhere")
    metrics.run_leased()
    stop_counting()
