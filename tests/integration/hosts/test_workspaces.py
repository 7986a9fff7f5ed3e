"""Goal: a worktree is made once a key, adopted after a crash, and nothing in it is ever lost."""

import asyncio
import shutil
from pathlib import Path

import pytest

from pointsman.graph.work import ReceiptStatus
from pointsman.runtime.worktrees.workspaces import Workspace, WorkspaceState
from tests.harness.hosts import RUN, WORKSPACE, LocalBench, git, make_repository, work_below

BRANCH = f"pointsman/{RUN}"


def record(bench: LocalBench) -> Path:
    return bench.data / "host" / "workspaces" / f"{bench.workspace.name}.json"


def forget_receipt(bench: LocalBench) -> None:
    """Put the host back to where a crash before the receipt would have left it."""
    (bench.data / "host" / "effects").joinpath(f"wf_3a{RUN}_3aprepare.json").unlink()


def put_back(bench: LocalBench, state: WorkspaceState) -> None:
    known = Workspace.model_validate_json(record(bench).read_bytes())
    record(bench).write_text(known.model_copy(update={"state": state}).model_dump_json())
    forget_receipt(bench)


def test_a_worktree_is_made_outside_the_repository_on_its_own_branch(bench: LocalBench) -> None:
    receipt = bench.prepare()
    assert receipt.host_ref == {
        "path": str(bench.workspace),
        "head_commit": git(bench.repository, "rev-parse", "HEAD"),
        "branch": BRANCH,
    }
    assert not bench.workspace.is_relative_to(bench.repository)
    assert git(bench.workspace, "symbolic-ref", "--short", "HEAD") == BRANCH
    assert git(bench.repository, "status", "--porcelain") == ""


def test_a_second_preparation_under_the_key_answers_the_first(bench: LocalBench) -> None:
    first = bench.prepare()
    assert bench.prepare() == first.model_copy(update={"status": ReceiptStatus.ALREADY})


def test_a_worktree_starts_at_the_given_commit_not_at_the_head(bench: LocalBench) -> None:
    order = bench.prepare_order()
    git(bench.repository, "commit", "--quiet", "--allow-empty", "--message", "Later")
    bench.call(bench.host.prepare_workspace(order))
    assert git(bench.workspace, "rev-parse", "HEAD") == order.base_commit


def test_a_whole_worktree_without_a_receipt_is_adopted(ready: LocalBench) -> None:
    put_back(ready, WorkspaceState.MAKING)
    inode = ready.workspace.stat().st_ino
    assert ready.prepare().status is ReceiptStatus.ACCEPTED
    assert ready.workspace.stat().st_ino == inode


@pytest.mark.parametrize("damage", ["no files", "no link", "no folder", "locked", "index lock"])
def test_a_half_made_worktree_is_made_again(ready: LocalBench, damage: str) -> None:
    put_back(ready, WorkspaceState.MAKING)
    match damage:
        case "no files":
            (ready.workspace / "README.md").unlink()
        case "no link":
            (ready.workspace / ".git").unlink()
        case "no folder":
            shutil.rmtree(ready.workspace)
        case "locked":
            git(ready.repository, "worktree", "lock", str(ready.workspace))
            (ready.workspace / "README.md").unlink()
        case "index lock":
            own = git(ready.workspace, "rev-parse", "--absolute-git-dir")
            Path(own, "index.lock").touch()
            (ready.workspace / "README.md").unlink()
        case _:
            raise AssertionError(damage)
    assert ready.prepare().status is ReceiptStatus.ACCEPTED
    assert (ready.workspace / "README.md").read_text() == "sample\n"
    assert git(ready.workspace, "symbolic-ref", "--short", "HEAD") == BRANCH
    assert git(ready.workspace, "status", "--porcelain") == ""


def test_a_worktree_with_work_in_it_is_never_made_again(ready: LocalBench) -> None:
    put_back(ready, WorkspaceState.READY)
    (ready.workspace / "work.txt").write_text("hours of it")
    (ready.workspace / ".git").unlink()
    receipt = ready.prepare()
    assert (receipt.status, receipt.reason) == (ReceiptStatus.REJECTED, "workspace_foreign")
    assert (ready.workspace / "work.txt").read_text() == "hours of it"


def test_a_foreign_folder_is_refused_and_left_alone(bench: LocalBench) -> None:
    bench.workspace.mkdir(parents=True)
    (bench.workspace / "theirs.txt").write_text("theirs")
    receipt = bench.prepare()
    assert receipt.reason == "workspace_foreign"
    assert [path.name for path in bench.workspace.iterdir()] == ["theirs.txt"]


def test_a_foreign_branch_is_refused_and_left_alone(bench: LocalBench) -> None:
    git(bench.repository, "branch", BRANCH)
    receipt = bench.prepare()
    assert receipt.reason == "workspace_foreign"
    assert not bench.workspace.exists()


