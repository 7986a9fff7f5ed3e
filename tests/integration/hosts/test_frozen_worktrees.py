"""Goal: every reviewer gets a worktree of its own at exactly the frozen commit, made once."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from pointsman.graph.work import HostRunStatus, ReceiptStatus
from tests.harness.host_process import die_at
from tests.harness.host_reviews import HostReviewBench
from tests.harness.hosts import NOWHERE, LocalBench, git, make_repository, setup_of
from tests.harness.tiny_disk import TinyDisk

NAMES = tuple(f"branch-{number}" for number in range(8))


def worktrees(bench: LocalBench) -> list[str]:
    return git(bench.repository, "worktree", "list", "--porcelain").split("\n\n")


def entries(bench: LocalBench) -> int:
    folder = bench.repository / ".git" / "worktrees"
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def test_a_reviewers_worktree_is_detached_at_the_commit(reviewing: HostReviewBench) -> None:
    commit = git(reviewing.repository, "rev-parse", "HEAD")
    git(reviewing.repository, "commit", "--quiet", "--allow-empty", "--message", "Later")
    order = reviewing.reviewer_order("code", commit)
    receipt = reviewing.call(reviewing.host.prepare_workspace(order))
    tree = reviewing.tree("code")
    assert receipt.host_ref == {"path": str(tree), "head_commit": commit}
    assert not tree.is_relative_to(reviewing.repository)
    assert git(tree, "rev-parse", "HEAD") == commit
    assert git(tree, "branch", "--show-current") == ""
    assert git(reviewing.repository, "branch", "--list", "pointsman/*") == ""


def test_eight_at_once_get_eight_worktrees_and_leave_nothing_else(
    reviewing: HostReviewBench,
) -> None:
    commit = git(reviewing.repository, "rev-parse", "HEAD")
    before = git(reviewing.repository, "for-each-ref")
    orders = [reviewing.reviewer_order(name, commit) for name in NAMES]

    async def all_at_once() -> list[ReceiptStatus]:
        receipts = await asyncio.gather(*map(reviewing.host.prepare_workspace, orders))
        return [receipt.status for receipt in receipts]

    assert reviewing.call(all_at_once()) == [ReceiptStatus.ACCEPTED] * 8
    assert len({os.stat(reviewing.tree(name)).st_ino for name in NAMES}) == 8
    assert {git(reviewing.tree(name), "rev-parse", "HEAD") for name in NAMES} == {commit}
    assert (entries(reviewing), len(worktrees(reviewing))) == (8, 9)
    assert git(reviewing.repository, "for-each-ref") == before


@pytest.mark.parametrize(
    "point",
    [
        "before the claim",
        "after the claim",
        "before the worktree is begun",
        "after the worktree is begun",
        "after git has added it",
        "after the worktree",
        "before the receipt",
    ],
)
def test_a_preparation_killed_at_any_point_adopts_the_same_folder(
    reviewing: HostReviewBench, point: str
) -> None:
    commit = git(reviewing.repository, "rev-parse", "HEAD")
    order = reviewing.reviewer_order("code", commit, setup_of("echo done > prepared"))
    die_at(reviewing.data, point, order)
    tree = reviewing.tree("code")
    inode = tree.stat().st_ino if tree.exists() else None
    receipt = reviewing.call(reviewing.host.prepare_workspace(order))
    assert (receipt.status, receipt.host_ref["path"]) == (ReceiptStatus.ACCEPTED, str(tree))
    assert inode in (None, tree.stat().st_ino)
    assert (tree / "prepared").read_text() == "done\n"
    assert (entries(reviewing), len(worktrees(reviewing))) == (1, 2)


def test_git_killed_within_its_work_leaves_nothing_behind(reviewing: HostReviewBench) -> None:
    commit = git(reviewing.repository, "rev-parse", "HEAD")
    hook = reviewing.repository / ".git" / "hooks" / "post-checkout"
    # The worktree is there by then, and the host and git die before they can say so.
    hook.write_text(
        '#!/bin/sh\n[ -e "$(dirname "$0")/done" ] && exit 0\n'
        'touch "$(dirname "$0")/done"; echo half > README.md\n'
        "kill -KILL $(ps -o ppid= -p $PPID) $PPID\n"
    )
    hook.chmod(0o755)
    order = reviewing.reviewer_order("code", commit)
    die_at(reviewing.data, "never", order)
    assert (reviewing.tree("code") / "README.md").read_text() == "half\n"
    reviewing.prepare_reviewer("code", commit)
    assert (reviewing.tree("code") / "README.md").read_text() == "sample\n"
    assert (entries(reviewing), len(worktrees(reviewing))) == (1, 2)


def test_a_hook_that_leaves_something_running_keeps_nobody_waiting(
    reviewing: HostReviewBench,
) -> None:
    hook = reviewing.repository / ".git" / "hooks" / "post-checkout"
    hook.write_text("#!/bin/sh\ntail -f /dev/null &\n")
    hook.chmod(0o755)
    commit = reviewing.prepare_reviewer("code")
    assert reviewing.verify(commit).changed == ()
    # Letting go of the worktree ends it.
    assert reviewing.release_reviewer().host_ref["kept"] is False


def test_a_preparation_asked_again_returns_the_worktree_there_is(
    reviewing: HostReviewBench,
) -> None:
    order = reviewing.reviewer_order("code", git(reviewing.repository, "rev-parse", "HEAD"))
    first = reviewing.call(reviewing.host.prepare_workspace(order))
    (reviewing.tree("code") / "note.txt").write_text("kept")
    again = reviewing.call(reviewing.host.prepare_workspace(order))
    assert again == first.model_copy(update={"status": ReceiptStatus.ALREADY})
    assert (reviewing.tree("code") / "note.txt").read_text() == "kept"


def test_a_foreign_folder_in_its_place_is_left_alone(reviewing: HostReviewBench) -> None:
    tree = reviewing.tree("code")
    tree.mkdir(parents=True)
    (tree / "theirs.txt").write_text("theirs")
    order = reviewing.reviewer_order("code", git(reviewing.repository, "rev-parse", "HEAD"))
    receipt = reviewing.call(reviewing.host.prepare_workspace(order))
    assert receipt.reason == "workspace_foreign"
    assert [path.name for path in tree.iterdir()] == ["theirs.txt"]
    assert entries(reviewing) == 0


def test_work_in_the_runs_own_worktree_reaches_no_reviewer(reviewing: HostReviewBench) -> None:
    reviewing.prepare()
    commit = reviewing.change()
    reviewing.prepare_reviewer("code", commit)
    reviewing.change("changed again\n")
    (reviewing.workspace / "README.md").write_text("edited\n")
    assert (reviewing.tree("code") / "change.txt").read_text() == "changed\n"
    assert git(reviewing.tree("code"), "rev-parse", "HEAD") == commit
    assert git(reviewing.tree("code"), "status", "--porcelain") == ""


def test_a_reviewer_works_in_its_worktree_and_may_not_edit(reviewing: HostReviewBench) -> None:
    reviewing.prepare_reviewer("code")
    script = reviewing.script(
        "steps: [{run: 'git rev-parse HEAD > ../seen'}, {write: {path: a, text: b}}]"
    )
    reviewing.call(reviewing.host.launch(reviewing.review_order(script), NOWHERE))
    work = reviewing.until_quiet(reviewing.attempt("code"))
    assert work.runs[0].status is HostRunStatus.FAILED
    assert work.failure is not None
    assert "denied in review mode: write a" in work.failure.message
    assert (reviewing.tree("code").parent / "seen").exists()
    assert not (reviewing.tree("code") / "a").exists()


def test_a_reviewers_shell_can_disobey_and_is_found_out(reviewing: HostReviewBench) -> None:
    commit = reviewing.prepare_reviewer("code")
    milestone = reviewing.data / "milestone"
    script = reviewing.script(
        f"branches: {{code: [{{touch: '{milestone}'}}, {{run: echo mine > README.md}}]}}"
    )
    reviewing.call(reviewing.host.launch(reviewing.review_order(script), NOWHERE))
    assert reviewing.until_quiet(reviewing.attempt("code")).failure is None
    assert milestone.exists()
    assert reviewing.verify(commit).changed == ("README.md",)


def test_submodules_large_file_pointers_and_odd_names_are_checked_out(folder: Path) -> None:
    inner = make_repository(folder / "inner")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"
    files = {"ü/仕事.txt": "a", "big.bin": pointer, ".gitattributes": "*.bin filter=lfs -text\n"}
    repository = make_repository(folder / "outer", files)
    allowed = ("-c", "protocol.file.allow=always")
    git(repository, *allowed, "submodule", "--quiet", "add", str(inner), "sub")
    git(repository, "commit", "--quiet", "--message", "A submodule")
    git(repository, "checkout", "--quiet", "--detach")
    with HostReviewBench(folder, repository) as bench:
        commit = bench.prepare_reviewer("code")
        assert (bench.tree("code") / "ü" / "仕事.txt").read_text() == "a"
        assert (bench.tree("code") / "big.bin").read_text() == pointer
        checkout = bench.verify(commit)
        assert (checkout.top_level, checkout.head_commit) == (True, commit)
        assert (checkout.changed, checkout.staged, checkout.unreadable) == ((), (), None)
        (bench.tree("code") / "ü" / "仕事.txt").write_text("b")
        assert bench.verify(commit).changed == ("ü/仕事.txt",)
        assert bench.release_reviewer().host_ref["kept"] is True


def test_a_missing_large_file_filter_is_told(folder: Path) -> None:
    repository = make_repository(folder / "lfs", {"big.bin": "pointer\n"})
    (repository / ".gitattributes").write_text("*.bin filter=lfs -text\n")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "Attributes")
    git(repository, "config", "filter.lfs.smudge", "no-such-git-lfs smudge -- %f")
    git(repository, "config", "filter.lfs.required", "true")
    with HostReviewBench(folder, repository) as bench:
        order = bench.reviewer_order("code", git(repository, "rev-parse", "HEAD"))
        receipt = bench.call(bench.host.prepare_workspace(order))
        assert receipt.reason == "git_failed"
        assert "no-such-git-lfs" in (receipt.message or "")


@pytest.mark.parametrize("point", ["git refuses it", "after the worktree is begun"])
def test_a_worktree_that_never_came_to_stand_keeps_no_frozen_commit(
    changed: HostReviewBench, point: str
) -> None:
    commit = changed.freeze().host_ref["frozen_commit"]
    order = changed.reviewer_order("code", str(commit))
    if point == "git refuses it":
        (changed.repository / ".git" / "info" / "attributes").write_text("* filter=broken\n")
        git(changed.repository, "config", "filter.broken.smudge", "false")
        git(changed.repository, "config", "filter.broken.required", "true")
        assert changed.call(changed.host.prepare_workspace(order)).reason == "git_failed"
        git(changed.repository, "config", "--remove-section", "filter.broken")
    else:
        die_at(changed.data, point, order)
    assert changed.release_reviewer().host_ref == {"kept": False, "why": "half made"}
    assert changed.frozen() == commit
    changed.release()
    assert changed.frozen() is None


@pytest.mark.slow
def test_twenty_thousand_files_are_checked_out_and_compared(folder: Path) -> None:
    files = {f"src/{number % 100}/{number}.txt": f"{number}\n" for number in range(20_000)}
    with HostReviewBench(folder, make_repository(folder / "large", files)) as bench:
        commit = bench.prepare_reviewer("code")
        assert bench.verify(commit).changed == ()
        (bench.tree("code") / "src" / "7" / "19907.txt").write_text("other\n")
        assert bench.verify(commit).changed == ("src/7/19907.txt",)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_that_git_does_not_trust_is_told_as_such(changed: HostReviewBench) -> None:
    commit = changed.prepare_reviewer("code")
    order = changed.reviewer_order("other", commit)
    freezing = changed.freeze_order()
    for path in (changed.repository, changed.repository / ".git"):
        shutil.chown(path, user=65_534)
    for receipt in (
        changed.call(changed.host.prepare_workspace(order)),
        changed.call(changed.host.freeze_change(freezing)),
    ):
        assert receipt.reason == "git_failed"
        assert "dubious ownership" in (receipt.message or "")
    assert "dubious ownership" in (changed.verify(commit).unreadable or "")
    assert "dubious ownership" in (changed.head().unavailable or "")
    assert "dubious ownership" in changed.kept()["code"].why


def test_what_git_wrote_before_it_died_is_cleared_away(reviewing: HostReviewBench) -> None:
    commit = git(reviewing.repository, "rev-parse", "HEAD")
    die_at(reviewing.data, "after the worktree is begun", reviewing.reviewer_order("code", commit))
    # So git leaves it if it dies before it has written where the worktree lies.
    begun = reviewing.repository / ".git" / "worktrees" / reviewing.tree("code").name
    begun.mkdir(parents=True)
    (begun / "locked").write_text("initializing\n")
    reviewing.prepare_reviewer("code", commit)
    assert (entries(reviewing), len(worktrees(reviewing))) == (1, 2)


def test_a_full_disk_is_told_and_leaves_no_half_made_worktree(
    folder: Path, tiny_disk: TinyDisk
) -> None:
    with HostReviewBench(folder, make_repository(tiny_disk.folder / "repository")) as bench:
        commit = git(bench.repository, "rev-parse", "HEAD")
        tiny_disk.fill()
        order = bench.reviewer_order("code", commit)
        assert bench.call(bench.host.prepare_workspace(order)).reason == "disk_full"
        tiny_disk.clear()
        again = order.model_copy(update={"intent_id": "again"})
        assert bench.call(bench.host.prepare_workspace(again)).status is ReceiptStatus.ACCEPTED
        assert (entries(bench), len(worktrees(bench))) == (1, 2)
