"""Goal: the head of a change is read anew each time, at its true place, or told to be unknown."""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.actors.host import HostUnavailableError
from pointsman.graph.changes import RemoteRef
from pointsman.graph.work import Found, NotFound, ReceiptStatus
from pointsman.runtime.worktrees import change_heads
from tests.harness.host_reviews import OWN_HEAD, REVIEW_SET, HostReviewBench
from tests.harness.hosts import becomes_true, git, wait_until

TOPIC = RemoteRef(ref="refs/heads/topic")
PULL = RemoteRef(ref="refs/pull/7/head")
HAS_DAEMON = (
    Path(
        subprocess.run(["git", "--exec-path"], capture_output=True, check=True)
        .stdout.decode()
        .strip()
    )
    / "git-daemon"
).exists()


@pytest.fixture
def remote(reviewing: HostReviewBench, folder: Path) -> Path:
    """A bare repository that is the origin of the bench's, with a pull request in it."""
    bare = folder / "origin.git"
    git(folder, "clone", "--quiet", "--bare", str(reviewing.repository), str(bare))
    git(reviewing.repository, "remote", "add", "origin", str(bare))
    push(bare, "refs/heads/topic", "Topic")
    git(bare, "update-ref", "refs/pull/7/head", "refs/heads/topic")
    return bare


def push(bare: Path, ref: str, message: str) -> str:
    """Put a further commit on a ref, as somebody elsewhere would."""
    parent = "main" if not git(bare, "for-each-ref", ref) else ref
    tree = git(bare, "rev-parse", f"{parent}^{{tree}}")
    commit = git(bare, "commit-tree", "-p", parent, "-m", message, tree)
    git(bare, "update-ref", ref, commit)
    return commit


def test_the_runs_own_head_goes_there_and_back(changed: HostReviewBench) -> None:
    a = git(changed.workspace, "rev-parse", "HEAD")
    b = changed.change("again\n")
    assert changed.head().head_commit == b
    git(changed.workspace, "reset", "--quiet", "--hard", a)
    assert changed.head().head_commit == a


def test_a_head_that_went_away_and_came_back_is_told_from_its_own_log(
    changed: HostReviewBench,
) -> None:
    receipt = changed.freeze()
    frozen, mark = str(receipt.host_ref["frozen_commit"]), str(receipt.host_ref["mark"])
    assert not changed.head(OWN_HEAD, frozen, mark).returned
    git(changed.workspace, "reset", "--quiet", "--hard", "HEAD")
    assert not changed.head(OWN_HEAD, frozen, mark).returned, "it has moved nowhere"
    changed.change("again\n")
    git(changed.workspace, "reset", "--quiet", "--hard", frozen)
    back = changed.head(OWN_HEAD, frozen, mark)
    assert (back.head_commit, back.returned) == (frozen, True)


def test_a_branch_of_the_repository_itself_that_came_back_is_told_too(
    changed: HostReviewBench,
) -> None:
    git(changed.repository, "branch", "idea", git(changed.workspace, "rev-parse", "HEAD"))
    idea = RemoteRef(ref="refs/heads/idea", remote=".")
    receipt = changed.freeze(idea)
    frozen, mark = str(receipt.host_ref["frozen_commit"]), str(receipt.host_ref["mark"])
    git(changed.repository, "branch", "--force", "idea", "main")
    git(changed.repository, "branch", "--force", "idea", frozen)
    assert changed.head(idea, frozen, mark).returned


def test_a_log_that_no_longer_reaches_back_tells_nothing(changed: HostReviewBench) -> None:
    receipt = changed.freeze()
    frozen, mark = str(receipt.host_ref["frozen_commit"]), str(receipt.host_ref["mark"])
    changed.change("again\n")
    git(changed.workspace, "reset", "--quiet", "--hard", frozen)
    git(changed.repository, "reflog", "expire", "--expire=all", "--all")
    assert not changed.head(OWN_HEAD, frozen, mark).returned


