"""Goal: whenever a branch's worker dies, every reviewer still works once, in one worktree.

Method: a whole run in one event loop, with a branch worker that is killed before or after each
act that any of them does; the run must come to the same gate, with the same effects at the host.
"""

from collections.abc import Callable, Coroutine

import pytest

from pointsman.actors.branches import BranchPool, branch_of
from pointsman.actors.crash_points import CrashPoint
from pointsman.graph import ids, intents
from pointsman.graph.run import RunState
from tests.harness.in_process import InProcessBranchWorkers
from tests.harness.review_story import RUN_ID, OneKill, ReviewBench, played
from tests.harness.reviews import reviewed

BRANCH = f"{RUN_ID}.reviewers.1.code"


def story(told: Callable[[ReviewBench], Coroutine[None, None, None]]) -> Callable[[], None]:
    """Run an asynchronous test with a bench of its own."""

    def test() -> None:
        played(told)

    test.__name__ = told.__name__
    return test


@story
async def test_each_reviewer_is_served_by_a_worker_of_its_own(bench: ReviewBench) -> None:
    await bench.until_gate()
    assert len(bench.workers.branch_workers.spawned) == 3
    assert bench.host.calls["launch_execution"] == 4
    assert bench.host.calls["verify_checkout"] == 6
    await bench.until(lambda: bench.host.worktrees == (f"wf:{RUN_ID}:primary",))


@story
async def test_a_run_that_waits_for_its_reviewers_keeps_no_worker(bench: ReviewBench) -> None:
    bench.resting = True
    await bench.begin()
    await bench.until(lambda: bench.host.calls.get("launch_execution") == 4)
    await bench.until_passivated()
    left = [each for each in bench.workers.branch_workers.spawned if not each.ended]
    assert len(left) == 1, "one idle process is kept for whoever comes next"
    bench.resting = False
    await bench.until(lambda: bench.run.state is RunState.AWAITING_REVIEW)
    assert bench.host.calls["launch_execution"] == 4


@pytest.mark.parametrize("place", [CrashPoint.BEFORE_ACT, CrashPoint.AFTER_ACT])
@pytest.mark.parametrize("number", range(1, 11))
def test_a_branch_worker_that_dies_at_any_act_changes_nothing(
    place: CrashPoint, number: int
) -> None:
    bench = ReviewBench(reviewed(("code", "security")), OneKill(place, number))

    async def told(bench: ReviewBench) -> None:
        await bench.until_gate()
        await bench.until(lambda: bench.host.worktrees == (f"wf:{RUN_ID}:primary",))
        dead = [each for each in bench.workers.branch_workers.spawned if each.ended]
        assert len(dead) == 1, "the kill came"
        acted = {
            kind: bench.host.calls[kind]
            for kind in ("prepare_workspace", "launch_execution", "release_workspace")
        }
        assert acted == {
            "prepare_workspace": 3,
            "launch_execution": 3,
            "release_workspace": 2,
        }
        kinds = bench.kinds()
        assert kinds.count("attempt_launched") == 3
        assert kinds.count("branch_ended") == 2
        assert kinds.count("join_committed") == 1
        assert bench.run.results["review"].kind == "join"

    played(told, bench)


@story
async def test_looking_at_reviewers_who_work_costs_no_process(bench: ReviewBench) -> None:
    bench.resting = True
    await bench.begin()
    await bench.until(lambda: bench.host.calls.get("launch_execution") == 4)
    await bench.until_passivated()
    spawned = len(bench.workers.branch_workers.spawned)
    for agent in bench.host.at_work:
        await bench.supervisor.wake(agent.attempt_id)
    await bench.until_passivated()
    assert len(bench.workers.branch_workers.spawned) == spawned


@story
async def test_a_reviewer_whose_launch_nobody_can_tell_of_is_launched_no_more(
    bench: ReviewBench,
) -> None:
    bench.host.unknown_keys.add(f"wf:{BRANCH}.1:launch")
    await bench.begin()
    await bench.until(lambda: "join_committed" in bench.kinds())
    assert bench.host.calls["launch_execution"] == 3
    assert "review" not in bench.run.results


def test_more_branches_than_workers_share_them() -> None:
    workers = InProcessBranchWorkers(ReviewBench().host)
    pool = BranchPool(workers, workers_max=2, idle_max=1)
    first, second, third = (pool.worker(name) for name in ("a", "b", "c"))
    assert len(workers.spawned) == 2
    assert third is first
    pool.keep_only({"a", "c"})
    assert pool.worker("d") is second, "what one branch has done with serves the next"
    pool.discard(first)
    assert workers.spawned[0].ended
    assert pool.at_hand("a") is None, "all others are taken"
    assert pool.worker("a") is workers.spawned[2]
    pool.rest()
    assert [each.ended for each in workers.spawned] == [True, False, True]


def test_an_intent_belongs_to_the_branch_it_is_about() -> None:
    release = intents.ReleaseWorkspace(intent_id="i", run_id=RUN_ID, workspace_key=f"wf:{BRANCH}")
    assert branch_of(release) == BRANCH
    own = release.model_copy(update={"workspace_key": f"wf:{RUN_ID}:primary"})
    assert branch_of(own) is None
    interrupt = intents.InterruptExecution(
        intent_id="i", run_id=RUN_ID, attempt_id=f"{BRANCH}.2", reason="test"
    )
    assert branch_of(interrupt) == BRANCH
    assert ids.place_of(f"{RUN_ID}.implement.1.1").branch_id is None
