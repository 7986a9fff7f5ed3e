"""Goal: what is frozen is exactly one commit, or nothing, with the reason in plain words."""

import asyncio
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from pointsman.graph.changes import RemoteRef
from pointsman.graph.reviews import Uncommitted
from pointsman.graph.work import Receipt, ReceiptStatus
from pointsman.runtime.hosts.local import LocalHost
from pointsman.runtime.worktrees.frozen import STAT_BYTES_MAX
from tests.harness.host_process import die_at
from tests.harness.host_reviews import OWN_HEAD, REVIEW_SET, HostReviewBench
from tests.harness.hosts import git, make_repository
from tests.harness.tiny_disk import TinyDisk


def own_head(bench: HostReviewBench) -> str:
    return git(bench.workspace, "rev-parse", "HEAD")


def own_hook(bench: HostReviewBench, name: str, text: str) -> None:
    hook = bench.repository / ".git" / "hooks" / name
    hook.write_text(f"#!/bin/sh\n{text}\n")
    hook.chmod(0o755)


def refused(receipt: Receipt) -> tuple[str | None, str]:
    assert receipt.status is ReceiptStatus.REJECTED
    return receipt.reason, receipt.message or ""


def test_the_committed_head_is_frozen_with_its_range(changed: HostReviewBench) -> None:
    receipt = changed.freeze()
    assert receipt.host_ref == {
        "frozen_commit": own_head(changed),
        "base_commit": git(changed.repository, "rev-parse", "main"),
        "diff_stat": " change.txt | 1 +\n 1 file changed, 1 insertion(+)",
        "left_out": "",
        "committed": False,
        "mark": receipt.host_ref["mark"],
    }
    assert changed.frozen() == own_head(changed)


def test_the_range_begins_where_the_change_left_the_base(changed: HostReviewBench) -> None:
    left = git(changed.repository, "rev-parse", "main")
    git(changed.repository, "commit", "--quiet", "--allow-empty", "--message", "Meanwhile")
    assert changed.freeze().host_ref["base_commit"] == left


def test_the_same_order_gets_the_same_commit_for_good(changed: HostReviewBench) -> None:
    first = changed.freeze()
    changed.change("later\n")
    changed.restart()
    assert changed.freeze() == first.model_copy(update={"status": ReceiptStatus.ALREADY})


@pytest.mark.parametrize("what", ["tracked", "staged", "untracked", "overlooked"])
def test_what_is_not_committed_is_refused_and_named(changed: HostReviewBench, what: str) -> None:
    name = "new.txt" if what in ("staged", "untracked") else "change.txt"
    if what == "overlooked":
        git(changed.workspace, "update-index", "--assume-unchanged", name)
    (changed.workspace / name).write_text("not committed\n")
    if what == "staged":
        git(changed.workspace, "add", name)
    reason, message = refused(changed.freeze())
    assert reason == "change_uncommitted"
    assert name in message
    assert changed.frozen() is None


def test_ignored_files_are_no_change(changed: HostReviewBench) -> None:
    changed.change("build/\n", ".gitignore")
    (changed.workspace / "build").mkdir()
    (changed.workspace / "build" / "out").write_text("output")
    assert changed.freeze().status is ReceiptStatus.ACCEPTED


def test_what_is_left_out_is_recorded_when_the_workflow_ignores_it(
    changed: HostReviewBench,
) -> None:
    committed = own_head(changed)
    (changed.workspace / "change.txt").write_text("edited\n")
    (changed.workspace / "ü.txt").write_text("new\n")
    receipt = changed.freeze(uncommitted=Uncommitted.IGNORE)
    assert receipt.host_ref["frozen_commit"] == committed
    assert str(receipt.host_ref["left_out"]).split("\n") == ["change.txt", "ü.txt"]
    assert (changed.workspace / "change.txt").read_text() == "edited\n"


def test_what_is_uncommitted_is_committed_when_the_workflow_says_so(
    changed: HostReviewBench,
) -> None:
    before = own_head(changed)
    (changed.workspace / "change.txt").write_text("edited\n")
    (changed.workspace / "ü.txt").write_text("new\n")
    receipt = changed.freeze(uncommitted=Uncommitted.COMMIT)
    assert receipt.host_ref["committed"] is True
    assert receipt.host_ref["frozen_commit"] == own_head(changed) != before
    assert git(changed.workspace, "rev-parse", "HEAD~") == before
    assert git(changed.workspace, "symbolic-ref", "--short", "HEAD") == OWN_HEAD.branch
    assert git(changed.workspace, "show", "HEAD:ü.txt") == "new"
    assert "uncommitted: commit" in git(changed.workspace, "log", "-1", "--format=%B")