def test_uncommitted_changes_do_not_move_the_head(changed: HostReviewBench) -> None:
    head = changed.head()
    (changed.workspace / "change.txt").write_text("edited\n")
    assert changed.head() == head


@pytest.mark.parametrize("leave", [("--detach",), ("-b", "elsewhere"), ("--orphan", "new")])
def test_a_head_that_left_the_runs_branch_is_unknown(
    changed: HostReviewBench, leave: tuple[str, ...]
) -> None:
    git(changed.workspace, "checkout", "--quiet", *leave)
    reading = changed.head()
    assert reading.head_commit is None
    assert f"not on {OWN_HEAD.branch}" in (reading.unavailable or "")
    git(changed.workspace, "checkout", "--quiet", "--force", OWN_HEAD.branch)
    assert changed.head().head_commit == git(changed.workspace, "rev-parse", "HEAD")


@pytest.mark.parametrize("damage", ["link", "repository", "branch"])
def test_a_worktree_that_cannot_be_read_has_no_known_head(
    changed: HostReviewBench, damage: str
) -> None:
    away = changed.repository.with_name("away")
    match damage:
        case "link":
            (changed.workspace / ".git").unlink()
        case "repository":
            changed.repository.rename(away)
        case _:
            git(changed.repository, "update-ref", "-d", f"refs/heads/{OWN_HEAD.branch}")
    reading = changed.head()
    assert reading.head_commit is None
    assert reading.unavailable
    if damage == "repository":
        away.rename(changed.repository)


def test_a_worktree_never_made_has_no_known_head(reviewing: HostReviewBench) -> None:
    assert reviewing.head().unavailable


@pytest.mark.parametrize("change", [TOPIC, PULL])
def test_a_remote_ref_is_frozen_and_its_head_goes_there_and_back(
    reviewing: HostReviewBench, remote: Path, change: RemoteRef
) -> None:
    a = git(remote, "rev-parse", change.ref)
    receipt = reviewing.freeze(change)
    assert receipt.host_ref["frozen_commit"] == a == reviewing.frozen()
    assert reviewing.head(change).head_commit == a
    b = push(remote, change.ref, "More")
    assert reviewing.head(change).head_commit == b
    git(remote, "update-ref", change.ref, a)
    assert reviewing.head(change).head_commit == a
    assert git(reviewing.repository, "for-each-ref", "refs/remotes", "refs/tags") == ""
    assert reviewing.freeze(change) == receipt.model_copy(update={"status": ReceiptStatus.ALREADY})


def test_what_was_frozen_survives_its_ref_and_a_collection(
    reviewing: HostReviewBench, remote: Path
) -> None:
    frozen = str(reviewing.freeze(PULL).host_ref["frozen_commit"])
    git(remote, "update-ref", "-d", PULL.ref)
    git(reviewing.repository, "gc", "--quiet", "--prune=now")
    reviewing.prepare_reviewer("code", frozen)
    assert git(reviewing.tree("code"), "rev-parse", "HEAD") == frozen


def test_of_an_annotated_tag_the_commit_counts(reviewing: HostReviewBench, remote: Path) -> None:
    git(remote, "tag", "--annotate", "--message", "One", "v1", "topic")
    commit, change = git(remote, "rev-parse", "v1^{commit}"), RemoteRef(ref="refs/tags/v1")
    assert git(remote, "rev-parse", "v1") != commit
    assert reviewing.head(change).head_commit == commit
    assert reviewing.freeze(change).host_ref["frozen_commit"] == commit
    assert git(reviewing.repository, "tag") == ""


def test_only_the_very_ref_counts(reviewing: HostReviewBench, remote: Path) -> None:
    git(remote, "update-ref", "refs/old/refs/heads/gone", "main")
    reading = reviewing.head(RemoteRef(ref="refs/heads/gone"))
    assert reading.head_commit is None
    assert reading.unavailable == "origin has no refs/heads/gone"


