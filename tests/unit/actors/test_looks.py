"""What the supervisor finds when it looks at runs by itself, and nobody has told it anything."""

import pytest

from pointsman.actors.failing import IN_VAIN_AFTER_MS
from pointsman.graph.allowed import allowed_actions
from pointsman.graph.events import AttemptSettled
from pointsman.graph.run import RunState
from pointsman.graph.settlement import SettlementOutcome
from pointsman.graph.work import WorkPhase
from tests.harness.in_process import InProcessWorker
from tests.unit.actors.test_supervisor import HOUR_MS, Bench, story


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


@story
async def test_a_host_that_never_tells_an_end_is_found_out_by_a_look_after_the_interruption(
    bench: Bench,
) -> None:
    run_id = await bench.begin(1)
    await bench.supervisor.start()
    await bench.until(lambda: bench.status(run_id) == "launched")
    # The session broke down in the middle of its turn: no word of that, now or ever.
    bench.clock.at_ms += 24 * HOUR_MS
    await bench.until(lambda: bench.host.calls.get("interrupt_execution"))
    await bench.until(lambda: "node_unresolved" in bench.kinds(run_id))
    run = bench.journal.run(run_id)
    assert run is not None
    assert run.state is RunState.UNRESOLVED
    settled = [each.event for each in bench.journal.events(run_id)]
    (end,) = [each for each in settled if isinstance(each, AttemptSettled)]
    assert end.outcome is SettlementOutcome.TIMED_OUT
    assert [each.action for each in allowed_actions(run)] == ["retry", "cancel"]
    assert bench.host.calls["interrupt_execution"] == 1
    await bench.supervisor.stop()


@story
async def test_a_session_that_a_look_finds_gone_is_interrupted_though_its_turn_never_ended(
    bench: Bench,
) -> None:
    run_id = await bench.begin(1)
    await bench.supervisor.start()
    await bench.until(lambda: bench.status(run_id) == "launched")
    summary = bench.journal.summary(run_id)
    assert summary is not None
    (subject,) = summary.open_work
    bench.host.show(subject, phase=WorkPhase.GONE)  # its turn is active for ever
    await bench.until(lambda: "node_unresolved" in bench.kinds(run_id))
    run = bench.journal.run(run_id)
    assert run is not None
    assert [each.action for each in allowed_actions(run)] == ["retry", "cancel"]
    await bench.supervisor.stop()
