"""Goal: the hosts without processes, on which most tests rest, answer as the real one does.

Method: the same sentences for all, on what they can do without an agent: freezing a change,
reviewers' worktrees, looks at checkouts and heads, and the receipts of all effects.
``test_host_work_contract`` goes on with agents and checks.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.graph import intents
from pointsman.graph.changes import RemoteRef
from pointsman.graph.evidence import Checkout, misfit
from pointsman.graph.review_events import Moment
from pointsman.graph.reviews import Uncommitted
from pointsman.graph.work import Found, NotFound, Receipt, ReceiptStatus, WorkPhase
from tests.contract.host_sides import FakeSide, RealSide, Side, SimulatedSide, again, own, prepare
from tests.harness.host_reviews import OWN_HEAD, REVIEW_SET, HostReviewBench
from tests.harness.hosts import RUN

KEY = f"wf:{REVIEW_SET}.code"


@pytest.fixture(params=["fake", "simulated", "real"])
def side(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Side]:
    """A host with the run's own worktree on it."""
    if request.param == "real":
        with HostReviewBench(tmp_path) as bench:
            yield _prepared(RealSide(bench))
    else:
        yield _prepared(FakeSide() if request.param == "fake" else SimulatedSide())


def _prepared(side: Side) -> Side:
    assert prepare(side, own(side)).status is ReceiptStatus.ACCEPTED
    return side


def reviewers(side: Side, commit: str, tries: int = 1) -> intents.PrepareWorkspace:
    return own(side).model_copy(
        update={
            "intent_id": f"{KEY}:prepare.{tries}",
            "workspace_key": KEY,
            "base_commit": commit,
            "branch": None,
            "review_set_id": REVIEW_SET,
        }
    )


def freeze(side: Side, tries: int = 1, uncommitted: Uncommitted = Uncommitted.REFUSE) -> Receipt:
    order = intents.FreezeChange(
        intent_id=f"wf:{REVIEW_SET}:freeze.{tries}",
        run_id=RUN,
        review_set_id=REVIEW_SET,
        repository=side.repository,
        change=OWN_HEAD,
        base_commit=side.base,
        uncommitted=uncommitted,
    )
    return side.answer(side.host.freeze_change(order))


def verify(side: Side, commit: str, key: str = KEY) -> Checkout:
    order = intents.VerifyCheckout(
        intent_id="verify",
        run_id=RUN,
        attempt_id=f"{REVIEW_SET}.code.1",
        moment=Moment.LAUNCH,
        workspace_key=key,
        commit=commit,
    )
    return side.answer(side.host.verify_checkout(order))


def release(side: Side) -> Receipt:
    order = intents.ReleaseWorkspace(intent_id=f"{KEY}:release", run_id=RUN, workspace_key=KEY)
    return side.answer(side.host.release_workspace(order))


def head_order(side: Side) -> intents.ReadHead:
    return intents.ReadHead(
        intent_id="head",
        run_id=RUN,
        visit_id=f"{RUN}.review.1",
        repository=side.repository,
        change=OWN_HEAD,
        frozen_commit="0" * 40,
    )


def test_an_order_that_is_repeated_gets_the_first_commit_for_good(side: Side) -> None:
    commit = side.change()
    first = freeze(side)
    assert first.host_ref["frozen_commit"] == commit
    assert set(first.host_ref) - {"mark"} == {
        "frozen_commit",
        "base_commit",
        "diff_stat",
        "left_out",
        "committed",
    }
    side.change()
    assert freeze(side) == again(first)


def test_a_refused_order_stays_refused_and_the_next_try_is_judged_anew(side: Side) -> None:
    side.change()
    side.leave_uncommitted()
    refused = freeze(side)
    assert (refused.status, refused.reason) == (ReceiptStatus.REJECTED, "change_uncommitted")
    assert freeze(side) == refused, "a refusal is not told as if it had been done"
    found = side.answer(side.host.lookup(f"wf:{REVIEW_SET}:freeze.1"))
    assert found == Found(receipt=refused)
    assert freeze(side, 2, Uncommitted.IGNORE).status is ReceiptStatus.ACCEPTED


