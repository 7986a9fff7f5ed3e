"""Goal: checks run once, and worktrees are kept as long as anybody needs them, on both hosts.

Method: that of ``test_host_work_contract``.
"""

import pytest

from pointsman.graph.work import CheckExited, CheckNotStarted, CheckRunning, ReceiptStatus
from tests.contract.host_acts import at_work, cancel_check, launch, release, start_check
from tests.contract.host_sides import Play, WorkSide, again, own, prepare
from tests.harness.hosts import CHECK, RUN, WORKSPACE


def test_a_check_is_run_once_and_its_end_is_kept(side: WorkSide) -> None:
    assert side.answer(side.host.inspect_check(CHECK)) == CheckNotStarted()
    first = start_check(side, ends=True)
    assert first.status is ReceiptStatus.ACCEPTED
    ended = side.until_checked()
    assert (ended.exit_code, ended.timed_out, ended.interrupted) == (3, False, False)
    assert start_check(side, ends=True) == again(first)
    side.restart()
    assert start_check(side, ends=True) == again(first)
    assert start_check(side, ends=True, intent_id="another").reason == "interrupted"
    assert cancel_check(side).host_ref == {"left": 0}
    assert side.answer(side.host.inspect_check(CHECK)) == ended, "a cancel comes too late"
    assert side.begun == 1


def test_a_check_that_is_canceled_first_never_runs(side: WorkSide) -> None:
    assert cancel_check(side).host_ref == {"left": 0}
    assert start_check(side, ends=True).reason == "interrupted"
    assert side.answer(side.host.inspect_check(CHECK)) == CheckNotStarted()
    assert side.begun == 0


def test_a_check_that_is_canceled_was_interrupted(side: WorkSide) -> None:
    start_check(side, ends=False)
    assert side.answer(side.host.inspect_check(CHECK)) == CheckRunning()
    assert cancel_check(side).host_ref == {"left": 0}
    ended = side.answer(side.host.inspect_check(CHECK))
    assert isinstance(ended, CheckExited)
    assert (ended.interrupted, ended.timed_out) == (True, False)


def test_a_check_without_its_worktree_is_refused(side: WorkSide) -> None:
    refused = start_check(side, ends=True, workspace_key=f"wf:{RUN}:elsewhere")
    assert refused.reason == "workspace_missing"
    assert side.answer(side.host.inspect_check(CHECK)) == CheckNotStarted()


def test_a_worktree_that_is_there_is_adopted_with_what_was_committed_in_it(side: WorkSide) -> None:
    commit = side.change()
    adopted = prepare(side, own(side).model_copy(update={"intent_id": "another"}))
    assert (adopted.status, adopted.host_ref["head_commit"]) == (ReceiptStatus.ACCEPTED, commit)
    assert adopted.host_ref["path"] == prepare(side, own(side)).host_ref["path"]


@pytest.mark.parametrize("user", ["agent", "check", "nobody, but it was changed"])
def test_a_worktree_is_kept_while_anything_works_or_lies_in_it(side: WorkSide, user: str) -> None:
    if user == "agent":
        at_work(side)
    elif user == "check":
        start_check(side, ends=False)
    else:
        side.leave_uncommitted()
    kept = release(side)
    assert kept.host_ref["kept"] is True
    assert kept.host_ref["why"]
    assert release(side) == again(kept)
    (there,) = side.answer(side.host.workspaces())
    assert (there.workspace_key, there.removable) == (WORKSPACE, False)


def test_a_worktree_that_was_let_go_of_is_not_prepared_again(side: WorkSide) -> None:
    assert release(side).host_ref["kept"] is False
    refused = prepare(side, own(side).model_copy(update={"intent_id": "late"}))
    assert refused.reason == "workspace_released"
    assert launch(side, Play.ENDS).reason == "workspace_missing"
