"""Goal: a host that dies at any seam does every effect once all the same; a runner that dies at
any is never taken for work that came to its end.

Method: the acceptance example as a real host lives through it, on real git, with a SIGKILL at each
place of ``crash_points``; then the next host of the folder is told the same story. With
``POINTSMAN_EVERY_PASS`` each pass of each place is killed, not the first alone.
"""

import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from pointsman.actors.crash_points import HOST_VARIABLE, CrashPoint
from pointsman.graph.work import CheckLost, HostRunStatus
from tests.harness.host_story import die_in_the_story, story_of
from tests.harness.hosts import NOWHERE, LocalBench, work_below

EVERY_PASS = bool(os.environ.get("POINTSMAN_EVERY_PASS"))

pytestmark = pytest.mark.timeout(1800 if EVERY_PASS else 180)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return story_of(tmp_path_factory.mktemp("undisturbed"))


def test_the_undisturbed_story_is_the_acceptance_example(undisturbed: dict[str, Any]) -> None:
    assert set(undisturbed["once"].values()) == {"once\n"}
    assert undisturbed["worktrees"] == 2, "the repository's own and the run's"
    assert (len(undisturbed["attempts"]), undisturbed["processes"]) == (3, 0)


@pytest.mark.parametrize(
    "place",
    [
        CrashPoint.BEFORE_CLAIM,
        CrashPoint.AFTER_CLAIM,
        CrashPoint.BEFORE_RECEIPT,
        CrashPoint.AFTER_RECEIPT,
        CrashPoint.BEFORE_RECORD,
        CrashPoint.AFTER_RECORD,
        CrashPoint.BEFORE_START,
        CrashPoint.AFTER_START,
        CrashPoint.BEFORE_WORKTREE,
        CrashPoint.AFTER_WORKTREE,
        CrashPoint.BEFORE_REMOVAL,
        CrashPoint.AFTER_REMOVAL,
        CrashPoint.BEFORE_OWN_COMMIT,
        CrashPoint.AFTER_OWN_COMMIT,
        CrashPoint.BEFORE_FREEZE,
        CrashPoint.AFTER_FREEZE,
    ],
)
def test_a_host_that_dies_at_a_seam_changes_nothing_of_the_story(
    tmp_path: Path, undisturbed: dict[str, Any], place: CrashPoint
) -> None:
    for number in itertools.count(1):
        folder = tmp_path / str(number)
        folder.mkdir()
        died = die_in_the_story(folder, f"{place}:{number}")
        assert died or number > 1, f"the story never comes to {place}"
        if not died:
            break
        assert story_of(folder) == undisturbed, f"{place}:{number}"
        if not EVERY_PASS:
            break


@pytest.mark.parametrize(
    "place",
    [
        CrashPoint.BEFORE_RUN,
        CrashPoint.AFTER_RUN,
        CrashPoint.BEFORE_EXIT,
        CrashPoint.AFTER_EXIT,
    ],
)
def test_a_runner_that_dies_at_a_seam_is_told_as_an_interruption_unless_all_was_recorded(
    tmp_path: Path, place: CrashPoint
) -> None:
    dying = {HOST_VARIABLE: str(place)}
    with LocalBench(tmp_path) as bench:
        assert bench.prepare().reason is None
        script = bench.script("steps: [{run: echo once >> executed}]")
        order = bench.launch_order(script).model_copy(update={"env": dying})
        assert bench.call(bench.host.launch(order, NOWHERE)).reason is None
        check = bench.check_order("echo once >> checked").model_copy(update={"env": dying})
        assert bench.call(bench.host.start_check(check)).reason is None
        (run,), checked = bench.until_quiet().runs, bench.until_checked()
        if place is CrashPoint.AFTER_EXIT:
            assert (run.status, checked.state) == (HostRunStatus.COMPLETED, "exited")
        else:
            assert run.status is HostRunStatus.INTERRUPTED
            assert isinstance(checked, CheckLost)
        bench.until(lambda: not work_below(bench.data))
        assert bench.call(bench.host.launch(order, NOWHERE)).status == "already"
        for name in ("executed", "checked"):
            file = bench.workspace / name
            assert file.exists() is (place is not CrashPoint.BEFORE_RUN) or not file.exists()
            assert not file.exists() or file.read_text() == "once\n", "never done a second time"
