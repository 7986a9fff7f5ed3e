"""A real local host on temporary folders and real git, with orders that are short to write.

``LocalBench`` drives the host's asyncio loop from plain tests. Its end ends every process that
the data folder's work has left, so that no test leaves one behind.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Final, Self, TypeVar

from pointsman.actors.host import ReportingAccess
from pointsman.graph.definition import AgentChoice, SetupCommand, WorkspaceSetup
from pointsman.graph.intents import (
    AnswerRequest,
    CancelCheck,
    InterruptExecution,
    LaunchExecution,
    PrepareWorkspace,
    ReleaseWorkspace,
    ResumeExecution,
    SendReminder,
    StartCheck,
)
from pointsman.graph.work import CheckState, Receipt, WorkAggregate, WorkPhase
from pointsman.runtime.hosts.local import LocalHost
from pointsman.runtime.processes import process_table, runner
from pointsman.runtime.processes.supervised import SupervisedCommand
from pointsman.runtime.providers.scripted import ScriptedProvider

RUN: Final = "r0-01j00000000000000000000000"
WORKSPACE: Final = f"wf:{RUN}:primary"
ATTEMPT: Final = f"{RUN}.implement.1.1"
CHECK: Final = f"{RUN}.unit-tests.1.1"
NOWHERE: Final = ReportingAccess(url="http://127.0.0.1:9/mcp", token="token-nobody-listens-to")
PATIENCE_S: Final = 90.0
_LOOK_EVERY_S: Final = 0.02

AnswerT = TypeVar("AnswerT")


def git(folder: Path, *arguments: str) -> str:
    """Run git for a test, independent of the machine's git configuration."""
    identity = ("-c", "user.name=Test", "-c", "user.email=test@pointsman.invalid")
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C"},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