def test_a_remote_that_was_removed_since_is_not_replaced_by_the_repository_itself(
    reviewing: HostReviewBench, remote: Path
) -> None:
    frozen = reviewing.freeze(TOPIC).host_ref
    assert frozen["remote"] == "origin"
    git(reviewing.repository, "branch", "topic", str(frozen["frozen_commit"]))
    git(reviewing.repository, "remote", "remove", "origin")
    reading = reviewing.head(TOPIC.model_copy(update={"remote": frozen["remote"]}))
    assert reading.head_commit is None
    assert "has no remote origin" in (reading.unavailable or "")


def test_without_an_origin_the_repository_itself_is_asked(reviewing: HostReviewBench) -> None:
    git(reviewing.repository, "branch", "topic")
    assert reviewing.head(TOPIC).head_commit == git(reviewing.repository, "rev-parse", "topic")
    assert reviewing.head(PULL).unavailable == "the repository itself has no refs/pull/7/head"


def test_the_repository_itself_can_be_named_beside_its_origin(
    reviewing: HostReviewBench, remote: Path
) -> None:
    git(reviewing.repository, "branch", "topic", "main")
    here = TOPIC.model_copy(update={"remote": "."})
    assert reviewing.head(here).head_commit == git(reviewing.repository, "rev-parse", "main")
    assert reviewing.head(TOPIC).head_commit == git(remote, "rev-parse", "topic")


def test_a_missing_ref_freezes_nothing(reviewing: HostReviewBench, remote: Path) -> None:
    receipt = reviewing.freeze(RemoteRef(ref="refs/heads/gone"))
    assert (receipt.reason, receipt.message) == ("change_missing", "origin has no refs/heads/gone")
    assert reviewing.frozen() is None


def test_a_ref_that_names_no_commit_freezes_nothing(
    reviewing: HostReviewBench, remote: Path
) -> None:
    git(remote, "update-ref", "refs/tags/files", git(remote, "rev-parse", "main^{tree}"))
    assert reviewing.freeze(RemoteRef(ref="refs/tags/files")).reason == "change_missing"
    assert reviewing.frozen() is None


def test_a_ref_without_anything_new_freezes_nothing(
    reviewing: HostReviewBench, remote: Path
) -> None:
    assert reviewing.freeze(RemoteRef(ref="refs/heads/main")).reason == "change_empty"
    assert reviewing.frozen() is None


@pytest.mark.parametrize("name", ["origin", "upstream"])
def test_an_unreachable_remote_is_told(reviewing: HostReviewBench, name: str) -> None:
    git(reviewing.repository, "remote", "add", "origin", "/nonexistent/origin.git")
    change = TOPIC.model_copy(update={"remote": name})
    assert reviewing.freeze(change).reason == "change_unreachable"
    reading = reviewing.head(change)
    assert (reading.head_commit, bool(reading.unavailable)) == (None, True)


def test_a_remote_that_fails_once_is_asked_again(
    reviewing: HostReviewBench, remote: Path, folder: Path
) -> None:
    flaky = folder / "flaky"
    # The first call fails; those that follow are what git would have run.
    flaky.write_text(
        '#!/bin/sh\n[ -e "$0.tried" ] || { touch "$0.tried"; exit 1; }\nexec git-upload-pack "$@"\n'
    )
    flaky.chmod(0o755)
    git(reviewing.repository, "config", "remote.origin.uploadpack", f"'{flaky}'")
    assert reviewing.head(TOPIC).head_commit == git(remote, "rev-parse", "topic")
    (folder / "flaky.tried").unlink()
    assert reviewing.freeze(TOPIC).host_ref["frozen_commit"] == git(remote, "rev-parse", "topic")


def _answering(bench: HostReviewBench, folder: Path, script: str) -> Path:
    """Have a script answer for the remote; return the file it makes when it is asked."""
    program = folder / "answering"
    program.write_text(f'#!/bin/sh\ntouch "$0.asked"\n{script}\n')
    program.chmod(0o755)
    git(bench.repository, "config", "remote.origin.uploadpack", f"'{program}'")
    return folder / "answering.asked"


