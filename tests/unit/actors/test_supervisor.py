"""The supervisor gives every owed run a worker, whichever process dies, and wakes what is due."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from pointsman.actors.mailbox import Mailbox
from pointsman.actors.messages import Answer, Message, Unavailable
from pointsman.actors.pool import Pool
from pointsman.actors.supervisor import Supervisor
from pointsman.graph import commands as cmd
from pointsman.graph import ids
from pointsman.graph.intents import Intent
from pointsman.graph.rejections import Rejected
from pointsman.graph.replies import Reply
from pointsman.graph.run import RunState
from pointsman.graph.work import WorkAggregate
from pointsman.storage.journal_errors import JournalCorruptError, JournalFullError
from pointsman.storage.memory_journal import MemoryDisk, MemoryJournal
from tests.harness.core import BASE_COMMIT, workflow
from tests.harness.fake_host import FakeHost
from tests.harness.in_process import InProcessWorker, InProcessWorkers

HOUR_MS = 3600 * 1000


class Clock:
    """Stands still until told."""

    def __init__(self) -> None:
        self.at_ms = 1_000_000

    def now_ms(self) -> int:
        return self.at_ms


class Bench:
    """A supervisor over a journal that outlives it, with a host that does too."""

    def __init__(self, disk: MemoryDisk | None = None, host: FakeHost | None = None) -> None:
        self.disk = disk or MemoryDisk()
        self.host = host or FakeHost()
        self.clock = Clock()
        self.journal = MemoryJournal(self.disk)
        self.workers = InProcessWorkers(self.journal, self.host, self.clock)
        self.supervisor = Supervisor(
            self.journal,
            Pool(self.workers, workers_max=3, patience_s=1),
            self.clock,
            tick_s=0.001,
        )

    async def begin(self, number: int = 1) -> str:
        run_id = ids.run_id(0, f"{number:026d}")
        command = cmd.StartRun(
            run_id=run_id,
            workflow=workflow(),
            definition_source="test",
            inputs={"task": "greet"},
            repository="/repo",
            base_commit=BASE_COMMIT,
            base_branch="main",
            started_by="test",
        )
        answer = await self.supervisor.tell(Message(run_id, command, f"start-{number}"))
        assert isinstance(answer, Reply), answer
        return run_id

    def status(self, run_id: str) -> str | None:
        run = self.journal.run(run_id)
        attempt = run.visit.attempt if run is not None and run.visit is not None else None
        return attempt.status.value if attempt is not None else None

    def kinds(self, run_id: str) -> list[str]:
        return [each.event.kind for each in self.journal.events(run_id)]

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not holds():  # noqa: ASYNC110 - nothing tells when a journal changes
                await asyncio.sleep(0)

    def kill_workers(self) -> None:
        for worker in self.workers.spawned:
            worker.kill()


def story(told: Callable[[Bench], Coroutine[None, None, None]]) -> Callable[[], None]:
    """Run an asynchronous test with a bench of its own."""

    def test() -> None:
        async def tell() -> None:
            bench = Bench()
            try:
                await told(bench)
            finally:
                await bench.supervisor.stop()

        asyncio.run(tell())

    test.__name__ = told.__name__
    return test


@story
async def test_a_run_gets_a_worker_which_performs_what_is_owed(bench: Bench) -> None:
    run_id = await bench.begin()
    await bench.until(lambda: bench.status(run_id) == "launched")
    assert bench.host.calls["launch_execution"] == 1


@story
async def test_a_command_whose_worker_died_is_delivered_to_a_new_one(bench: Bench) -> None:
    run_id = await bench.begin()
    await bench.until(lambda: bench.status(run_id) == "launched")
    bench.kill_workers()
    cancel = Message(run_id, cmd.CancelRun(requested_by="ann"), "cancel-1")
    assert isinstance(await bench.supervisor.tell(cancel), Reply)
    assert await bench.supervisor.tell(cancel) == Reply(run_id=run_id, duplicate=True)
    await bench.until(lambda: (run := bench.journal.run(run_id)) is not None and run.ended)
    assert bench.host.calls["launch_execution"] == 1


@story
async def test_a_new_supervisor_goes_on_with_every_run_that_owes_something(bench: Bench) -> None:
    bench.host.reachable = False
    runs = [await bench.begin(number) for number in (1, 2)]
    await bench.supervisor.stop()
    bench.kill_workers()
    bench.host.reachable = True
    after = Bench(bench.disk, bench.host)
    await after.supervisor.start()
    await after.until(lambda: all(after.status(run_id) == "launched" for run_id in runs))
    assert bench.host.calls["prepare_workspace"] == 2
    assert bench.host.calls["launch_execution"] == 2
    await after.supervisor.stop()


@story
async def test_a_worker_lost_while_it_owed_something_is_replaced_without_a_command(
    bench: Bench,
) -> None:
    bench.host.reachable = False
    run_id = await bench.begin()
    bench.kill_workers()
    bench.host.reachable = True
    await bench.supervisor.start()
    await bench.until(lambda: bench.status(run_id) == "launched")


@story
async def test_a_waiting_run_costs_no_worker(bench: Bench) -> None:
    run_id = await bench.begin()
    await bench.until(lambda: bench.status(run_id) == "launched")
    await bench.supervisor.start()

    def passivated() -> bool:
        bench.clock.at_ms += 1_000
        return bench.supervisor.status()["workers_lent"] == 0

    await bench.until(passivated)
    cancel = Message(run_id, cmd.CancelRun(requested_by="ann"))
    assert isinstance(await bench.supervisor.tell(cancel), Reply)


@story
async def test_a_deadline_fires_once_although_its_run_had_no_worker(bench: Bench) -> None:
    run_id = await bench.begin()
    await bench.until(lambda: bench.status(run_id) == "launched")
    bench.clock.at_ms += 3 * HOUR_MS
    await bench.supervisor.start()
    await bench.until(lambda: bench.host.calls.get("interrupt_execution"))
    await bench.until(
        lambda: (row := bench.journal.summary(run_id)) and row.state is RunState.UNRESOLVED
    )
    kinds = [each.event.kind for each in bench.journal.events(run_id)]
    assert kinds.count("attempt_timed_out") == 1
    assert bench.host.calls["interrupt_execution"] == 1


@story
async def test_a_run_in_trouble_does_not_keep_the_others_from_their_deadlines(
    bench: Bench,
) -> None:
    troubled, fine = await bench.begin(1), await bench.begin(2)
    await bench.until(lambda: bench.status(troubled) == bench.status(fine) == "launched")
    bench.kill_workers()
    assign = InProcessWorker.assign

    class PoisonWorkers(InProcessWorkers):
        """Gives workers that cannot take the troubled run."""

        def spawn(self) -> InProcessWorker:
            worker = super().spawn()

            async def poisoned(run_id: str, fencing_token: int) -> None:
                assert run_id != troubled, "this run's state is poison"
                await assign(worker, run_id, fencing_token)

            worker.assign = poisoned  # type: ignore[method-assign]
            return worker

    pool = Pool(PoisonWorkers(bench.journal, bench.host, bench.clock))
    after = Supervisor(bench.journal, pool, bench.clock, tick_s=0.001)
    bench.clock.at_ms += 3 * HOUR_MS
    await after.start()
    await bench.until(
        lambda: (row := bench.journal.summary(fine)) and row.state is RunState.UNRESOLVED
    )
    await after.stop()
    refused = await after.tell(Message(troubled, cmd.Advance()))
    assert isinstance(refused, Unavailable)
    assert refused.code == "run_in_trouble"
    assert pool.lent == 1, "and it does not use up workers"


@story
async def test_a_run_whose_code_raises_is_set_aside_with_an_attention_item_until_it_goes_on(
    bench: Bench,
) -> None:
    troubled, fine = await bench.begin(1), await bench.begin(2)
    await bench.until(lambda: bench.status(troubled) == bench.status(fine) == "launched")
    tell, poisoned = InProcessWorker.tell, True

    async def raising(worker: InProcessWorker, message: Message) -> Answer:
        assert not (poisoned and message.run_id == troubled), "its code path raises"
        return await tell(worker, message)

    cancel = cmd.CancelRun(requested_by="ann")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InProcessWorker, "tell", raising)
        refused = await bench.supervisor.tell(Message(troubled, cancel, "cancel"))
        assert isinstance(refused, Unavailable)
        assert refused.code == "run_in_trouble"
        (item,) = bench.journal.troubles()
        assert (item.run_id, item.kind) == (troubled, "run_in_trouble")
        assert "its code path raises" in item.detail
        assert isinstance(await bench.supervisor.tell(Message(fine, cancel, "cancel")), Reply)
        after = Supervisor(bench.journal, Pool(bench.workers), bench.clock)
        assert bench.journal.troubles() == (item,), "it outlives the supervisor"
        poisoned = False
        assert isinstance(await after.tell(Message(troubled, cancel, "cancel")), Reply)
        for _ in range(2):
            await after.tell(Message(troubled, cmd.Advance()))
    assert bench.journal.troubles() == ()


@story
async def test_what_a_workers_own_work_raises_is_told_of_its_run(bench: Bench) -> None:
    run_id = await bench.begin(1)
    await bench.until(lambda: bench.status(run_id) == "launched")

    async def raising(attempt_id: str) -> WorkAggregate:
        raise AssertionError(f"{attempt_id} is poison")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench.host, "inspect", raising)
        (subject,) = bench.journal.summary(run_id).open_work  # type: ignore[union-attr]
        while not bench.journal.troubles():
            await bench.supervisor.wake(subject)
            await asyncio.sleep(0)
    (item,) = bench.journal.troubles()
    assert "is poison" in item.detail


@story
async def test_a_damaged_row_of_one_run_keeps_no_other_from_being_swept(bench: Bench) -> None:
    bench.host.reachable = False
    troubled, fine = await bench.begin(1), await bench.begin(2)
    bench.kill_workers()
    bench.host.reachable = True
    outbox = MemoryJournal.outbox

    def damaged(journal: MemoryJournal, run_id: str) -> tuple[Intent, ...]:
        if run_id == troubled:
            raise JournalCorruptError("the checksum is wrong")
        return outbox(journal, run_id)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryJournal, "outbox", damaged)
        after = Bench(bench.disk, bench.host)
        await after.supervisor.start()
        await after.until(lambda: after.status(fine) == "launched")
        await after.supervisor.stop()


@story
async def test_when_all_workers_are_busy_a_command_is_refused_and_may_be_sent_again(
    bench: Bench,
) -> None:
    bench.host.reachable = False
    pool = Pool(bench.workers, workers_max=3, patience_s=0.01)
    bench.supervisor = Supervisor(bench.journal, pool, bench.clock)
    for number in (1, 2, 3):
        await bench.begin(number)
    run_id = ids.run_id(0, f"{4:026d}")
    answer = await bench.supervisor.tell(Message(run_id, cmd.Advance()))
    assert isinstance(answer, Unavailable)
    assert answer.code == "no_worker"


@story
async def test_a_command_to_an_unknown_run_is_refused(bench: Bench) -> None:
    run_id = ids.run_id(0, f"{9:026d}")
    answer = await bench.supervisor.tell(Message(run_id, cmd.CancelRun(requested_by="ann")))
    assert isinstance(answer, Rejected)
    assert answer.code == "run_unknown"


@pytest.mark.parametrize("length_max", [1, 5])
def test_a_full_mailbox_refuses_and_loses_nothing(length_max: int) -> None:

    async def tell() -> None:
        handled: list[str] = []

        def handle(message: Message) -> Reply:
            handled.append(message.run_id)
            return Reply(run_id=message.run_id)

        box = Mailbox(handle, length_max)
        puts = [box.put(Message(f"r{n}", cmd.Advance())) for n in range(length_max + 2)]
        answers = await asyncio.gather(*puts)
        refused = [each for each in answers if isinstance(each, Unavailable)]
        assert [each.code for each in refused] == ["mailbox_full"] * 2
        assert handled == [f"r{n}" for n in range(length_max)], "in order, each once"

    asyncio.run(tell())


@story
async def test_runs_that_a_full_disk_keeps_from_their_lease_take_no_worker_along(
    bench: Bench,
) -> None:
    lease = bench.journal.lease

    def full(run_id: str) -> int:
        raise JournalFullError("the disk is full")

    bench.journal.lease = full  # type: ignore[method-assign]
    for number in range(1, 6):
        with pytest.raises(JournalFullError):
            await bench.begin(number)
    assert bench.supervisor.status()["workers_lent"] == 0
    bench.journal.lease = lease  # type: ignore[method-assign]
    await bench.begin(6)


@story
async def test_a_burst_of_starts_is_served_in_turn_by_a_few_workers(bench: Bench) -> None:
    pool = Pool(bench.workers, idle_max=3, workers_max=3)
    bench.supervisor = Supervisor(bench.journal, pool, bench.clock)
    runs = await asyncio.gather(*(bench.begin(number) for number in range(1, 21)))
    await bench.until(lambda: all(bench.status(run_id) == "launched" for run_id in runs))
    assert len(bench.workers.spawned) == 3
    assert bench.host.calls["launch_execution"] == 20


@story
async def test_more_workers_are_begun_when_none_comes_free(bench: Bench) -> None:
    bench.host.reachable = False
    pool = Pool(bench.workers, at_once_max=2, workers_max=4)
    bench.supervisor = Supervisor(bench.journal, pool, bench.clock, grow_after_s=0)
    for number in range(1, 5):
        await bench.begin(number)
    assert pool.lent == 4
