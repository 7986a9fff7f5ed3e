"""Goal: a fresh worktree is made usable step by step; what fails is named with its last words."""

import asyncio
import os
from pathlib import Path

import pytest

from pointsman.actors.host import HostUnavailableError
from pointsman.graph.definition import SetupCommand, WorkspaceSetup
from pointsman.graph.intents import ReleaseWorkspace
from pointsman.graph.work import Receipt, ReceiptStatus
from pointsman.runtime.durable import file_name
from pointsman.runtime.processes.process_table import marked
from tests.harness.hosts import LocalBench, becomes_true, git, setup_of, work_below


def test_files_that_git_does_not_carry_are_copied_with_their_modes(bench: LocalBench) -> None:
    (bench.repository / ".env").write_text("KEY=value\n")
    (bench.repository / ".env").chmod(0o600)
    (bench.repository / "certs" / "inner").mkdir(parents=True)
    (bench.repository / "certs" / "inner" / "ü.pem").write_text("cert")
    assert bench.prepare(setup_of(copy=(".env", "certs"))).status is ReceiptStatus.ACCEPTED
    assert (bench.workspace / ".env").read_text() == "KEY=value\n"
    assert (bench.workspace / ".env").stat().st_mode & 0o777 == 0o600
    assert (bench.workspace / "certs" / "inner" / "ü.pem").read_text() == "cert"


def test_a_file_that_is_not_there_is_named(bench: LocalBench) -> None:
    receipt = bench.prepare(setup_of(copy=(".env",)))
    assert receipt.reason == "copy_missing"
    assert ".env" in (receipt.message or "")


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "link", "folder/up", ".git/config"])
def test_nothing_outside_the_repository_is_copied(bench: LocalBench, path: str) -> None:
    (bench.repository.parent / "secret").write_text("secret")
    (bench.repository / "link").symlink_to("../secret")
    (bench.repository / "folder").mkdir()
    (bench.repository / "folder" / "up").symlink_to("../../secret")
    # The format refuses some of these already; the host does not rely on it.
    setup = setup_of().model_copy(update={"copy_": (path,)})
    assert bench.prepare(setup).reason == "copy_refused"


def test_nothing_is_written_through_a_link_out_of_the_worktree(bench: LocalBench) -> None:
    outside = bench.repository.parent / "outside"
    outside.mkdir()
    (bench.repository / "linked").symlink_to(outside)
    git(bench.repository, "add", "linked")
    git(bench.repository, "commit", "--quiet", "--message", "A link")
    (bench.repository / "linked").unlink()
    (bench.repository / "linked").mkdir()
    (bench.repository / "linked" / "a.txt").write_text("a")
    assert bench.prepare(setup_of(copy=("linked/a.txt",))).reason == "copy_refused"
    assert list(outside.iterdir()) == []


def test_commands_run_in_order_with_the_workspaces_variables(bench: LocalBench) -> None:
    setup = setup_of(
        "echo first:$NAME >> told",
        "echo second >> told",
        checks=["grep second told"],
        env={"NAME": "ü"},
    )
    assert bench.prepare(setup).status is ReceiptStatus.ACCEPTED
    assert (bench.workspace / "told").read_text() == "first:ü\nsecond\n"


def test_a_failing_command_ends_it_with_its_last_words(bench: LocalBench) -> None:
    receipt = bench.prepare(setup_of("echo no network; exit 4", "touch never"))
    assert receipt.reason == "setup_failed"
    assert "`echo no network; exit 4` ended with 4" in (receipt.message or "")
    assert "no network" in (receipt.message or "")
    assert not (bench.workspace / "never").exists()


def test_a_failing_check_of_the_setup_has_its_own_code(bench: LocalBench) -> None:
    assert bench.prepare(setup_of("true", checks=["false"])).reason == "setup_check_failed"


