"""Goal: no edit of a reviewer stays hidden, and what was never part of the input is tolerated."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.graph.evidence import PATHS_MAX, Checkout, misfit
from tests.harness.host_reviews import HostReviewBench
from tests.harness.hosts import git, make_repository

FILES = {"README.md": "sample\n", "src/main.py": "print(1)\n", ".gitignore": "build/\n"}


@pytest.fixture
def bench(folder: Path) -> Iterator[HostReviewBench]:
    repository = make_repository(folder / "repository", FILES)
    with HostReviewBench(folder, repository) as made:
        yield made


def own_folder(tree: Path) -> Path:
    return Path(git(tree, "rev-parse", "--absolute-git-dir"))


def same_size_same_times(path: Path, text: str) -> None:
    """Edit a file so that neither its size nor its modification time tells."""
    before = path.stat()
    path.write_text(text)
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_fresh_worktree_is_what_was_frozen(bench: HostReviewBench) -> None:
    commit = bench.prepare_reviewer()
    assert bench.verify(commit) == Checkout(head_commit=commit, top_level=True)
    assert misfit(bench.verify(commit), commit) is None


@pytest.mark.parametrize("edit", ["edit", "delete", "executable", "link", "folder", "pipe"])
def test_an_edited_file_is_named(bench: HostReviewBench, edit: str) -> None:
    commit = bench.prepare_reviewer()
    path = bench.tree("code") / "README.md"
    match edit:
        case "edit":
            path.write_text("edited\n")
        case "delete":
            path.unlink()
        case "executable":
            path.chmod(0o755)
        case "link":
            path.unlink()
            path.symlink_to("src/main.py")
        case "folder":
            path.unlink()
            path.mkdir()
        case _:
            # Who reads it waits until somebody writes.
            path.unlink()
            os.mkfifo(path)
    checkout = bench.verify(commit)
    assert (checkout.changed, checkout.staged) == (("README.md",), ())
    assert "README.md" in (misfit(checkout, commit) or "")


@pytest.mark.parametrize(
    "hide",
    [
        "assume-unchanged",
        "skip-worktree",
        "sparse",
        "times",
        "ignoreStat",
        "watcher",
        "work tree",
        "replaced commit",
    ],
)
def test_a_hidden_edit_is_found(bench: HostReviewBench, hide: str) -> None:
    commit = bench.prepare_reviewer()
    tree = bench.tree("code")
    path = tree / "README.md"
    git(tree, "status")  # git remembers times and sizes
    match hide:
        case "assume-unchanged" | "skip-worktree":
            git(tree, "update-index", f"--{hide}", "README.md")
        case "sparse":
            git(tree, "sparse-checkout", "set", "--no-cone", "/src", "/.gitignore")
        case "ignoreStat":
            git(tree, "config", "core.ignoreStat", "true")
            git(tree, "update-index", "--refresh")
        case "watcher":
            watcher = tree.parent / "watcher"
            watcher.write_text("#!/bin/sh\nprintf 'token\\0'\n")
            watcher.chmod(0o755)
            git(tree, "config", "core.fsmonitor", str(watcher))
            git(tree, "status")
        case "work tree":
            shutil.copytree(tree, tree.parent / "copy")
            git(bench.repository, "config", "extensions.worktreeConfig", "true")
            git(tree, "config", "--worktree", "core.worktree", str(tree.parent / "copy"))
        case "replaced commit":
            path.write_text("edited\n")
            git(tree, "commit", "--quiet", "--all", "--message", "Edited")
            git(tree, "replace", commit, "HEAD")
            git(tree, "reset", "--quiet", "--soft", commit)
        case _:
            pass
    if hide == "times":
        same_size_same_times(path, "SAMPLE\n")
    else:
        path.write_text("edited\n")
    assert bench.verify(commit).changed == ("README.md",)


def test_an_edit_that_git_itself_overlooks_is_found(bench: HostReviewBench) -> None:
    commit = bench.prepare_reviewer()
    tree = bench.tree("code")
    git(tree, "config", "core.trustctime", "false")
    git(tree, "config", "core.checkStat", "minimal")
    old = (tree / "README.md").stat().st_mtime_ns - 10**10
    os.utime(tree / "README.md", ns=(old, old))
    git(tree, "status")
    same_size_same_times(tree / "README.md", "SAMPLE\n")
    assert git(tree, "status", "--porcelain") == ""
    assert bench.verify(commit).changed == ("README.md",)


@pytest.mark.parametrize("place", ["", "src/", "build/"])
def test_attributes_of_a_reviewers_own_excuse_no_edit(bench: HostReviewBench, place: str) -> None:
    commit = bench.prepare_reviewer()
    tree = bench.tree("code")
    (tree / place).mkdir(exist_ok=True)
    (tree / place / ".gitattributes").write_text("* text eol=crlf\n")
    if place != "build/":
        edited = tree / place / ("main.py" if place else "README.md")
        edited.write_bytes(edited.read_bytes().replace(b"\n", b"\r\n"))
    with open(bench.repository / ".git" / "info" / "exclude", "a") as excluded:
        excluded.write(".gitattributes\n")
    # Beside no tracked file they are build output like any other.
    expected = () if place == "build/" else (f"{place}.gitattributes",)
    assert bench.verify(commit).changed == expected


def test_a_staged_edit_is_named_even_if_the_file_was_put_back(bench: HostReviewBench) -> None:
    commit = bench.prepare_reviewer()
    tree = bench.tree("code")
    (tree / "README.md").write_text("edited\n")
    (tree / "new.txt").write_text("new\n")
    git(tree, "add", "--all")
    (tree / "README.md").write_text("sample\n")
    checkout = bench.verify(commit)
    assert (checkout.changed, checkout.staged) == ((), ("README.md", "new.txt"))


def test_a_commit_or_a_branch_of_the_reviewer_is_told(bench: HostReviewBench) -> None:
    commit = bench.prepare_reviewer()
    tree = bench.tree("code")
    git(tree, "checkout", "--quiet", "-b", "mine")
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "Mine")
    checkout = bench.verify(commit)
    assert (checkout.branch, checkout.top_level) == ("mine", True)
    assert checkout.head_commit == git(tree, "rev-parse", "HEAD") != commit
    assert f"not at {commit}" in (misfit(checkout, commit) or "")


def test_ignored_and_untracked_output_is_tolerated(bench: HostReviewBench) -> None:
    commit = bench.prepare_reviewer()
    (bench.tree("code") / "build").mkdir()
    (bench.tree("code") / "build" / "out.o").write_text("object")
    (bench.tree("code") / "notes.txt").write_text("notes")
    checkout = bench.verify(commit)
    assert checkout.untracked == 1
    assert misfit(checkout, commit) is None


def test_what_a_sparse_checkout_leaves_out_is_no_deletion(bench: HostReviewBench) -> None:
    git(bench.repository, "sparse-checkout", "set", "--no-cone", "/README.md", "/.gitignore")
    commit = bench.prepare_reviewer()
    tree = bench.tree("code")
    assert not (tree / "src").exists()
    assert bench.verify(commit).changed == ()
    git(tree, "update-index", "--skip-worktree", "README.md")
    (tree / "README.md").unlink()
    assert bench.verify(commit).changed == ("README.md",)
    (tree / "src").mkdir()
    (tree / "src" / "main.py").write_text("print(2)\n")
    assert bench.verify(commit).changed == ("README.md", "src/main.py")


def test_line_ends_that_git_converts_are_no_edit(folder: Path) -> None:
    files = {".gitattributes": "*.bat text eol=crlf\n", "a.bat": "echo\n"}
    with HostReviewBench(folder, make_repository(folder / "repository", files)) as bench:
        commit = bench.prepare_reviewer()
        assert (bench.tree("code") / "a.bat").read_bytes() == b"echo\r\n"
        assert bench.verify(commit).changed == ()


def test_a_file_committed_against_its_attributes_is_no_edit(folder: Path) -> None:
    repository = make_repository(folder / "repository")
    for name in ("a.txt", "b.txt"):
        (repository / name).write_bytes(b"one\r\ntwo\r\n")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "Line ends")
    (repository / ".gitattributes").write_text("*.txt text\n")
    git(repository, "add", ".gitattributes")
    git(repository, "commit", "--quiet", "--message", "Attributes")
    with HostReviewBench(folder, repository) as bench:
        commit = bench.prepare_reviewer()
        assert bench.verify(commit).changed == ()
        (bench.tree("code") / "b.txt").write_bytes(b"one\r\n")
        assert bench.verify(commit).changed == ("b.txt",)


def test_names_that_are_no_text_are_shown_all_the_same(folder: Path) -> None:
    repository = make_repository(folder / "repository", {"ü 仕事\n.txt": "a\n"})
    (repository / os.fsdecode(b"\xff.txt")).write_text("b")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "Odd")
    with HostReviewBench(folder, repository) as bench:
        commit = bench.prepare_reviewer()
        assert bench.verify(commit).changed == ()
        for path in bench.tree("code").glob("*.txt"):
            path.write_text("edited")
        assert bench.verify(commit).changed == ("ü 仕事\n.txt", "\ufffd.txt")


def test_the_list_of_paths_is_bounded(folder: Path) -> None:
    files = {f"{number:03}.txt": "a\n" for number in range(PATHS_MAX + 50)}
    with HostReviewBench(folder, make_repository(folder / "repository", files)) as bench:
        commit = bench.prepare_reviewer()
        for path in bench.tree("code").glob("*.txt"):
            path.unlink()
        assert bench.verify(commit).changed == tuple(sorted(files))[:PATHS_MAX]


@pytest.mark.parametrize(
    "damage",
    [
        "no folder",
        "no link",
        "own repository",
        "another's link",
        "a link to a link",
        "no git folder",
    ],
)
def test_a_folder_that_is_no_longer_the_worktree_is_told(folder: Path, damage: str) -> None:
    around = make_repository(folder / "around")
    repository = make_repository(folder / "repository", FILES)
    # The data folder lies within another repository, which git would answer for.
    with HostReviewBench(around, repository) as bench:
        commit = bench.prepare_reviewer()
        bench.prepare_reviewer("other")
        tree = bench.tree("code")
        own = own_folder(tree)
        match damage:
            case "no folder":
                shutil.rmtree(tree)
            case "no link":
                (tree / ".git").unlink()
            case "own repository":
                (tree / ".git").unlink()
                git(tree, "init", "--quiet")
            case "another's link":
                (tree / ".git").write_text(f"gitdir: {own_folder(bench.tree('other'))}\n")
            case "a link to a link":
                (tree / ".git").rename(tree / ".moved")
                (tree / ".git").symlink_to(".moved")
            case _:
                shutil.rmtree(own)
        checkout = bench.verify(commit)
        assert checkout == Checkout(top_level=False)
        assert "no longer the top" in (misfit(checkout, commit) or "")
        assert bench.verify(commit, "other").top_level is True


@pytest.mark.parametrize("damage", ["index", "repository", "commit", "never prepared"])
def test_what_git_cannot_read_is_told_with_the_reason(bench: HostReviewBench, damage: str) -> None:
    commit = bench.prepare_reviewer()
    away = bench.repository.with_name("away")
    match damage:
        case "index":
            (own_folder(bench.tree("code")) / "index").write_bytes(b"damaged")
        case "repository":
            bench.repository.rename(away)
        case "commit":
            commit = "1" * 40
        case _:
            pass
    checkout = bench.verify(commit, "nobody" if damage == "never prepared" else "code")
    assert checkout.unreadable
    assert checkout == Checkout(unreadable=checkout.unreadable)
    if damage == "repository":
        away.rename(bench.repository)


def test_looking_writes_nothing(bench: HostReviewBench) -> None:
    commit = bench.prepare_reviewer()
    tree = bench.tree("code")
    (tree / "src" / "main.py").touch()
    hook = bench.repository / ".git" / "hooks" / "post-index-change"
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)

    def every_file() -> dict[str, int]:
        folders = (tree, bench.repository)
        paths = [path for folder in folders for path in folder.rglob("*")]
        return {str(path): path.stat().st_mtime_ns for path in paths}

    before = every_file()
    bench.verify(commit)
    assert every_file() == before


def test_a_head_that_is_back_counts_as_the_commit_again(bench: HostReviewBench) -> None:
    commit = bench.prepare_reviewer()
    tree = bench.tree("code")
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "Away")
    assert bench.verify(commit).head_commit != commit
    git(tree, "checkout", "--quiet", "--detach", commit)
    assert bench.verify(commit) == Checkout(head_commit=commit, top_level=True)


def test_an_edit_in_a_submodule_that_the_set_up_has_brought_is_found(folder: Path) -> None:
    inner = make_repository(folder / "inner")
    repository = make_repository(folder / "outer")
    allowed = ("-c", "protocol.file.allow=always")
    git(repository, *allowed, "submodule", "--quiet", "add", str(inner), "sub")
    git(repository, "commit", "--quiet", "--message", "A submodule")
    with HostReviewBench(folder, repository) as bench:
        commit = bench.prepare_reviewer()
        git(bench.tree("code"), *allowed, "submodule", "--quiet", "update", "--init")
        assert bench.verify(commit).changed == ()
        (bench.tree("code") / "sub" / "README.md").write_text("edited\n")
        assert bench.verify(commit).changed == ("sub",)
