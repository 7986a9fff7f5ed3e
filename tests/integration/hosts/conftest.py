"""Fixtures of the host tests: a folder with an awkward name, and a host on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.host_reviews import HostReviewBench
from tests.harness.hosts import LocalBench, end_work_below
from tests.harness.tiny_disk import TinyDisk, mounted


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose name has a space and letters beyond ASCII, as people's have."""
    made = tmp_path / "dépôt – 仕事"
    made.mkdir()
    return made


@pytest.fixture
def bench(folder: Path) -> Iterator[LocalBench]:
    """A started host without a workspace."""
    with LocalBench(folder) as made:
        yield made


@pytest.fixture
def ready(bench: LocalBench) -> LocalBench:
    """A started host with the workspace prepared."""
    assert bench.prepare().status == "accepted"
    return bench


@pytest.fixture
def reviewing(folder: Path) -> Iterator[HostReviewBench]:
    """A started host for a review, without a worktree."""
    with HostReviewBench(folder) as made:
        yield made


@pytest.fixture
def changed(reviewing: HostReviewBench) -> HostReviewBench:
    """A host whose run has committed a change in its own worktree."""
    assert reviewing.prepare().status == "accepted"
    reviewing.change()
    return reviewing


@pytest.fixture
def tiny_disk(folder: Path) -> Iterator[TinyDisk]:
    with mounted(folder / "disk", "1m") as disk:
        yield disk


@pytest.fixture
def work_folder(folder: Path) -> Iterator[Path]:
    """A folder for supervised commands; what they leave running is ended."""
    yield folder
    end_work_below(folder)