def test_what_is_left_out_of_a_review_is_named(side: Side) -> None:
    commit = side.change()
    path = side.leave_uncommitted()
    frozen = freeze(side, uncommitted=Uncommitted.IGNORE).host_ref
    assert (frozen["frozen_commit"], frozen["left_out"]) == (commit, path)
    assert frozen["committed"] is False


def test_what_is_uncommitted_is_committed_if_the_order_says_so(side: Side) -> None:
    commit = side.change()
    side.leave_uncommitted()
    frozen = freeze(side, uncommitted=Uncommitted.COMMIT).host_ref
    assert frozen["committed"] is True
    assert frozen["frozen_commit"] != commit
    assert frozen["left_out"] == ""
    seen = side.answer(side.host.read_head(head_order(side)))
    assert seen.head_commit == frozen["frozen_commit"]


def test_a_reviewers_worktree_is_at_exactly_the_commit_on_no_branch(side: Side) -> None:
    commit = side.change()
    side.change()
    order = reviewers(side, commit)
    assert side.answer(side.host.lookup(order.intent_id)) == NotFound()
    made = prepare(side, order)
    assert made.status is ReceiptStatus.ACCEPTED
    assert made.host_ref["head_commit"] == commit
    assert not made.host_ref.get("branch")
    assert made.host_ref["path"] != prepare(side, own(side)).host_ref["path"]
    assert prepare(side, order) == again(made)
    assert side.answer(side.host.lookup(order.intent_id)) == Found(receipt=made)


def test_a_checkout_fits_until_a_tracked_file_is_changed(side: Side) -> None:
    commit = side.change()
    prepare(side, reviewers(side, commit))
    seen = verify(side, commit)
    assert (seen.unreadable, seen.branch) == (None, None)
    assert misfit(seen, commit) is None
    assert misfit(verify(side, side.base), side.base) is not None
    side.spoil(KEY)
    assert verify(side, commit).changed == ("README.md",)


def test_where_there_is_no_worktree_nothing_can_be_read(side: Side) -> None:
    assert verify(side, side.base).unreadable is not None


def test_the_head_is_where_the_change_stands_now(side: Side) -> None:
    first = side.change()
    assert side.answer(side.host.read_head(head_order(side))).head_commit == first
    second = side.change()
    assert side.answer(side.host.read_head(head_order(side))).head_commit == second
    side.hide_head()
    hidden = side.answer(side.host.read_head(head_order(side)))
    assert hidden.head_commit is None
    assert hidden.unavailable


def test_a_worktree_is_let_go_of_once(side: Side) -> None:
    commit = side.change()
    prepare(side, reviewers(side, commit))
    gone = release(side)
    assert gone.host_ref["kept"] is False
    assert release(side) == again(gone)
    assert verify(side, commit) == Checkout(), "which fits nothing"


def test_the_worktrees_on_disk_are_listed_by_their_role(side: Side) -> None:
    commit = side.change()
    prepare(side, reviewers(side, commit))
    listed = {each.role: each for each in side.answer(side.host.workspaces())}
    assert set(listed) == {"primary", "code"}
    assert (listed["code"].workspace_key, listed["code"].commit) == (KEY, commit)
    assert {each.run_id for each in listed.values()} == {RUN}


def test_work_that_was_never_begun_is_gone(side: Side) -> None:
    work = side.answer(side.host.inspect(f"{REVIEW_SET}.code.1"))
    assert work.phase is WorkPhase.GONE


def test_a_ref_that_is_nowhere_has_no_head(side: Side) -> None:
    side.hide_head()
    nowhere = head_order(side).model_copy(update={"change": RemoteRef(ref="refs/heads/nowhere")})
    assert side.answer(side.host.read_head(nowhere)).head_commit is None
