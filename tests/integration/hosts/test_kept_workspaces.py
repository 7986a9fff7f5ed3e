"""Goal: it is told why each worktree is still there, and none with something to lose goes."""

import asyncio
import shutil
from pathlib import Path

import pytest

from pointsman.actors.host import HostUnavailableError
from pointsman.graph.work import HostRunStatus, WorkPhase
from tests.harness.host_reviews import HostReviewBench
from tests.harness.hosts import (
    NOWHERE,
    RUN,
    becomes_true,
    git,
    make_repository,
    setup_of,
    work_below,
)


def test_each_worktree_on_disk_is_listed_by_its_role(changed: HostReviewBench) -> None:
    commit = changed.prepare_reviewer("code", git(changed.workspace, "rev-parse", "HEAD"))
    kept = changed.kept()
    assert set(kept) == {"primary", "code"}
    reviewer = kept["code"]
    assert (reviewer.workspace_key, reviewer.run_id) == (changed.key("code"), RUN)
    assert (reviewer.path, reviewer.commit) == (str(changed.tree("code")), commit)
    assert reviewer.repository == str(changed.repository)
    assert (reviewer.why, reviewer.removable) == ("clean; not released yet", True)


def lose_something(bench: HostReviewBench, what: str) -> None:
    tree = bench.tree("code")
    match what:
        case "tracked":
            (tree / "README.md").write_text("edited\n")
        case "untracked":
            (tree / "notes.txt").write_text("notes\n")
        case "overlooked":
            git(tree, "update-index", "--assume-unchanged", "README.md")
            (tree / "README.md").write_text("edited\n")
        case "commit":
            git(tree, "commit", "--quiet", "--allow-empty", "--message", "Mine")
        case "commit left behind":
            git(tree, "commit", "--quiet", "--allow-empty", "--message", "Mine")
            git(tree, "checkout", "--quiet", "--detach", "HEAD~")
        case "merge":
            own = git(tree, "rev-parse", "--absolute-git-dir")
            with open(f"{own}/MERGE_HEAD", "w") as file:
                file.write(git(tree, "rev-parse", "HEAD"))
        case "locked":
            git(tree, "worktree", "lock", str(tree))
        case _:
            raise AssertionError(what)


@pytest.mark.parametrize(
    "what, why",
    [
        ("tracked", "uncommitted changes: README.md"),
        ("untracked", "uncommitted changes: notes.txt"),
        ("overlooked", "uncommitted changes: README.md"),
        ("commit", "commits that no branch has"),
        ("commit left behind", "commits that no branch has"),
        ("merge", "git is in the middle of a merge"),
        ("locked", "it was locked with git worktree lock"),
    ],
)
def test_a_worktree_with_something_to_lose_is_neither_released_nor_pruned(
    reviewing: HostReviewBench, what: str, why: str
) -> None:
    reviewing.prepare_reviewer()
    lose_something(reviewing, what)
    assert (reviewing.kept()["code"].why, reviewing.kept()["code"].removable) == (why, False)
    assert reviewing.release_reviewer().host_ref == {"kept": True, "why": why}
    assert reviewing.prune("code") == []
    assert reviewing.tree("code").exists()


def test_a_reviewers_commit_on_a_branch_can_not_be_lost(reviewing: HostReviewBench) -> None:
    reviewing.prepare_reviewer()
    git(reviewing.tree("code"), "commit", "--quiet", "--allow-empty", "--message", "Mine")
    git(reviewing.tree("code"), "branch", "mine")
    assert reviewing.prune("code") == ["code"]
    assert not reviewing.tree("code").exists()


def test_a_frozen_commit_that_only_pointsman_keeps_is_no_reason_to_keep_a_tree(
    changed: HostReviewBench,
) -> None:
    frozen = str(changed.freeze().host_ref["frozen_commit"])
    changed.prepare_reviewer("code", frozen)
    git(changed.workspace, "reset", "--quiet", "--hard", "HEAD~")
    assert changed.release_reviewer().host_ref == {"kept": False, "why": "clean"}


