"""The hosts on which agents and checks work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.graph.work import ReceiptStatus
from tests.contract.host_sides import RealWorkSide, SimulatedSide, WorkSide, own, prepare
from tests.harness.host_reviews import HostReviewBench


@pytest.fixture(params=["simulated", "real"])
def side(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WorkSide]:
    """A host with the run's own worktree on it."""
    if request.param == "simulated":
        yield _prepared(SimulatedSide())
        return
    with HostReviewBench(tmp_path) as bench:
        yield _prepared(RealWorkSide(bench))


def _prepared(side: WorkSide) -> WorkSide:
    assert prepare(side, own(side)).status is ReceiptStatus.ACCEPTED
    return side
