"""What the supervisor finds when it looks at runs by itself, and nobody has told it anything."""

import pytest

from pointsman.actors.failing import IN_VAIN_AFTER_MS
from tests.harness.in_process import InProcessWorker
from tests.unit.actors.test_supervisor import Bench, story


@story
async def test_a_person_is_told_of_a_run_whose_host_does_not_answer_until_it_does(
    bench: Bench,
) -> None:
    wake, looks = InProcessWorker.wake, 0

    async def counted(worker: InProcessWorker, run_id: str, subject: str | None = None) -> None:
        nonlocal looks
        looks += 1
        await wake(worker, run_id, subject)

    async def several_looks() -> None:
        enough = looks + 4
        await bench.until(lambda: looks >= enough)

    bench.host.reachable = False
    run_id = await bench.begin(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InProcessWorker, "wake", counted)
        await bench.supervisor.start()
        await several_looks()
        bench.clock.at_ms += IN_VAIN_AFTER_MS - 1
        await several_looks()
        assert bench.journal.troubles() == (), "a host is begun again in moments"
        bench.clock.at_ms += 1
        await bench.until(bench.journal.troubles)
    (item,) = bench.journal.troubles()
    assert item.run_id == run_id
    assert "prepare" in item.detail
    bench.host.reachable = True
    await bench.until(lambda: bench.status(run_id) == "launched" and not bench.journal.troubles())
    assert not any(each.ended for each in bench.workers.spawned), "its worker kept it"
    await bench.supervisor.stop()


@story
async def test_work_that_ended_without_a_word_is_settled_by_a_look(bench: Bench) -> None:
    run_id = await bench.begin(1)
    await bench.supervisor.start()
    await bench.until(lambda: bench.status(run_id) == "launched")
    summary = bench.journal.summary(run_id)
    assert summary is not None
    (subject,) = summary.open_work
    bench.host.finish(subject)  # and nobody is woken: this host's wakes go nowhere
    # It has not reported, so its settlement earns it the one reminder.
    await bench.until(lambda: "reminder_issued" in bench.kinds(run_id))
    await bench.supervisor.stop()