def test_a_commit_that_is_not_there_is_refused(bench: LocalBench) -> None:
    order = bench.prepare_order().model_copy(update={"base_commit": "0" * 40})
    receipt = bench.call(bench.host.prepare_workspace(order))
    assert receipt.reason == "commit_missing"


def test_a_failing_hook_of_the_repository_is_told(bench: LocalBench) -> None:
    hook = bench.repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho the hook objects >&2\nexit 1\n")
    hook.chmod(0o755)
    receipt = bench.prepare()
    assert receipt.reason == "git_failed"
    assert "the hook objects" in (receipt.message or "")


def test_many_worktrees_of_one_repository_are_made_at_once(bench: LocalBench) -> None:
    first = bench.prepare_order()
    orders = [
        first.model_copy(
            update={
                "intent_id": f"wf:{number}:prepare",
                "workspace_key": f"wf:{number}:primary",
                "branch": f"pointsman/{number}",
            }
        )
        for number in range(6)
    ]

    async def all_at_once() -> list[ReceiptStatus]:
        receipts = await asyncio.gather(*map(bench.host.prepare_workspace, orders))
        return [receipt.status for receipt in receipts]

    assert bench.call(all_at_once()) == [ReceiptStatus.ACCEPTED] * 6


def test_a_linked_worktree_can_be_the_repository(folder: Path) -> None:
    main = make_repository(folder / "main")
    git(main, "worktree", "add", "--quiet", "--detach", str(folder / "linked"))
    with LocalBench(folder, folder / "linked") as bench:
        assert bench.prepare().status is ReceiptStatus.ACCEPTED


def test_a_clean_worktree_is_removed_and_its_branch_is_kept(ready: LocalBench) -> None:
    (ready.workspace / "a.txt").write_text("a")
    git(ready.workspace, "add", "a.txt")
    git(ready.workspace, "commit", "--quiet", "--message", "Add a")
    commit = git(ready.workspace, "rev-parse", "HEAD")
    receipt = ready.release()
    assert receipt.host_ref == {"kept": False, "why": "clean"}
    assert not ready.workspace.exists()
    assert git(ready.repository, "rev-parse", BRANCH) == commit
    assert ready.release("again").host_ref == {"kept": False, "why": "absent"}


@pytest.mark.parametrize("change", ["tracked", "staged", "untracked", "merge", "detached"])
def test_a_worktree_with_something_to_lose_is_kept(ready: LocalBench, change: str) -> None:
    match change:
        case "tracked":
            (ready.workspace / "README.md").write_text("changed\n")
        case "staged":
            (ready.workspace / "staged.txt").write_text("staged\n")
            git(ready.workspace, "add", "staged.txt")
        case "untracked":
            (ready.workspace / "new.txt").write_text("new\n")
        case "merge":
            own = git(ready.workspace, "rev-parse", "--absolute-git-dir")
            head = git(ready.workspace, "rev-parse", "HEAD")
            Path(own, "MERGE_HEAD").write_text(f"{head}\n")
        case "detached":
            git(ready.workspace, "checkout", "--quiet", "--detach")
            git(ready.workspace, "commit", "--quiet", "--allow-empty", "--message", "Lost?")
        case _:
            raise AssertionError(change)
    receipt = ready.release()
    assert receipt.host_ref["kept"] is True
    assert ready.workspace.exists()


def test_ignored_files_do_not_keep_a_worktree(folder: Path) -> None:
    repository = make_repository(folder / "ignoring", {".gitignore": "build/\n"})
    with LocalBench(folder, repository) as bench:
        bench.prepare()
        (bench.workspace / "build").mkdir()
        (bench.workspace / "build" / "out.o").write_text("object")
        assert bench.release().host_ref["kept"] is False


def test_a_worktree_in_which_an_agent_works_is_kept(ready: LocalBench) -> None:
    ready.launch("steps: [hang]")
    receipt = ready.release()
    assert receipt.host_ref == {"kept": True, "why": "work is going on in it"}
    ready.interrupt()
    assert work_below(ready.data) == []
    assert ready.release("again").host_ref["kept"] is False


def test_other_peoples_missing_worktrees_stay_registered(ready: LocalBench) -> None:
    away = ready.data.parent / "on-an-unmounted-disk"
    git(ready.repository, "worktree", "add", "--quiet", "--detach", str(away))
    shutil.move(away, away.with_name("moved"))
    put_back(ready, WorkspaceState.MAKING)
    (ready.workspace / "README.md").unlink()
    assert ready.prepare().status is ReceiptStatus.ACCEPTED
    assert away.name in git(ready.repository, "worktree", "list")


def test_the_key_alone_decides_the_path(bench: LocalBench) -> None:
    bench.prepare()
    assert bench.workspace.name == WORKSPACE.replace(":", "_3a")
