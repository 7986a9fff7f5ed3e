"""An approval that relies on a review is judged by the head as it is when it comes."""

import asyncio
from collections.abc import Callable, Coroutine

from pointsman.actors.head_reading import read_head
from pointsman.graph import commands as cmd
from pointsman.graph.evidence import HeadReading
from pointsman.graph.owed_reviews import read_head as order_of
from pointsman.graph.rejections import Rejected
from pointsman.graph.replies import Reply
from pointsman.graph.results import GateDecision
from pointsman.graph.run import RunState
from tests.harness.fake_host import HEAD
from tests.harness.review_story import ReviewBench, played

OTHER = "3" * 40


def story(told: Callable[[ReviewBench], Coroutine[None, None, None]]) -> Callable[[], None]:
    """Run an asynchronous test with a bench of its own."""

    def test() -> None:
        played(told)

    test.__name__ = told.__name__
    return test


@story
async def test_a_head_that_stands_still_lets_an_approval_through(bench: ReviewBench) -> None:
    await bench.until_gate()
    reads = bench.host.calls["read_head"]
    assert isinstance(await bench.approve(), Reply)
    assert bench.host.calls["read_head"] == reads + 1
    assert bench.run.state is RunState.COMPLETED


@story
async def test_a_redelivered_approval_is_answered_without_a_look(bench: ReviewBench) -> None:
    await bench.until_gate()
    message = bench.approval("approve-1")
    first = await bench.supervisor.tell(message)
    reads = bench.host.calls["read_head"]
    bench.host.head = OTHER
    assert isinstance(first, Reply)
    assert await bench.supervisor.tell(message) == first.model_copy(update={"duplicate": True})
    assert bench.host.calls["read_head"] == reads


@story
async def test_a_head_that_moved_withdraws_the_approval_for_good(bench: ReviewBench) -> None:
    await bench.until_gate()
    bench.host.head = OTHER
    refused = await bench.approve("approve-1")
    assert isinstance(refused, Rejected)
    assert refused.code == "review_stale"
    assert GateDecision.APPROVE not in bench.gate.offered, "which is durable"
    bench.host.head = HEAD
    assert isinstance(await bench.approve("approve-2"), Rejected)
    assert bench.run.state is RunState.AWAITING_REVIEW


@story
async def test_no_client_can_say_where_the_head_is(bench: ReviewBench) -> None:
    await bench.until_gate()
    bench.host.head = OTHER
    forged = await bench.approve(head=HeadReading(head_commit=HEAD))
    assert isinstance(forged, Rejected)
    assert forged.code == "review_stale"


@story
async def test_what_a_client_says_of_the_head_is_not_taken_for_a_look(bench: ReviewBench) -> None:
    await bench.until_gate()
    bench.host.head = None
    forged = await bench.approve(head=HeadReading(head_commit=HEAD))
    assert isinstance(forged, Rejected)
    assert forged.code == "head_unknown"


@story
async def test_a_head_that_cannot_be_known_is_not_presumed_to_stand_still(
    bench: ReviewBench,
) -> None:
    await bench.until_gate()
    bench.host.head = None
    refused = await bench.approve("approve-1")
    assert isinstance(refused, Rejected)
    assert refused.code == "head_unknown"
    bench.host.head = HEAD
    assert isinstance(await bench.approve("approve-1"), Reply), "and it may be tried again"


@story
async def test_a_cancel_overtakes_an_approval_whose_head_is_being_read(bench: ReviewBench) -> None:
    await bench.until_gate()
    read = bench.host.block("read_head")
    approving = asyncio.create_task(bench.approve())
    await bench.until(lambda: bench.host.held_up == ["read_head"])
    assert isinstance(await bench.tell(cmd.CancelRun(requested_by="bob")), Reply)
    read.set()
    assert isinstance(await approving, Rejected)
    assert bench.run.state is RunState.CANCELED


@story
async def test_a_host_that_does_not_answer_makes_the_head_unknown(bench: ReviewBench) -> None:
    await bench.until_gate()
    order = order_of(bench.run, bench.run.reviews["review"])
    read = bench.host.block("read_head")
    seen = await read_head(bench.host, order, patience_s=0.01)
    read.set()
    assert seen.head_commit is None
    assert seen.unavailable == "the host did not answer within 0.01 s"
    bench.host.reachable = False
    away = await read_head(bench.host, order)
    assert away.head_commit is None
    assert "cannot be reached" in (away.unavailable or "")
