"""Goal: a git that somebody kills has answered nothing, and what was asked is asked again.

Method: git itself is made to be killed, or to have killed what it had begun; then a reviewer's
worktree is verified while every git is killed, as when the machine goes down.
"""

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pointsman.actors.host import HostUnavailableError
from pointsman.runtime.hosts.local import _guarded
from pointsman.runtime.worktrees.checkouts import verify
from pointsman.runtime.worktrees.git import GitError, GitKilledError, git, git_or_none
from tests.harness.hosts import git as plain_git
from tests.harness.hosts import make_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository")


def ending(repository: Path, name: str, script: str) -> None:
    """Make a command of git's own that ends in some way."""
    plain_git(repository, "config", f"alias.{name}", f"!{script}")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_git_that_was_killed_is_no_answer_of_git(repository: Path, number: int) -> None:
    ending(repository, "die", f"kill -{int(number)} $PPID; sleep 1")
    with pytest.raises(GitKilledError):
        git(repository, "die")
    with pytest.raises(GitKilledError):
        git_or_none(repository, "die")


def test_nor_is_one_whose_child_was_killed(repository: Path) -> None:
    ending(repository, "lose", "echo 'error: git died of signal 9' >&2; exit 128")
    with pytest.raises(GitKilledError):
        git(repository, "lose")


def test_what_ends_by_its_own_doing_is_gits_answer(repository: Path) -> None:
    ending(repository, "crash", f"kill -{int(signal.SIGSEGV)} $$")
    for command in ("crash", "no-such-command"):
        with pytest.raises(GitError):
            git(repository, command)
        assert git_or_none(repository, command) is None


def test_a_killed_look_at_a_worktree_says_nothing_of_it_and_the_host_is_asked_again(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, commit = tmp_path / "tree", plain_git(repository, "rev-parse", "HEAD")
    plain_git(repository, "worktree", "add", "--quiet", "--detach", str(folder))
    real, killed = subprocess.Popen, 0

    def killing(command: list[str], **options: Any) -> "subprocess.Popen[bytes]":
        nonlocal killed
        if "diff-index" in command:
            command, killed = ["/bin/sh", "-c", "kill -9 $$"], killed + 1
        return real(command, **options)

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", killing)
        with pytest.raises(HostUnavailableError, match="was killed"):
            _guarded(lambda: verify(folder, repository, commit, ()))
    assert killed
    assert verify(folder, repository, commit, ()).head_commit == commit
