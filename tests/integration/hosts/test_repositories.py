"""Goal: a folder from which no run can start is refused with its own code and a way to mend it."""

import os
import subprocess
from pathlib import Path

import pytest

from pointsman.actors.host import RepositoryRefused, RepositoryState
from pointsman.runtime.worktrees.repositories import inspect_repository
from tests.harness.hosts import git, make_repository


def refused(path: Path) -> str:
    answer = inspect_repository(str(path))
    assert isinstance(answer, RepositoryRefused)
    assert answer.mend != ""
    return answer.code


def accepted(path: Path) -> RepositoryState:
    answer = inspect_repository(str(path))
    assert isinstance(answer, RepositoryState)
    return answer


def test_a_repository_tells_its_head_branch_and_cleanness(folder: Path) -> None:
    repository = make_repository(folder / "repository")
    state = accepted(repository)
    assert state.path == str(repository)
    assert state.head_commit == git(repository, "rev-parse", "HEAD")
    assert state.branch == "main"
    assert state.uncommitted_paths == ()


def test_a_folder_within_stands_for_its_repository(folder: Path) -> None:
    repository = make_repository(folder / "repository", {"src/deep/a.txt": "a"})
    assert accepted(repository / "src" / "deep").path == str(repository)


def test_a_linked_worktree_and_a_detached_head_will_do(folder: Path) -> None:
    repository = make_repository(folder / "repository")
    git(repository, "worktree", "add", "--quiet", "--detach", str(folder / "linked"))
    state = accepted(folder / "linked")
    assert (state.path, state.branch) == (str(folder / "linked"), None)


def test_every_uncommitted_path_is_named_under_its_new_name(folder: Path) -> None:
    repository = make_repository(folder / "repository", {"a": "a" * 99, "b": "b"})
    git(repository, "mv", "a", "renamed ü")
    (repository / "b").write_text("changed")
    (repository / "new").write_text("new")
    assert sorted(accepted(repository).uncommitted_paths) == ["b", "new", "renamed ü"]


def test_no_more_than_a_hundred_uncommitted_paths_are_named(folder: Path) -> None:
    repository = make_repository(folder / "repository")
    for number in range(150):
        (repository / f"new-{number}").touch()
    assert len(accepted(repository).uncommitted_paths) == 100


def test_a_path_that_is_no_text_is_named_all_the_same(folder: Path) -> None:
    repository = make_repository(folder / "repository")
    Path(os.fsdecode(os.fsencode(repository) + b"/\xff\xfe")).touch()
    assert accepted(repository).uncommitted_paths == ("\ufffd\ufffd",)


def test_there_is_no_such_folder(folder: Path) -> None:
    assert refused(folder / "missing") == "repository_missing"
    (folder / "file").touch()
    assert refused(folder / "file") == "repository_missing"


def test_it_is_no_git_repository(folder: Path) -> None:
    assert refused(folder) == "repository_not_git"


def test_it_is_bare(folder: Path) -> None:
    git(folder, "init", "--quiet", "--bare", "bare")
    assert refused(folder / "bare") == "repository_bare"


def test_it_has_no_commit_yet(folder: Path) -> None:
    git(folder, "init", "--quiet", "fresh")
    assert refused(folder / "fresh") == "repository_empty"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_it_belongs_to_somebody_else(folder: Path) -> None:
    repository = make_repository(folder / "repository")
    subprocess.run(["chown", "--recursive", "65534", repository], check=True)
    assert refused(repository) == "repository_unsafe"


def test_there_is_no_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = make_repository(folder / "repository")
    monkeypatch.setenv("PATH", str(folder))
    assert refused(repository) == "git_missing"


def test_a_stray_git_dir_names_no_other_repository(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = make_repository(folder / "repository")
    other = make_repository(folder / "other", {"x": "x"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert accepted(repository).path == str(repository)


def test_looking_takes_no_lock_in_the_repository(folder: Path) -> None:
    repository = make_repository(folder / "repository")
    index = (repository / ".git" / "index").stat()
    os.utime(repository / "README.md", (1, 1))
    accepted(repository)
    assert (repository / ".git" / "index").stat().st_mtime_ns == index.st_mtime_ns