@pytest.mark.usefixtures("remote")
def test_a_remote_that_never_answers_is_waited_for_only_so_long(
    reviewing: HostReviewBench, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_heads, "LOOK_TIMEOUT_S", 0.5)
    monkeypatch.setattr(change_heads, "FETCH_TIMEOUT_S", 0.5)
    _answering(reviewing, folder, "exec sleep 300")
    assert reviewing.head(TOPIC).unavailable == "git ls-remote took longer than 0.5 s"
    receipt = reviewing.freeze(TOPIC)
    assert receipt.reason == "change_unreachable"
    assert "took longer" in (receipt.message or "")


@pytest.mark.usefixtures("remote")
def test_a_closing_host_does_not_take_the_remote_for_unreachable(
    reviewing: HostReviewBench, folder: Path
) -> None:
    asked = _answering(reviewing, folder, "exit 1")
    order = reviewing.freeze_order(TOPIC)

    async def close_meanwhile() -> None:
        freezing = asyncio.ensure_future(reviewing.host.freeze_change(order))
        await becomes_true(asked.exists)
        await reviewing.host.close()
        with pytest.raises(HostUnavailableError):
            await freezing

    reviewing.call(close_meanwhile())
    git(reviewing.repository, "config", "--unset", "remote.origin.uploadpack")
    reviewing.restart()
    assert reviewing.call(reviewing.host.lookup(order.intent_id)) == NotFound()
    receipt = reviewing.freeze(TOPIC)
    assert receipt.status is ReceiptStatus.ACCEPTED
    assert reviewing.call(reviewing.host.lookup(order.intent_id)) == Found(receipt=receipt)


def test_nobody_is_asked_for_a_key_or_a_password(
    reviewing: HostReviewBench, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = folder / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(f"#!/bin/sh\necho \"$@\" >> '{folder}/asked'\nexit 1\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
    git(reviewing.repository, "remote", "add", "origin", "ssh://nobody@127.0.0.1/nothing.git")
    assert reviewing.head(TOPIC).unavailable
    assert "BatchMode=yes" in (folder / "asked").read_text()
    (folder / "asked").unlink()
    git(reviewing.repository, "config", "core.sshCommand", f"'{ssh}' -o Mine=yes")
    assert reviewing.freeze(TOPIC).reason == "change_unreachable"
    assert "BatchMode" not in (folder / "asked").read_text()


@pytest.fixture
def served(remote: Path, reviewing: HostReviewBench, folder: Path) -> Iterator[int]:
    """The remote behind a git daemon on the loopback; yields its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    daemon = subprocess.Popen(
        [
            "git",
            "daemon",
            "--export-all",
            "--reuseaddr",
            "--listen=127.0.0.1",
            f"--port={port}",
            f"--base-path={folder}",
            str(folder),
        ],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

    def listens() -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    wait_until(listens)
    address = f"git://127.0.0.1:{port}/{remote.name}"
    git(reviewing.repository, "remote", "set-url", "origin", address)
    yield daemon.pid
    if daemon.poll() is None:
        os.killpg(daemon.pid, signal.SIGKILL)
    daemon.wait()


@pytest.mark.skipif(not HAS_DAEMON, reason="this git has no daemon")
def test_a_remote_over_the_network_is_frozen_and_read_until_it_is_gone(
    reviewing: HostReviewBench, remote: Path, served: int
) -> None:
    receipt = reviewing.freeze(PULL)
    assert receipt.host_ref["frozen_commit"] == git(remote, "rev-parse", PULL.ref)
    moved = push(remote, PULL.ref, "More")
    assert reviewing.head(PULL).head_commit == moved
    os.killpg(served, signal.SIGKILL)
    assert reviewing.head(PULL).head_commit is None
    again = reviewing.freeze(PULL, review_set=REVIEW_SET.replace(".1", ".2"))
    assert again.reason == "change_unreachable"