def make_repository(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Make a repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for name, text in (files or {"README.md": "sample\n"}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "First")
    return folder


def wait_until(condition: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Wait for a milestone that another process reaches, looking often, for a bounded time."""
    asyncio.run(becomes_true(condition, patience_s))


async def becomes_true(condition: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Let the loop run until a condition holds."""
    async with asyncio.timeout(patience_s):
        while not condition():
            await _moment()


async def _moment() -> None:
    passed = asyncio.Event()
    asyncio.get_running_loop().call_later(_LOOK_EVERY_S, passed.set)
    await passed.wait()


def work_below(data: Path) -> list[tuple[int, int]]:
    """Find every process that was started for the work of a data folder and still is at it."""
    marker = f"{process_table.MARKER}={data.resolve()}/".encode()
    found: list[tuple[int, int]] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or (stat := process_table.read_stat(int(entry.name))) is None:
            continue
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        marked = any(item.startswith(marker) for item in environment)
        if marked and stat.state not in "ZX" and not _is_leaving(entry):
            found.append((int(entry.name), stat.start_ticks))
    return found


def _is_leaving(process: Path) -> bool:
    """Tell a runner that has written its last record: it ends by itself a moment later."""
    try:
        *_, module, folder = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except (OSError, ValueError):
        return False
    return module == runner.__name__.encode() and (Path(os.fsdecode(folder)) / "exit.json").exists()


def end_work_below(data: Path) -> None:
    """End what a test's work has left."""

    def kill() -> bool:
        left = work_below(data)
        for pid, start_ticks in left:
            process_table.signal_exactly(pid, start_ticks, signal.SIGKILL)
        return not left

    wait_until(kill)


class LocalBench:
    """One host, its data folder, one repository."""

    def __init__(self, folder: Path, repository: Path | None = None) -> None:
        self.data = folder / "data"
        self.repository = repository or make_repository(folder / "repository")
        self.wakes: list[str] = []
        self._folder = folder
        self._runner = asyncio.Runner()
        self.host = self._begin()

    def _begin(self) -> LocalHost:
        host = LocalHost(self.data, self.wakes.append, {"scripted": ScriptedProvider()})
        self.call(host.start())
        return host

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self.host.close())
        self._runner.close()
        end_work_below(self.data)

    def restart(self) -> None:
        """Close the host and begin another on the same folder."""
        self.call(self.host.close())
        self.host = self._begin()

    def call(self, awaitable: Awaitable[AnswerT]) -> AnswerT:
        """Let the host's loop run until an answer is there."""

        async def answer() -> AnswerT:
            return await awaitable

        return self._runner.run(answer())

    def until(self, condition: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
        """Let the host's loop run until a condition holds."""
        self.call(becomes_true(condition, patience_s))

    @property
    def workspace(self) -> Path:
        """The prepared worktree."""
        return self.data / "workspaces" / f"wf_3a{RUN}_3aprimary"

    def turn_folder(self, ordinal: int = 1, attempt: str = ATTEMPT) -> Path:
        return self.data / "host" / "attempts" / attempt / "turns" / str(ordinal)

    def turn_command(self, ordinal: int = 1, attempt: str = ATTEMPT) -> SupervisedCommand:
        return SupervisedCommand(self.turn_folder(ordinal, attempt))

    def prepare_order(self, setup: WorkspaceSetup | None = None) -> PrepareWorkspace:
        return PrepareWorkspace(
            intent_id=f"wf:{RUN}:prepare",
            run_id=RUN,
            workspace_key=WORKSPACE,
            repository=str(self.repository),
            base_commit=git(self.repository, "rev-parse", "HEAD"),
            branch=f"pointsman/{RUN}",
            setup=setup or WorkspaceSetup(),
        )

    def prepare(self, setup: WorkspaceSetup | None = None) -> Receipt:
        return self.call(self.host.prepare_workspace(self.prepare_order(setup)))

    def release(self, key: str = "wf:release") -> Receipt:
        order = ReleaseWorkspace(intent_id=key, run_id=RUN, workspace_key=WORKSPACE)
        return self.call(self.host.release_workspace(order))

    def script(self, text: str) -> str:
        """Write a script and return its name for ``launch``."""
        path = self._folder / "script.yaml"
        path.write_text(text)
        return str(path)

    def launch_order(self, script: str, attempt: str = ATTEMPT) -> LaunchExecution:
        return LaunchExecution(
            intent_id=f"wf:{attempt}:launch",
            run_id=RUN,
            attempt_id=attempt,
            thread_id=f"wf-{attempt}",
            workspace_key=WORKSPACE,
            agent=AgentChoice(provider="scripted", options={"script": script}),
            prompt="Implement the task.",
        )

    def launch(
        self, script: str, attempt: str = ATTEMPT, access: ReportingAccess = NOWHERE
    ) -> Receipt:
        """Launch an attempt on the steps of a script, given as text."""
        order = self.launch_order(self.script(script), attempt)
        return self.call(self.host.launch(order, access))

    def send_order(self, key: str = "remind") -> SendReminder:
        return SendReminder(
            intent_id=f"wf:{ATTEMPT}:{key}", run_id=RUN, attempt_id=ATTEMPT, text="Please report."
        )

    def send(self, key: str = "remind", access: ReportingAccess = NOWHERE) -> Receipt:
        return self.call(self.host.send(self.send_order(key), access))

    def resume(self, key: str = "resume", access: ReportingAccess = NOWHERE) -> Receipt:
        order = ResumeExecution(intent_id=f"wf:{ATTEMPT}:{key}", run_id=RUN, attempt_id=ATTEMPT)
        return self.call(self.host.resume(order, access))

    def interrupt_order(self, key: str = "interrupt") -> InterruptExecution:
        return InterruptExecution(
            intent_id=f"wf:{ATTEMPT}:{key}", run_id=RUN, attempt_id=ATTEMPT, reason="canceled"
        )

    def interrupt(self, key: str = "interrupt") -> Receipt:
        return self.call(self.host.interrupt(self.interrupt_order(key)))

    def answer(self, request_id: str, allow: bool = True, key: str = "answer") -> Receipt:
        order = AnswerRequest(
            intent_id=f"wf:{ATTEMPT}:{key}",
            run_id=RUN,
            attempt_id=ATTEMPT,
            request_id=request_id,
            allow=allow,
            text=None,
        )
        return self.call(self.host.answer(order))

    def check_order(
        self, command: str | tuple[str, ...], check: str = CHECK, folder: str | None = None
    ) -> StartCheck:
        return StartCheck(
            intent_id=f"wf:{check}:start",
            run_id=RUN,
            check_id=check,
            workspace_key=WORKSPACE,
            command=command,
            env={"FROM_CHECK": "yes"},
            folder=folder,
            timeout_s=60,
        )

    def start_check(self, command: str | tuple[str, ...], folder: str | None = None) -> Receipt:
        return self.call(self.host.start_check(self.check_order(command, folder=folder)))

    def cancel_check(self) -> Receipt:
        order = CancelCheck(intent_id=f"wf:{CHECK}:cancel", run_id=RUN, check_id=CHECK)
        return self.call(self.host.cancel_check(order))

    def inspect(self, attempt: str = ATTEMPT) -> WorkAggregate:
        return self.call(self.host.inspect(attempt))

    def inspect_check(self) -> CheckState:
        return self.call(self.host.inspect_check(CHECK))

    def until_quiet(self, attempt: str = ATTEMPT) -> WorkAggregate:
        """Wait until an attempt's work is quiet."""
        return self._settled(
            lambda: self.host.inspect(attempt), lambda w: w.phase is WorkPhase.QUIET
        )

    def until_checked(self) -> CheckState:
        """Wait until the check no longer runs."""
        return self._settled(
            lambda: self.host.inspect_check(CHECK), lambda state: state.state != "running"
        )

    def _settled(
        self, read: Callable[[], Awaitable[AnswerT]], is_settled: Callable[[AnswerT], bool]
    ) -> AnswerT:
        async def settled() -> AnswerT:
            async with asyncio.timeout(PATIENCE_S):
                while not is_settled(answer := await read()):
                    await _moment()
            return answer

        return self.call(settled())


def setup_of(*commands: str, checks: Iterable[str] = (), **more: object) -> WorkspaceSetup:
    """Return a set-up of shell lines."""
    return WorkspaceSetup.model_validate(
        {
            "setup": tuple(SetupCommand(run=command) for command in commands),
            "checks": tuple(SetupCommand(run=command) for command in checks),
            **more,
        }
    )