def test_a_repository_within_the_worktree_is_not_committed_as_an_empty_name(
    changed: HostReviewBench,
) -> None:
    make_repository(changed.workspace / "within")
    (changed.workspace / "change.txt").write_text("edited\n")
    before = own_head(changed)
    reason, message = refused(changed.freeze(uncommitted=Uncommitted.COMMIT))
    assert reason == "change_uncommitted"
    assert "within" in message
    assert own_head(changed) == before


def test_nothing_is_committed_where_nothing_is_uncommitted(changed: HostReviewBench) -> None:
    before = own_head(changed)
    receipt = changed.freeze(uncommitted=Uncommitted.COMMIT)
    assert receipt.host_ref["committed"] is False
    assert own_head(changed) == before


@pytest.mark.parametrize("known", [True, False])
def test_pointsman_signs_only_where_git_knows_nobody(
    changed: HostReviewBench, folder: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    git(changed.repository, "config", "user.useConfigOnly", "true")
    if known:
        git(changed.repository, "config", "user.name", "Ada")
        git(changed.repository, "config", "user.email", "ada@pointsman.invalid")
    (changed.workspace / "change.txt").write_text("edited\n")
    changed.freeze(uncommitted=Uncommitted.COMMIT)
    author = git(changed.workspace, "log", "-1", "--format=%an")
    assert author == ("Ada" if known else "Pointsman")


def test_a_hook_that_refuses_the_commit_is_told(changed: HostReviewBench) -> None:
    before = own_head(changed)
    own_hook(changed, "pre-commit", "echo no tests, no commit >&2; exit 1")
    (changed.workspace / "change.txt").write_text("edited\n")
    reason, message = refused(changed.freeze(uncommitted=Uncommitted.COMMIT))
    assert reason == "git_failed"
    assert "no tests, no commit" in message
    assert own_head(changed) == before


def test_what_a_hook_changes_after_the_commit_is_refused(changed: HostReviewBench) -> None:
    own_hook(changed, "post-commit", "echo formatted > change.txt")
    (changed.workspace / "change.txt").write_text("edited\n")
    reason, message = refused(changed.freeze(uncommitted=Uncommitted.COMMIT))
    assert reason == "change_uncommitted"
    assert "change.txt" in message


@pytest.mark.parametrize(
    "point",
    ["after the claim", "before the commit", "after the commit", "after the freezing"],
)
def test_a_freezing_killed_at_any_point_commits_once(changed: HostReviewBench, point: str) -> None:
    before = own_head(changed)
    (changed.workspace / "change.txt").write_text("edited\n")
    order = changed.freeze_order(uncommitted=Uncommitted.COMMIT)
    die_at(changed.data, point, order)
    receipt = changed.call(changed.host.freeze_change(order))
    assert receipt.host_ref["committed"] is True
    assert receipt.host_ref["frozen_commit"] == own_head(changed) == changed.frozen()
    assert git(changed.workspace, "rev-list", "--count", f"{before}..HEAD") == "1"


@pytest.mark.parametrize("leave", [("--detach",), ("-b", "elsewhere")])
def test_a_head_that_left_the_runs_branch_is_refused(
    changed: HostReviewBench, leave: tuple[str, ...]
) -> None:
    git(changed.workspace, "checkout", "--quiet", *leave)
    reason, message = refused(changed.freeze())
    assert reason == "branch_changed"
    assert str(OWN_HEAD.branch) in message


@pytest.mark.parametrize("what", ["merge", "rebase"])
def test_an_unfinished_merge_or_rebase_is_refused(changed: HostReviewBench, what: str) -> None:
    git(changed.workspace, "branch", "other", "main")
    (changed.repository / "change.txt").write_text("theirs\n")
    git(changed.repository, "add", "--all")
    git(changed.repository, "commit", "--quiet", "--message", "Theirs")
    with suppress(subprocess.CalledProcessError):
        git(changed.workspace, what, "main")
    reason, message = refused(changed.freeze())
    assert reason == "workspace_unfinished"
    assert what in message


@pytest.mark.parametrize("damage", ["never made", "no folder", "no link", "another repository"])
def test_a_worktree_that_is_not_there_is_refused(reviewing: HostReviewBench, damage: str) -> None:
    if damage != "never made":
        reviewing.prepare()
        reviewing.change()
        subprocess.run(["rm", "-r", reviewing.workspace / ".git"], check=True)
    if damage == "no folder":
        subprocess.run(["rm", "-r", reviewing.workspace], check=True)
    if damage == "another repository":
        git(reviewing.workspace, "init", "--quiet")
    assert refused(reviewing.freeze())[0] == "workspace_missing"


def test_a_change_without_commits_is_refused(reviewing: HostReviewBench) -> None:
    reviewing.prepare()
    assert refused(reviewing.freeze())[0] == "change_empty"
    assert reviewing.frozen() is None


def test_a_change_without_common_history_is_refused(changed: HostReviewBench) -> None:
    git(changed.repository, "checkout", "--quiet", "--orphan", "alone")
    git(changed.repository, "commit", "--quiet", "--message", "Alone")
    assert refused(changed.freeze(base="alone"))[0] == "change_unrelated"


def test_a_base_that_is_gone_is_refused(changed: HostReviewBench) -> None:
    order = changed.freeze_order().model_copy(update={"base_commit": "1" * 40})
    receipt = changed.call(changed.host.freeze_change(order))
    assert refused(receipt)[0] == "commit_missing"


def test_a_repository_that_is_gone_is_refused(changed: HostReviewBench) -> None:
    order = changed.freeze_order()
    changed.repository.rename(changed.repository.with_name("moved"))
    receipt = changed.call(changed.host.freeze_change(order))
    assert refused(receipt)[0] == "git_failed"
    changed.repository.with_name("moved").rename(changed.repository)


def test_the_summary_of_a_large_change_stays_short(changed: HostReviewBench) -> None:
    for number in range(300):
        (changed.workspace / f"{'ü' * 60}-{number}.txt").write_text("x\n")
    changed.change()
    stat = str(changed.freeze().host_ref["diff_stat"])
    assert len(stat.encode()) <= STAT_BYTES_MAX
    assert len(stat.split("\n")) <= 52
    assert "301 files changed" in stat.split("\n")[-1]


def test_two_review_sets_are_kept_apart(changed: HostReviewBench) -> None:
    first = changed.freeze().host_ref["frozen_commit"]
    second = changed.change("again\n")
    other = REVIEW_SET.replace(".1", ".2")
    assert changed.freeze(review_set=other).host_ref["frozen_commit"] == second
    assert (changed.frozen(), changed.frozen(other)) == (first, second)


@pytest.mark.parametrize("uncommitted", [Uncommitted.COMMIT, Uncommitted.REFUSE])
def test_a_full_disk_is_told_as_such(
    folder: Path, tiny_disk: TinyDisk, uncommitted: Uncommitted
) -> None:
    with HostReviewBench(folder, make_repository(tiny_disk.folder / "repository")) as bench:
        bench.prepare()
        bench.change()
        if uncommitted is Uncommitted.COMMIT:
            (bench.workspace / "change.txt").write_bytes(os.urandom(400_000))
        tiny_disk.fill()
        assert refused(bench.freeze(uncommitted=uncommitted))[0] == "disk_full"
        assert bench.frozen() is None


def test_two_hosts_at_once_commit_and_freeze_once(changed: HostReviewBench) -> None:
    before = own_head(changed)
    (changed.workspace / "change.txt").write_text("edited\n")
    order = changed.freeze_order(uncommitted=Uncommitted.COMMIT)

    async def race() -> list[Receipt]:
        other = LocalHost(changed.data, lambda _: None, {})
        receipts = await asyncio.gather(
            changed.host.freeze_change(order), other.freeze_change(order)
        )
        await other.close()
        return sorted(receipts, key=lambda receipt: receipt.status)

    first, second = changed.call(race())
    assert (first.status, second.status) == (ReceiptStatus.ACCEPTED, ReceiptStatus.ALREADY)
    assert first.host_ref == second.host_ref
    assert git(changed.workspace, "rev-list", "--count", f"{before}..HEAD") == "1"


def test_a_branch_of_the_repository_itself_is_frozen(reviewing: HostReviewBench) -> None:
    git(reviewing.repository, "checkout", "--quiet", "-b", "topic")
    git(reviewing.repository, "commit", "--quiet", "--allow-empty", "--message", "Topic")
    before = git(reviewing.repository, "for-each-ref", "refs/heads", "refs/remotes", "refs/tags")
    receipt = reviewing.freeze(RemoteRef(ref="refs/heads/topic"))
    topic = git(reviewing.repository, "rev-parse", "topic")
    assert receipt.host_ref["frozen_commit"] == topic == reviewing.frozen()
    refs = git(reviewing.repository, "for-each-ref", "refs/heads", "refs/remotes", "refs/tags")
    assert refs == before
    assert not (reviewing.repository / ".git" / "FETCH_HEAD").exists()
