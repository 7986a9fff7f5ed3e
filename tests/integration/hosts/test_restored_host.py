"""A host of a restored data directory takes nothing for undone that may have been done."""

import shutil

from pointsman.actors.intent_runner import IntentRunner
from pointsman.graph.commands import RecordUnknown
from pointsman.graph.settlement import Settled, SettlementOutcome, settlement
from pointsman.graph.work import ReceiptStatus, WorkPhase
from pointsman.runtime.hosts.restored import Restored, remember
from tests.harness.hosts import ATTEMPT, LocalBench, work_below

STEPS = "steps:\n  - say: hello\n"


def restored(bench: LocalBench, *owed: str) -> None:
    """Make the bench's folder one that was restored while these effects were owed."""
    remember(bench.data / "host", Restored(backup_made_at="2026-12-01T00:00:00Z", owed=owed))


def test_a_launch_that_was_owed_is_told_as_unknown_and_starts_nothing(ready: LocalBench) -> None:
    order = ready.launch_order(ready.script(STEPS))
    restored(ready, order.intent_id)
    outcome = ready.call(IntentRunner(ready.host, "http://127.0.0.1:9/mcp").perform(order))
    assert isinstance(outcome, RecordUnknown)
    assert "restored from a backup" in outcome.why
    assert work_below(ready.data) == []


def test_a_worktree_that_was_owed_is_refused_so_that_nothing_is_launched_in_it(
    bench: LocalBench,
) -> None:
    restored(bench, bench.prepare_order().intent_id)
    receipt = bench.prepare()
    assert (receipt.status, receipt.reason) == (ReceiptStatus.REJECTED, "restored")
    assert not bench.workspace.exists()


def test_what_is_owed_only_after_the_restore_is_done(ready: LocalBench) -> None:
    restored(ready, "wf:another:launch")
    assert ready.launch(STEPS).status is ReceiptStatus.ACCEPTED


def test_work_that_the_backup_did_not_bring_is_gone(bench: LocalBench) -> None:
    restored(bench)
    assert bench.call(bench.host.inspect(ATTEMPT)).phase is WorkPhase.GONE


def test_a_retry_in_a_worktree_that_is_gone_ends_and_does_not_succeed(ready: LocalBench) -> None:
    shutil.rmtree(ready.workspace)
    assert ready.launch(STEPS).status is ReceiptStatus.ACCEPTED
    ready.until(lambda: ready.turn_command().exit_record())
    judged = settlement(ready.call(ready.host.inspect(ATTEMPT)))
    assert isinstance(judged, Settled)
    assert judged.outcome is SettlementOutcome.FAILED