def test_frozen_commits_are_let_go_of_with_the_last_worktree_of_the_run(
    changed: HostReviewBench,
) -> None:
    frozen = str(changed.freeze().host_ref["frozen_commit"])
    for branch in ("code", "security", "style"):
        changed.prepare_reviewer(branch, frozen)
    changed.release_reviewer("code")
    shutil.rmtree(changed.tree("style"))
    assert changed.frozen() == frozen
    assert changed.release().host_ref["kept"] is False
    assert changed.frozen() == frozen
    (changed.tree("security") / "notes.txt").write_text("notes\n")
    assert changed.release_reviewer("security").host_ref["kept"] is True
    assert changed.frozen() == frozen
    (changed.tree("security") / "notes.txt").unlink()
    assert changed.prune("security", "security", "nobody") == ["security"]
    assert changed.frozen() is None


def test_a_worktree_in_which_a_reviewer_works_is_told_to_be_in_use(
    reviewing: HostReviewBench,
) -> None:
    reviewing.prepare_reviewer()
    order = reviewing.review_order(reviewing.script("steps: [hang]"))
    reviewing.call(reviewing.host.launch(order, NOWHERE))
    kept = reviewing.kept()["code"]
    assert (kept.why, kept.removable) == (f"in use by {reviewing.attempt('code')}", False)
    assert reviewing.prune("code") == []
    assert work_below(reviewing.data) != []
    assert reviewing.tree("code").exists()


def test_a_worktree_in_which_a_check_runs_is_told_to_be_in_use(changed: HostReviewBench) -> None:
    changed.start_check("while [ ! -e go ]; do sleep 0.02; done")
    assert changed.kept()["primary"].why.startswith("in use by ")
    (changed.workspace / "go").touch()
    changed.until_checked()


def test_a_worktree_whose_set_up_still_runs_is_told_to_be_in_use(
    reviewing: HostReviewBench,
) -> None:
    commit = git(reviewing.repository, "rev-parse", "HEAD")
    order = reviewing.reviewer_order("code", commit, setup_of("touch up; sleep 300"))

    async def look_meanwhile() -> str:
        preparing = asyncio.ensure_future(reviewing.host.prepare_workspace(order))
        await becomes_true((reviewing.tree("code") / "up").exists)
        (kept,) = await reviewing.host.workspaces()
        assert await reviewing.host.prune_workspaces((order.workspace_key,)) == ()
        await reviewing.host.close()
        with pytest.raises(HostUnavailableError):
            await preparing
        return kept.why

    assert reviewing.call(look_meanwhile()) == "it is being prepared or let go of"
    reviewing.restart()
    assert reviewing.kept()["code"].why == "in use by its set-up"
    assert reviewing.prune("code") == []
    assert reviewing.tree("code").exists()


def test_a_worktree_with_submodules_is_kept_as_git_keeps_it(folder: Path) -> None:
    inner = make_repository(folder / "inner")
    repository = make_repository(folder / "outer")
    allowed = ("-c", "protocol.file.allow=always")
    git(repository, *allowed, "submodule", "--quiet", "add", str(inner), "sub")
    git(repository, "commit", "--quiet", "--message", "A submodule")
    with HostReviewBench(folder, repository) as bench:
        bench.prepare_reviewer("without")
        bench.prepare_reviewer("code")
        git(bench.tree("code"), *allowed, "submodule", "--quiet", "update", "--init")
        assert "submodules" in bench.kept()["code"].why
        assert bench.prune("without", "code") == ["without"]


def test_what_cannot_be_read_is_listed_and_left_alone(reviewing: HostReviewBench) -> None:
    reviewing.prepare_reviewer()
    (reviewing.tree("code") / ".git").unlink()
    kept = reviewing.kept()["code"]
    assert (kept.commit, kept.removable) == (None, False)
    assert "no longer a worktree" in kept.why
    assert reviewing.prune("code") == []
    assert reviewing.tree("code").exists()


def test_a_released_worktree_is_listed_no_more(reviewing: HostReviewBench) -> None:
    reviewing.prepare_reviewer()
    assert reviewing.release_reviewer().host_ref["kept"] is False
    assert reviewing.kept() == {}
    assert git(reviewing.repository, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize("gone", ["$PWD/.git", "$PWD"])
def test_an_agent_that_deletes_its_own_worktree_has_failed(
    changed: HostReviewBench, gone: str
) -> None:
    changed.launch(f"steps: [run: 'rm -rf \"{gone}\"']")
    work = changed.until_quiet()
    assert (work.phase, work.runs[0].status) == (WorkPhase.QUIET, HostRunStatus.COMPLETED)
    assert work.failure is not None
    assert work.failure.code == "workspace_unreadable"
    assert work.head_commit is None
