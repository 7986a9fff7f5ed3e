"""Goal: an actor that dies at any seam changes no history, and nothing is begun a second time.

Method: the acceptance example in one event loop, over the real core and actors; at every pass of
every place of ``crash_points`` the process that comes there dies once.
"""

import asyncio
import itertools

import pytest

from pointsman.actors.crash_points import CrashPoint
from pointsman.graph.replies import Reply
from pointsman.graph.run import RunState
from tests.harness.mortal_story import MortalBench
from tests.harness.review_story import RUN_ID

NEVER = 1_000_000
# What may be read again by whoever takes over.
READS = frozenset({"verify_checkout", "read_head"})
DEATHS_MAX = 500


async def told(bench: MortalBench) -> tuple[list[str], list[str]]:
    """Tell the story to its end; return its events, and every act that was done at the host."""
    await bench.supervisor.start()
    try:
        await bench.until_gate()
        approval = bench.approval().command
        assert isinstance(await bench.tell(approval, "approve"), Reply)
        await bench.until(lambda: bench.run.state is RunState.COMPLETED)
        await bench.until(lambda: not bench.journal.outbox(RUN_ID))
        again = await bench.tell(approval, "approve")
        assert isinstance(again, Reply)
        assert again.duplicate, "the first answer is kept"
    finally:
        await bench.supervisor.stop()
    # Reviewers work side by side, so in which order they come to their end is no part of it; and
    # an agent's token is bound again if nobody knows any more whether it was launched.
    events = sorted(kind for kind in bench.kinds() if kind != "credential_bound")
    acts = (each for each in bench.host.calls.items() if each[0] not in READS)
    return events, sorted(f"{name} {count}" for name, count in acts)


@pytest.fixture(scope="module")
def undisturbed() -> tuple[list[str], list[str]]:
    async def tell() -> tuple[list[str], list[str]]:
        return await told(MortalBench(CrashPoint.BEFORE_COMMIT, NEVER))

    return asyncio.run(tell())


@pytest.mark.parametrize(
    "place",
    [
        CrashPoint.BEFORE_COMMIT,
        CrashPoint.AFTER_COMMIT,
        CrashPoint.BEFORE_REPLY,
        CrashPoint.BEFORE_ACT,
        CrashPoint.AFTER_ACT,
        CrashPoint.BEFORE_LEASE,
        CrashPoint.AFTER_LEASE,
        CrashPoint.AFTER_ASSIGN,
    ],
)
def test_an_actor_that_dies_at_a_seam_changes_no_history(
    undisturbed: tuple[list[str], list[str]], place: CrashPoint
) -> None:
    async def tell(number: int) -> bool:
        bench = MortalBench(place, number)
        assert await told(bench) == undisturbed, f"{place}:{number}"
        return bench.death.happened

    for number in itertools.count(1):
        assert number < DEATHS_MAX, f"the story comes to {place} without end"
        if not asyncio.run(tell(number)):
            break
    assert number > 1, f"the story never comes to {place}"
