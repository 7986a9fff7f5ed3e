"""A data directory on no local disk is refused by whatever would write, and nothing is made.

Method: the command runs where ``/proc/self/mountinfo`` is a text of the test's, in a mount
namespace of its own; where that is not allowed, the test is skipped and the unit tests of the
text remain.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.hosts import make_repository

PROGRAM = Path(sys.executable).with_name("pointsman")
MOUNTS = "23 1 8:1 / / rw - ext4 /dev/sda1 rw\n24 23 0:9 / {place} rw - {kind} server:/ rw\n"
BOUND = 'mount --bind "$1" /proc/$$/mountinfo && shift && exec "$@"'

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def run_with(mounts: Path, *words: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run a program that finds other file systems mounted than there are."""
    command = ("unshare", "--mount", "sh", "-c", BOUND, "sh", mounts, *words)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    made = tmp_path / "mountinfo"
    made.write_text(MOUNTS.format(place=tmp_path / "far", kind="nfs4"))
    if run_with(made, "true").returncode:
        pytest.skip("a mount namespace is not allowed here")
    return made


def test_no_command_writes_to_a_disk_that_is_not_local(mounts: Path, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository")
    run = ("run", "change-any-repository", "--repo", repository, "--input", "task=x")
    add = ("schedule", "add", "s", "--workflow", "change-any-repository", "--cron", "0 2 * * *")
    schedule = (*add, "--repo", repository, "--input", "task=x")
    for words in (("serve",), run, (*run, "--detach"), schedule):
        done = run_with(mounts, PROGRAM, *words, "--data", tmp_path / "far" / "data")
        assert done.returncode == 6, done.stderr
        assert "PM0013" in done.stderr
        assert not (tmp_path / "far").exists(), words
