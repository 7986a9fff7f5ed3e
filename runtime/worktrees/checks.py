"""Checks: a command of the workflow's author, run once in the workspace, its outcome kept.

A check sees the short inherited environment, the workspace's and its own variables, and works
within the workspace only. It is its main process: what it leaves running is ended with it.
"""

from pathlib import Path

from pointsman.graph.intents import StartCheck
from pointsman.graph.work import (
    CheckExited,
    CheckLost,
    CheckNotStarted,
    CheckRunning,
    CheckState,
)
from pointsman.runtime.durable import file_name
from pointsman.runtime.processes.environment import inherited, its_span
from pointsman.runtime.processes.supervised import (
    CommandSpec,
    CommandState,
    RecordCorruptError,
    SupervisedCommand,
)
from pointsman.runtime.worktrees.workspaces import Workspace


class CheckRefusedError(Exception):
    """The check cannot be run as it is written. ``reason`` is a stable code."""

    def __init__(self, reason: str, message: str):
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type["CheckRefusedError"], tuple[str, str]]:
        return type(self), (self.reason, str(self))


def check_command(root: Path, check_id: str) -> SupervisedCommand:
    """Return the supervised command of a check."""
    return SupervisedCommand(root / "checks" / file_name(check_id))


def check_spec(order: StartCheck, workspace: Workspace) -> CommandSpec:
    """Say what the runner is to do for a check."""
    return CommandSpec(
        command=order.command,
        cwd=str(_folder(Path(workspace.path), order.folder)),
        timeout_s=float(order.timeout_s),
        await_background=False,
    )


def check_environment(order: StartCheck, workspace: Workspace) -> dict[str, str]:
    """Return the variables a check sees."""
    return inherited() | workspace.env | order.env | its_span(order.check_id)


def _folder(workspace: Path, relative: str | None) -> Path:
    base = workspace.resolve()
    folder = (base / (relative or ".")).resolve()
    if not folder.is_relative_to(base):
        raise CheckRefusedError("folder_outside", f"{relative} leads out of the workspace")
    if not folder.is_dir():
        raise CheckRefusedError("folder_missing", f"the workspace has no folder {relative or '.'}")
    return folder


def inspect_check(command: SupervisedCommand) -> CheckState:
    """Tell what is known of a check."""
    match command.state():
        case CommandState.NOT_STARTED | CommandState.FORBIDDEN:
            return CheckNotStarted()
        case CommandState.RUNNING | CommandState.BACKGROUND | CommandState.ORPHANED:
            return CheckRunning()
        case CommandState.LOST:
            return CheckLost()
        case CommandState.ENDED:
            return _exited(command)


def _exited(command: SupervisedCommand) -> CheckState:
    try:
        ended = command.exit_record()
    except RecordCorruptError:
        return CheckLost()
    assert ended is not None, f"{command.folder} has ended and says not how"
    return CheckExited(
        exit_code=ended.exit_code,
        timed_out=ended.timed_out,
        interrupted=ended.interrupted,
        duration_s=ended.duration_s,
        output_tail=ended.output_tail,
        log_reference=str(command.log),
        log_digest=ended.log_digest,
    )
