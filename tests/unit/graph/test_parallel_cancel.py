"""Goal: a cancel wins at every point of a review, and saying anything twice changes nothing.

Method: one whole review is played step by step. At each step a twin is canceled, or told again
everything that was said so far.
"""

from collections.abc import Callable, Iterator

import pytest

from pointsman.graph import commands as cmd
from pointsman.graph.evolve import fold
from pointsman.graph.intents import (
    Intent,
    InterruptExecution,
    LaunchExecution,
    ReleaseWorkspace,
    StartCheck,
)
from pointsman.graph.owed import owed_intents, unfinished
from pointsman.graph.project import project
from pointsman.graph.replies import Verdict
from pointsman.graph.run import RunState
from pointsman.graph.work import Receipt, ReceiptStatus
from tests.harness.core import code_of
from tests.harness.reviews import BRANCHES, ReviewProcess

BEGINS = {"launch_execution", "freeze_change", "resume_execution", "send_reminder"}


class Told(ReviewProcess):
    """A process that keeps what it was told."""

    def __init__(self) -> None:
        self.heard: list[cmd.Command] = []
        super().__init__()

    def send(self, command: cmd.Command) -> Verdict:
        self.heard.append(command)
        return super().send(command)


def _steps() -> Iterator[tuple[str, Callable[[ReviewProcess], object]]]:
    yield "at the group", lambda p: p.to_the_group()
    yield "forked", lambda p: p.freeze()
    yield "a worktree prepared", lambda p: p.prepare("code")
    yield "a checkout verified", lambda p: p.verify("code")
    yield "launched", lambda p: p.take_for("code", "launch_execution", host_run_id="1")
    yield "another launched", lambda p: p.launch_branch("security")
    yield "reported", lambda p: p.report_of("code")
    yield "settled", lambda p: p.observe_branch("code")
    yield "verified at the end", lambda p: p.verify("code")
    yield "interrupted", lambda p: p.stop("security")
    yield "about to resume", lambda p: p.resume_branch("security")
    yield "resumed", lambda p: p.take_for("security", "resume_execution", continuity="native")
    yield "stopped again", lambda p: p.stop("security")
    yield "retried", lambda p: p.retry_branch("security")
    yield "verified again", lambda p: p.verify("security")
    yield "launched again", lambda p: p.take_for("security", "launch_execution")
    yield "about to be reminded", lambda p: p.observe_branch("security")
    yield "reminded", lambda p: p.take_for("security", "send_reminder")
    yield "reported after the reminder", lambda p: p.report_of("security")
    yield "settled after the reminder", lambda p: p.settle("security")
    yield "the last one launched", lambda p: p.launch_branch("ux")
    yield "the last one overdue", lambda p: p.pass_deadline("ux")
    yield "the last one ended", lambda p: p.take_for("ux", "interrupt_execution", left=0)
    yield "at the join", lambda p: p.observe_branch("ux")
    yield "joined", lambda p: p.see_head()
    yield "reviewing again", lambda p: p.review_again()
    yield "forked again", lambda p: p.freeze()
    yield "all done again", lambda p: p.complete()
    yield "at the gate", lambda p: p.see_head()


STEPS = dict(_steps())


def played_to(step: str) -> Told:
    process = Told()
    for name, play in STEPS.items():
        play(process)
        if name == step:
            break
    return process


def receipt(intent: Intent) -> cmd.RecordReceipt:
    made = Receipt(
        idempotency_key=intent.intent_id,
        status=ReceiptStatus.ACCEPTED,
        host_ref={"left": 0, "path": "/late", "head_commit": "2" * 40, "host_run_id": "9"},
    )
    return cmd.RecordReceipt(intent_id=intent.intent_id, receipt=made)


