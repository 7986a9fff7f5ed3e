"""Goal: what people look at, approve and take is one commit, also when the branch moves on.

Method: the core's runs, shown with a real repository that git is asked in.
"""

from pathlib import Path

import pytest

from pointsman.graph.made_up import turn
from pointsman.graph.work import HostRunStatus
from pointsman.runtime.cli import rendering
from pointsman.runtime.cli.decided_commits import looks, notes
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.review_tables import show_reviews
from pointsman.runtime.cli.terminal import Terminal
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.views.queries import RunView, view_of
from tests.harness.core import Process
from tests.harness.hosts import git, make_repository
from tests.harness.reviews import FROZEN, OTHER, ReviewProcess, reviewed


@pytest.fixture
def call(tmp_path: Path) -> Invocation:
    return Invocation(DataDirectory(tmp_path), Terminal(json=False), command="pointsman")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository", {"a.py": "1\n2\n"})


def told(view: RunView) -> dict[str, str]:
    return {name: text.removeprefix(f"git -C {view.repository} ") for name, text in looks(view)}


def completed() -> RunView:
    process = Process().launch()
    process.report(data={"risk": "low"})
    process.observe(head_commit="4" * 40)
    process.run_check()
    process.decide_gate()
    return view_of(process.state)


def standing_in(view: RunView, repository: Path, commit: str) -> RunView:
    """Show a run as one of that repository, whose gate or approval is about that commit."""
    changes: dict[str, object] = {
        "repository": str(repository),
        "workspace_path": str(repository),
        "branch": "main",
    }
    if view.gate is not None:
        changes["gate"] = view.gate.model_copy(update={"head_commit": commit})
    approval = {**view.results.get("approve", {}), "commit": commit}
    return view.model_copy(update=changes | {"results": {"approve": approval}})


def test_what_was_approved_is_what_is_looked_at_and_taken() -> None:
    assert told(completed()) == {
        "look": "diff 1111111111...4444444444",
        "take it": "merge 4444444444",
    }


def test_a_branch_that_moved_on_after_the_approval_is_told(
    call: Invocation, repository: Path
) -> None:
    git(repository, "branch", "--move", "main")
    approved = git(repository, "rev-parse", "HEAD")
    view = standing_in(completed(), repository, approved)
    assert list(notes(call, view)) == []
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "Later")
    later = git(repository, "rev-parse", "HEAD")
    (note,) = notes(call, view)
    assert note.startswith(f"the branch is at {later[:10]} now, {approved[:10]} was approved:")


def test_where_git_cannot_be_asked_nothing_is_said(call: Invocation) -> None:
    assert list(notes(call, completed())) == []


def test_a_reviewed_gate_shows_the_reviewed_commit() -> None:
    view = view_of(ReviewProcess(reviewed(("code",))).to_the_gate().state)
    assert told(view) == {"look": f"diff 1111111111..{FROZEN[:10]}"}


def test_a_change_that_existed_already_is_looked_at_and_never_merged_for_anybody() -> None:
    process = ReviewProcess(reviewed(("code",))).to_the_gate()
    waiting = view_of(process.state)
    process.approve()
    for view in (waiting, view_of(process.state)):
        review = view.reviews["review"].model_copy(update={"change": "feature at origin"})
        shown = view.model_copy(update={"branch": None, "reviews": {"review": review}})
        assert told(shown) == {"look": f"diff 1111111111..{FROZEN[:10]}"}


def test_a_gate_says_that_the_branch_has_left_what_was_reviewed(
    call: Invocation, repository: Path
) -> None:
    git(repository, "branch", "--move", "main")
    head = git(repository, "rev-parse", "HEAD")
    view = view_of(ReviewProcess(reviewed(("code",))).to_the_gate().state)
    moved = standing_in(view, repository, FROZEN)
    review = view.reviews["review"].model_copy(update={"change": "the head of branch main"})
    (note,) = notes(call, moved.model_copy(update={"reviews": {"review": review}}))
    assert note.startswith(f"the branch is at {head[:10]} now, {FROZEN[:10]} was reviewed:")
    assert note.endswith("an approval will be refused; after that  pointsman review-again zzzzzzzz")


def test_a_gate_says_that_uncommitted_changes_are_no_part_of_the_approval(
    call: Invocation, repository: Path
) -> None:
    git(repository, "branch", "--move", "main")
    (repository / "a.py").write_text("3\n", encoding="utf-8")
    process = Process().work(data={"risk": "low"}).run_check()
    head = git(repository, "rev-parse", "HEAD")
    view = standing_in(view_of(process.state), repository, head)
    assert list(notes(call, view)) == [
        "the worktree has uncommitted changes (1 file): it is not part of what you approve"
    ]


def test_a_stale_gate_names_the_new_review_beside_the_first_step(call: Invocation) -> None:
    process = ReviewProcess(reviewed(("code",))).to_the_gate()
    assert rendering.other_steps(call, view_of(process.state)) == []
    process.see_head(OTHER)
    view = view_of(process.state)
    assert rendering.other_steps(call, view) == ["pointsman review-again zzzzzzzz"]


def test_a_reviewer_that_was_killed_after_its_report_is_told_not_to_count(
    call: Invocation, capsys: pytest.CaptureFixture[str]
) -> None:
    process = ReviewProcess(reviewed(("code",))).fork().launch_branch("code")
    process.report_of("code")
    interrupted = (turn(1, status=HostRunStatus.INTERRUPTED),)
    process.observe_branch("code", runs=interrupted, resumable=True)
    view = view_of(process.state)
    (item,) = view.attention
    assert rendering.headline(view).endswith(f"at reviewers: code: {item.detail}")
    rendering.show_rest(call, view)
    show_reviews(call, view)
    shown = capsys.readouterr().out
    assert "resume goes on in the same session; the earlier report stands" in shown
    assert "retry begins anew in a new session; counts as one visit" in shown
    assert "code: its report does not count unless its session is resumed and settles" in shown
