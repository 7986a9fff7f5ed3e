"""Goal: the host without processes, on which most tests rest, answers as the real one does.

Method: the same sentences for both, on what both can do without an agent: freezing a change,
reviewers' worktrees, looks at checkouts and heads, and the receipts of all effects.
"""

import asyncio
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import pytest

from pointsman.actors.host import Host
from pointsman.graph import intents
from pointsman.graph.changes import RemoteRef
from pointsman.graph.definition import WorkspaceSetup
from pointsman.graph.evidence import Checkout, misfit
from pointsman.graph.review_events import Moment
from pointsman.graph.reviews import Uncommitted
from pointsman.graph.work import Found, NotFound, Receipt, ReceiptStatus, WorkPhase
from tests.harness.fake_host import HEAD, FakeHost
from tests.harness.host_reviews import OWN_HEAD, REVIEW_SET, HostReviewBench
from tests.harness.hosts import RUN, WORKSPACE, git

KEY = f"wf:{REVIEW_SET}.code"
AnswerT = TypeVar("AnswerT")


class Side(Protocol):
    """A host, and the world around it that a test can change."""

    repository: str
    base: str

    @property
    def host(self) -> Host: ...

    def answer(self, call: Awaitable[AnswerT]) -> AnswerT:
        """Wait for the host's answer."""
        ...

    def change(self) -> str:
        """Commit something in the run's own worktree; return the commit."""
        ...

    def leave_uncommitted(self) -> str:
        """Leave something uncommitted in the run's own worktree; return its path."""
        ...

    def spoil(self, key: str) -> None:
        """Change a tracked file in a reviewer's worktree."""
        ...

    def hide_head(self) -> None:
        """Make it impossible to know where the change stands."""
        ...


class RealSide:
    """The local host on real git."""

    def __init__(self, bench: HostReviewBench) -> None:
        self._bench = bench
        self.repository = str(bench.repository)
        self.base = git(bench.repository, "rev-parse", "HEAD")
        self._changes = 0

    @property
    def host(self) -> Host:
        return self._bench.host

    def answer(self, call: Awaitable[AnswerT]) -> AnswerT:
        return self._bench.call(call)

    def change(self) -> str:
        self._changes += 1
        return self._bench.change(f"change {self._changes}\n")

    def leave_uncommitted(self) -> str:
        (self._bench.workspace / "README.md").write_text("edited\n")
        return "README.md"

    def spoil(self, key: str) -> None:
        (self._bench.tree(key.rpartition(".")[2]) / "README.md").write_text("spoilt\n")

    def hide_head(self) -> None:
        git(self._bench.workspace, "checkout", "--quiet", "--detach")
        git(self._bench.repository, "branch", "--quiet", "-D", OWN_HEAD.branch)


class FakeSide:
    """The host without processes."""

    def __init__(self) -> None:
        self.host: Host = FakeHost()
        self.repository = "/repo"
        self.base = HEAD
        self._changes = 0

    @property
    def _fake(self) -> FakeHost:
        assert isinstance(self.host, FakeHost)
        return self.host

    def answer(self, call: Awaitable[AnswerT]) -> AnswerT:
        async def answer() -> AnswerT:
            return await call

        return asyncio.run(answer())

    def change(self) -> str:
        self._changes += 1
        self._fake.head = f"{self._changes:040x}"
        return self._fake.head

    def leave_uncommitted(self) -> str:
        self._fake.uncommitted = ("README.md",)
        return "README.md"

    def spoil(self, key: str) -> None:
        self._fake.checkout(key, changed=("README.md",))

    def hide_head(self) -> None:
        self._fake.head = None


@pytest.fixture(params=["fake", "real"])
def side(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Side]:
    """A host with the run's own worktree on it."""
    if request.param == "fake":
        made: Side = FakeSide()
        assert prepare(made, own(made)).status is ReceiptStatus.ACCEPTED
        yield made
        return
    with HostReviewBench(tmp_path) as bench:
        made = RealSide(bench)
        assert prepare(made, own(made)).status is ReceiptStatus.ACCEPTED
        yield made


def own(side: Side) -> intents.PrepareWorkspace:
    return intents.PrepareWorkspace(
        intent_id=f"{WORKSPACE}:prepare.1",
        run_id=RUN,
        workspace_key=WORKSPACE,
        repository=side.repository,
        base_commit=side.base,
        branch=OWN_HEAD.branch,
        setup=WorkspaceSetup(),
    )


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


def prepare(side: Side, order: intents.PrepareWorkspace) -> Receipt:
    return side.answer(side.host.prepare_workspace(order))


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


def again(receipt: Receipt) -> Receipt:
    return receipt.model_copy(update={"status": ReceiptStatus.ALREADY})


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
