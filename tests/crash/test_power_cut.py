"""Goal: whatever a power cut leaves of the journal's file, it opens with all that was acknowledged.

Method: a process commits real runs while every write, change of length and sync of its file is
recorded in order. For each place between two of them, images are made of what the disk may then
hold: all up to the last completed sync, and of what came after it a random part, torn between
sectors; a change of the file's length is lost or not. Each image is opened by the real journal,
must hold every acknowledged transition, must verify, and must take the next commit.

``make power-cut SECONDS=600`` goes on with further seeds.
"""

import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random  # noqa: TID251  seeded
from typing import Final

import pytest

from tests.harness.power_cut import Act, Checker, Disk, recorded

SECONDS: Final = float(os.environ.get("POINTSMAN_POWER_CUT_SECONDS", "45"))
RUNS: Final = 4
# Amid these, more is at stake than one commit: the file is made, named or made longer.
_SPECIAL: Final = frozenset("TFL")
_SEEDS_OF_SPECIAL: Final = 4
_ROUNDS_OF_ALL: Final = 4

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SECONDS + 300)]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder in memory where there is one: only what is read of an image matters."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def checker() -> Iterator[Checker]:
    made = Checker()
    yield made
    made.end()


@pytest.fixture
def acts(folder: Path) -> list[Act]:
    """Return what a process that commits does to its file, proven to be all of it."""
    made, became = recorded(folder, RUNS)
    disk = Disk()
    for act in [*made, Act("S")]:
        disk.apply(act)
    assert bytes(disk.content) == became, "something was done that was not recorded"
    return made


def test_every_crash_image_holds_what_was_acknowledged_and_goes_on(
    folder: Path, checker: Checker, acts: list[Act]
) -> None:
    kinds = Counter(act.kind for act in acts)
    assert kinds["A"] == RUNS * 5
    assert kinds["F"] > 1, "the file must have grown"
    # Each commit syncs its data, then writes the page that says so through a syncing descriptor.
    assert min(kinds["S"], sum(act.synced for act in acts)) > RUNS * 5
    give_up = time.monotonic() + SECONDS
    opened, rounds = 0, 0
    while rounds == 0 or time.monotonic() < give_up:
        for cut, disk in _cuts(acts):
            for seed in range(_seeds(acts, cut, rounds)):
                _assert_survives(folder, checker, acts, disk, cut, f"{rounds}.{seed}")
                opened += 1
            if rounds > 0 and time.monotonic() > give_up:
                break
        rounds += 1
    print(f"{opened} images opened, at {len(acts)} places, in {rounds} rounds")  # noqa: T201


def _seeds(acts: list[Act], cut: int, rounds: int) -> int:
    """Say how many images to make at a place in a round; four rounds come by every place."""
    if any(act.kind in _SPECIAL for act in acts[max(0, cut - 4) : cut + 4]):
        return _SEEDS_OF_SPECIAL
    return int(cut % _ROUNDS_OF_ALL == rounds % _ROUNDS_OF_ALL)


def _cuts(acts: list[Act]) -> Iterator[tuple[int, Disk]]:
    """Yield each place once the file has its name, and the disk as it is there."""
    disk = Disk()
    for cut, act in enumerate(acts):
        if disk.named and act.kind != "A":
            yield cut, disk
        disk.apply(act)
    yield len(acts), disk


def _assert_survives(
    folder: Path, checker: Checker, acts: list[Act], disk: Disk, cut: int, seed: str
) -> None:
    in_flight = acts[cut] if cut < len(acts) else None
    image = disk.image(in_flight, Random(f"{cut}.{seed}"))
    wrong = _wrong(folder, checker, image, disk)
    assert wrong == "", f"cut {cut} of {len(acts)}, seed {seed}: {wrong}"


def _wrong(folder: Path, checker: Checker, image: bytes, disk: Disk) -> str:
    journal = folder / "image"
    shutil.rmtree(journal, ignore_errors=True)
    journal.mkdir()
    (journal / "data.mdb").write_bytes(image)
    return checker.check(journal, disk.acknowledged)


def test_a_disk_that_lies_about_its_syncs_is_found_out(
    folder: Path, checker: Checker, acts: list[Act]
) -> None:
    disk = Disk(lies=True)
    for act in acts:
        disk.apply(act)
    images = (disk.image(None, Random(f"lies {seed}")) for seed in range(20))
    assert any(_wrong(folder, checker, image, disk) for image in images)