@pytest.mark.parametrize("step", STEPS)
def test_after_a_cancel_nothing_begins_and_all_that_may_run_is_ended(step: str) -> None:
    process = played_to(step)
    before = owed_intents(process.state)
    may_run = set(unfinished(process.state))
    process.cancel()
    assert process.state.state is RunState.CANCELED
    canceled_at = len(process.recorded)
    assert not BEGINS & set(process.owed())
    ended = {e.attempt_id for e in owed_intents(process.state) if isinstance(e, InterruptExecution)}
    let_go = {
        e.workspace_key for e in owed_intents(process.state) if isinstance(e, ReleaseWorkspace)
    }
    assert may_run <= ended | let_go, "whatever may have processes is ended"
    for late in before:
        if isinstance(late, LaunchExecution | StartCheck) or late.kind == "freeze_change":
            assert code_of(process.send(receipt(late))) in ("not_current", "run_ended")
    for _ in range(12):
        wanted = [each for each in owed_intents(process.state) if not process.state.ended]
        for each in wanted:
            process.send(receipt(each))
    assert process.state.ended, "the cancel comes to its end"
    for each in owed_intents(process.state):
        assert isinstance(each, ReleaseWorkspace)
        process.send(receipt(each))
    assert process.owed() == [], "no worktree is left behind"
    after = {each.event.kind for each in process.recorded[canceled_at:]}
    assert after <= {"cancel_requested", "work_interrupted", "workspace_released", "run_canceled"}


@pytest.mark.parametrize("step", STEPS)
def test_late_facts_after_a_cancel_change_no_branch_and_no_join(step: str) -> None:
    process = played_to(step)
    process.cancel()
    joins = process.kinds().count("join_committed")
    for name in BRANCHES if process.state.reviews else ():
        if process.branch(name).attempt is not None:
            process.observe_branch(name)
            process.pass_deadline(name)
            process.report_of(name, 7)
    process.see_head()
    kinds = process.kinds()
    assert kinds.count("join_committed") == joins
    assert "node_completed" not in kinds[kinds.index("cancel_requested") :]


@pytest.mark.parametrize("step", STEPS)
def test_everything_told_twice_more_changes_nothing(step: str) -> None:
    process = played_to(step)
    before = process.state
    for command in [*process.heard, *process.heard]:
        process.send(command)
    assert process.state == before
    assert fold(process.recorded) == before


@pytest.mark.parametrize("step", STEPS)
def test_something_wakes_the_run_wherever_a_review_stands(step: str) -> None:
    process = played_to(step)
    shown = project(process.state)
    waits_for_person = process.state.state in (RunState.AWAITING_REVIEW, RunState.UNRESOLVED)
    assert shown.outbox or shown.summary.open_work or (waits_for_person and shown.attention)


def test_a_launch_that_was_on_its_way_when_the_deadline_came_is_ended_not_recorded() -> None:
    process = ReviewProcess().fork().prepare("code")
    process.verify("code")
    (launch,) = process.owed_by("code")
    process.pass_deadline("code")
    assert code_of(process.send(receipt(launch))) == "not_current"
    assert [each.kind for each in process.owed_by("code")] == ["interrupt_execution"]
    process.take_for("code", "interrupt_execution", left=1)
    assert process.ending("code") == "unresolved deadline"
    (item,) = project(process.state).attention
    assert item.kind == "processes_left"


def test_a_worktree_that_was_being_made_when_its_deadline_came_is_let_go_of() -> None:
    process = ReviewProcess().fork()
    (order,) = process.owed_by("code")
    process.pass_deadline("code")
    assert code_of(process.send(receipt(order))) == "not_current"
    assert [each.kind for each in process.owed_by("code")] == ["release_workspace"]


def test_a_cancel_ends_a_reviewer_whose_launch_nobody_can_tell_of() -> None:
    process = ReviewProcess().fork().prepare("code")
    process.verify("code")
    (launch,) = process.owed_by("code")
    process.send(cmd.RecordUnknown(intent_id=launch.intent_id, why="unreadable"))
    assert process.ending("code") is None
    assert [each.kind for each in process.owed_by("code")] == ["interrupt_execution"]
    process.cancel()
    ended = [e for e in owed_intents(process.state) if isinstance(e, InterruptExecution)]
    assert process.attempt_of("code").attempt_id in {each.attempt_id for each in ended}
