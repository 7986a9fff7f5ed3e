"""A wall clock that is set back by a day keeps no run from its worker."""

from pointsman.actors.messages import Message, Unavailable
from pointsman.actors.pool import Pool
from pointsman.actors.supervisor import Supervisor
from pointsman.graph import commands as cmd
from pointsman.graph.replies import Reply
from tests.harness.in_process import InProcessWorker, InProcessWorkers
from tests.harness.review_story import RUN_ID, ReviewBench, played

DAY_MS = 24 * 3600 * 1000


class PoisonWorkers(InProcessWorkers):
    """The first worker cannot take any run; the later ones can."""

    def spawn(self) -> InProcessWorker:
        worker = super().spawn()
        if len(self.spawned) == 1:

            async def poisoned(run_id: str, fencing_token: int) -> None:
                raise ValueError("this worker is poison")

            worker.assign = poisoned  # type: ignore[method-assign]
        return worker


def test_a_run_in_trouble_rests_no_longer_for_a_clock_that_was_set_back() -> None:
    async def story(bench: ReviewBench) -> None:
        await bench.begin()
        pool = Pool(PoisonWorkers(bench.journal, bench.host, bench.clock))
        after = Supervisor(bench.journal, pool, bench.clock)
        ask = Message(RUN_ID, cmd.Advance())
        assert isinstance(await after.tell(ask), Unavailable), "it cannot be taken"
        assert isinstance(await after.tell(ask), Unavailable), "and rests"
        bench.clock.at_ms -= DAY_MS
        assert isinstance(await after.tell(ask), Reply)
        await after.stop()

    played(story)
