"""A pool lends few workers at once; whoever finds none waits in order, for a bounded time."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from pointsman.actors.messages import Answer, Message
from pointsman.actors.pool import Pool, PoolExhaustedError
from pointsman.graph.replies import Reply


class IdleWorker:
    """A worker that is only lent and taken back."""

    def __init__(self) -> None:
        self.ended = False

    async def assign(self, run_id: str, fencing_token: int) -> None:
        return

    async def tell(self, message: Message) -> Answer:
        return Reply(run_id=message.run_id)

    async def wake(self, run_id: str, subject_id: str | None = None) -> None:
        return

    async def passivate(self) -> bool:
        return True

    def end(self) -> None:
        self.ended = True


class IdleWorkers:
    """Counts what is spawned."""

    def __init__(self) -> None:
        self.spawned: list[IdleWorker] = []

    def spawn(self) -> IdleWorker:
        self.spawned.append(IdleWorker())
        return self.spawned[-1]


class Bench:
    """A pool of two workers at once, three at most."""

    def __init__(self) -> None:
        self.workers = IdleWorkers()
        self.pool = Pool(self.workers, idle_max=1, at_once_max=2, workers_max=3, patience_s=5)

    async def waiting(self) -> asyncio.Task[object]:
        """Begin to wait for a worker."""

        async def take() -> object:
            return await self.pool.take()

        task = asyncio.create_task(take())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not task.done()
        return task


def story(told: Callable[[Bench], Coroutine[None, None, None]]) -> Callable[[], None]:
    """Run an asynchronous test with a bench of its own."""

    def test() -> None:
        async def tell() -> None:
            await told(Bench())

        asyncio.run(tell())

    test.__name__ = told.__name__
    return test


@story
async def test_who_waits_gets_the_workers_that_come_free_in_order(bench: Bench) -> None:
    one, two = await bench.pool.take(), await bench.pool.take()
    first, second = await bench.waiting(), await bench.waiting()
    assert bench.pool.is_short
    bench.pool.give_back(two)
    assert await first is two
    bench.pool.give_back(one)
    assert await second is one
    assert len(bench.workers.spawned) == 2
    assert not bench.pool.is_short


@story
async def test_a_lost_worker_is_replaced_for_who_waits(bench: Bench) -> None:
    lost = await bench.pool.take()
    await bench.pool.take()
    waiting = await bench.waiting()
    bench.pool.discard(lost)
    assert await waiting is bench.workers.spawned[2]
    assert bench.workers.spawned[0].ended
    assert bench.pool.lent == 2


@story
async def test_the_pool_grows_one_by_one_up_to_its_limit(bench: Bench) -> None:
    for _ in range(2):
        await bench.pool.take()
    first, second = await bench.waiting(), await bench.waiting()
    bench.pool.grow()
    assert await first is bench.workers.spawned[2]
    bench.pool.grow()
    assert bench.pool.lent == 3
    assert not second.done()
    second.cancel()


@story
async def test_who_waited_too_long_is_refused_and_takes_no_worker_along(bench: Bench) -> None:
    one = await bench.pool.take()
    await bench.pool.take()
    with pytest.raises(PoolExhaustedError):
        await bench.pool.take(0.001)
    bench.pool.give_back(one)
    assert bench.pool.lent == 1
    assert await bench.pool.take() is one


@story
async def test_a_worker_handed_to_who_has_just_given_up_comes_back(bench: Bench) -> None:
    one = await bench.pool.take()
    await bench.pool.take()
    waiting = await bench.waiting()
    bench.pool.give_back(one)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert bench.pool.lent == 1


@story
async def test_only_a_few_idle_workers_are_kept(bench: Bench) -> None:
    one, two = await bench.pool.take(), await bench.pool.take()
    bench.pool.give_back(one)
    bench.pool.give_back(two)
    assert [each.ended for each in bench.workers.spawned] == [False, True]