def test_a_command_that_takes_too_long_is_ended(bench: LocalBench) -> None:
    step = SetupCommand(run="sleep 300").model_copy(update={"timeout": 1})
    receipt = bench.prepare(WorkspaceSetup(setup=(step,)))
    assert receipt.reason == "setup_timed_out"
    assert work_below(bench.data) == []


def test_a_failed_preparation_stays_failed_under_its_key(bench: LocalBench) -> None:
    bench.prepare(setup_of("exit 1"))
    assert bench.prepare(setup_of("exit 0")).reason == "setup_failed"


def test_a_setup_cut_short_is_begun_again_and_its_leftovers_are_ended(bench: LocalBench) -> None:
    setup = setup_of("echo x >> passes; [ -e go ] || { touch up; sleep 300; }")

    async def cut_short() -> None:
        preparing = asyncio.ensure_future(bench.host.prepare_workspace(bench.prepare_order(setup)))
        await becomes_true((bench.workspace / "up").exists)
        await bench.host.close()
        with pytest.raises(HostUnavailableError):
            await preparing

    bench.call(cut_short())
    assert work_below(bench.data) != []
    (bench.workspace / "go").touch()
    bench.restart()
    assert bench.prepare(setup).status is ReceiptStatus.ACCEPTED
    assert (bench.workspace / "passes").read_text() == "x\nx\n"
    assert work_below(bench.data) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told_as_such(bench: LocalBench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        with open("/dev/full", "wb", buffering=0) as file:
            file.write(b"x")

    (bench.repository / ".env").write_text("KEY=value\n")
    monkeypatch.setattr("shutil.copyfile", full)
    assert bench.prepare(setup_of(copy=(".env",))).reason == "disk_full"
    assert not os.path.exists(bench.workspace / ".env")


def test_letting_go_of_a_workspace_ends_its_set_up(bench: LocalBench) -> None:
    order = bench.prepare_order(setup_of("touch begun; sleep 300", "touch never"))

    async def release_meanwhile() -> Receipt:
        preparing = asyncio.ensure_future(bench.host.prepare_workspace(order))
        await becomes_true((bench.workspace / "begun").exists)
        release = ReleaseWorkspace(
            intent_id="release", run_id=order.run_id, workspace_key=order.workspace_key
        )
        await bench.host.release_workspace(release)
        return await preparing

    receipt = bench.call(release_meanwhile())
    assert receipt.status is ReceiptStatus.REJECTED
    assert work_below(bench.data) == []
    assert not (bench.workspace / "never").exists()


def test_a_preparation_that_comes_after_its_letting_go_makes_nothing(bench: LocalBench) -> None:
    bench.release()
    assert bench.prepare(setup_of("true")).reason == "workspace_released"
    assert not bench.workspace.exists()


def _slow_checkouts(bench: LocalBench) -> Path:
    """Have a hook of the repository take for ever; return the file that it makes first."""
    begun = bench.repository.parent / "hook-begun"
    hook = bench.repository / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch '{begun}'\nsleep 300 & wait\n")
    hook.chmod(0o755)
    return begun


def test_letting_go_of_a_workspace_ends_the_git_that_makes_it_with_its_hooks(
    bench: LocalBench,
) -> None:
    begun = _slow_checkouts(bench)
    order = bench.prepare_order()
    marker = str(bench.data / "host" / "setups" / file_name(order.workspace_key))

    async def release_meanwhile() -> Receipt:
        preparing = asyncio.ensure_future(bench.host.prepare_workspace(order))
        await becomes_true(begun.exists)
        assert marked(marker) != []
        release = ReleaseWorkspace(
            intent_id="release", run_id=order.run_id, workspace_key=order.workspace_key
        )
        released = await bench.host.release_workspace(release)
        assert (await preparing).status is ReceiptStatus.REJECTED
        return released

    assert bench.call(release_meanwhile()).host_ref["kept"] is False
    assert marked(marker) == []
    assert not bench.workspace.exists()
    assert "prunable" not in git(bench.repository, "worktree", "list")
