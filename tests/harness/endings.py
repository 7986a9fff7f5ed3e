"""Every way in which a reviewer's branch can come to its end, played from its fork."""

from collections.abc import Callable
from typing import NamedTuple

from pointsman.graph import commands as cmd
from pointsman.graph.made_up import turn
from pointsman.graph.work import HostRunStatus, WorkFailure, WorkPhase
from tests.harness.reviews import OTHER, ReviewProcess


class Ending(NamedTuple):
    """What is played, and how the branch is then told to have ended."""

    play: Callable[[ReviewProcess, str], object]
    told: str


def _completed(process: ReviewProcess, name: str) -> None:
    process.complete(name)


def _wants_changes(process: ReviewProcess, name: str) -> None:
    process.complete(name, blockers=2)


def _reports(outcome: str) -> Callable[[ReviewProcess, str], None]:
    def play(process: ReviewProcess, name: str) -> None:
        process.launch_branch(name)
        process.report_of(name, outcome=outcome)
        process.settle(name)

    return play


def _work_ends(status: HostRunStatus, *, reported: bool) -> Callable[[ReviewProcess, str], None]:
    def play(process: ReviewProcess, name: str) -> None:
        process.launch_branch(name)
        if reported:
            process.report_of(name)
        process.observe_branch(name, runs=(turn(1, status=status),))

    return play


def _broke(process: ReviewProcess, name: str) -> None:
    process.launch_branch(name)
    process.report_of(name)
    process.observe_branch(name, failure=WorkFailure(code="crash", message="it broke"))


def _missing(process: ReviewProcess, name: str) -> None:
    process.launch_branch(name)
    process.observe_branch(name)
    process.take_for(name, "send_reminder")
    process.observe_branch(name)


def _reminder_refused(process: ReviewProcess, name: str) -> None:
    process.launch_branch(name)
    process.observe_branch(name)
    process.refuse_for(name, "send_reminder")


def _timed_out(process: ReviewProcess, name: str) -> None:
    process.launch_branch(name)
    process.report_of(name)
    process.time_out(name)
    process.take_for(name, "interrupt_execution", left=0)
    process.observe_branch(name)


def _deadline(process: ReviewProcess, name: str) -> None:
    process.launch_branch(name)
    process.report_of(name)
    process.pass_deadline(name)
    process.take_for(name, "interrupt_execution", left=0)
    process.observe_branch(name)


def _gone_until_the_deadline(process: ReviewProcess, name: str) -> None:
    process.launch_branch(name)
    process.report_of(name)
    process.observe_branch(name, runs=(), phase=WorkPhase.GONE)
    process.pass_deadline(name)


def _wrong_at_launch(process: ReviewProcess, name: str) -> None:
    process.prepare(name)
    process.verify(name, head_commit=OTHER)


def _unreadable_at_launch(process: ReviewProcess, name: str) -> None:
    process.prepare(name)
    process.verify(name, head_commit=None, top_level=False, unreadable="permission denied")


def _at_settlement(**seen: object) -> Callable[[ReviewProcess, str], None]:
    def play(process: ReviewProcess, name: str) -> None:
        process.launch_branch(name)
        process.report_of(name)
        process.observe_branch(name)
        process.verify(name, **seen)

    return play


def _no_workspace(process: ReviewProcess, name: str) -> None:
    process.refuse_for(name, "prepare_workspace")


def _not_launched(process: ReviewProcess, name: str) -> None:
    process.prepare(name)
    process.verify(name)
    process.refuse_for(name, "launch_execution", "provider_missing")


def _launch_unknown(process: ReviewProcess, name: str) -> None:
    process.prepare(name)
    process.verify(name)
    launch = next(each for each in process.owed_by(name) if each.kind == "launch_execution")
    process.send(cmd.RecordUnknown(intent_id=launch.intent_id, why="its record is unreadable"))
    process.take_for(name, "interrupt_execution", left=0)


FAILED = HostRunStatus.FAILED
ENDINGS = {
    "completed": Ending(_completed, "completed"),
    "wants changes": Ending(_wants_changes, "completed"),
    "reports failed": Ending(_reports("failed"), "failed reported_failed"),
    "reports blocked": Ending(_reports("blocked"), "unresolved reported_blocked"),
    "fails": Ending(_work_ends(FAILED, reported=False), "failed work_failed"),
    "fails after its report": Ending(_work_ends(FAILED, reported=True), "failed work_failed"),
    "breaks after its report": Ending(_broke, "failed work_failed"),
    "is canceled": Ending(
        _work_ends(HostRunStatus.CANCELED, reported=True), "canceled work_canceled"
    ),
    "never reports": Ending(_missing, "unresolved report_missing"),
    "cannot be reminded": Ending(_reminder_refused, "unresolved report_missing"),
    "times out": Ending(_timed_out, "unresolved timed_out"),
    "passes its deadline": Ending(_deadline, "unresolved deadline"),
    "is lost until its deadline": Ending(_gone_until_the_deadline, "unresolved deadline"),
    "has the wrong checkout": Ending(_wrong_at_launch, "failed checkout_mismatch"),
    "cannot be verified": Ending(_unreadable_at_launch, "unresolved checkout_unreadable"),
    "moved its checkout": Ending(_at_settlement(head_commit=OTHER), "failed checkout_mismatch"),
    "changed a file": Ending(_at_settlement(changed=("a.py",)), "failed checkout_mismatch"),
    "staged a file": Ending(_at_settlement(staged=("a.py",)), "failed checkout_mismatch"),
    "left its folder": Ending(_at_settlement(top_level=False), "failed checkout_mismatch"),
    "cannot be verified at the end": Ending(
        _at_settlement(unreadable="gone"), "unresolved checkout_unreadable"
    ),
    "has no workspace": Ending(_no_workspace, "unresolved workspace_refused"),
    "is not launched": Ending(_not_launched, "unresolved launch_refused"),
    "may be launched": Ending(_launch_unknown, "unresolved launch_unknown"),
}
