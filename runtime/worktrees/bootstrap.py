"""Making a fresh worktree usable: copied files, set-up commands in order, timed checks.

After a crash in the middle all of it is done again from the first step, in the same worktree:
set-up commands must be safe to run again. What an earlier pass left running is ended first.
"""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pointsman.graph.definition import SetupCommand, WorkspaceSetup
from pointsman.runtime.processes import process_table
from pointsman.runtime.processes.environment import inherited
from pointsman.runtime.processes.supervised import (
    OPEN_STATES,
    CommandSpec,
    ExitRecord,
    SupervisedCommand,
)
from pointsman.runtime.worktrees.workspaces import WorkspaceRefusedError

_COPIED_ENTRIES_MAX: Final = 10_000
_MESSAGE_TAIL_CHARS_MAX: Final = 2_000
_LOOK_UP_S: Final = 0.5
_END_PATIENCE_S: Final = process_table.GRACE_S + 10.0


class InterruptedByCloseError(Exception):
    """The host is closing; the preparation goes on when it is asked for again."""


def bootstrap(
    setup: WorkspaceSetup,
    repository: Path,
    workspace: Path,
    records: Path,
    is_closing: Callable[[], bool],
    is_unwanted: Callable[[], bool],
) -> None:
    """Do every step of the set-up; raise ``WorkspaceRefusedError`` at the first that fails.

    ``is_unwanted`` tells that the workspace is let go of meanwhile: then nothing is begun and
    what runs is ended.
    """
    end_leftovers(records)
    for relative in setup.copy_:
        _copy(repository, workspace, relative)
    this_pass = records / str(len(_folders(records)) + 1)
    environment = inherited() | setup.env
    steps = [("setup", step) for step in setup.setup] + [("check", step) for step in setup.checks]
    for number, (role, step) in enumerate(steps, start=1):
        command = SupervisedCommand(this_pass / str(number))
        spec = CommandSpec(
            command=step.run,
            cwd=str(workspace),
            timeout_s=float(step.timeout),
            await_background=False,
        )
        if is_unwanted():
            raise WorkspaceRefusedError("workspace_released", "it was let go of meanwhile")
        command.start(spec, environment)
        while not command.await_end(_LOOK_UP_S):
            if is_closing():
                raise InterruptedByCloseError
            if is_unwanted():
                command.end()
        _demand_success(role, step, command.exit_record())


def end_leftovers(records: Path) -> int:
    """End what an earlier pass may still be running; return how many could not be ended."""
    left = process_table.end_all(lambda: process_table.marked(str(records)), _END_PATIENCE_S)
    return left + sum(
        SupervisedCommand(step).end() for earlier in _folders(records) for step in _folders(earlier)
    )


def is_under_way(records: Path) -> bool:
    """Tell whether anything of a set-up runs, also one that a host began and did not finish."""
    steps = (step for earlier in _folders(records) for step in _folders(earlier))
    is_open = any(SupervisedCommand(step).state() in OPEN_STATES for step in steps)
    return is_open or bool(process_table.marked(str(records)))


def _folders(parent: Path) -> list[Path]:
    if not parent.is_dir():
        return []
    return sorted(child for child in parent.iterdir() if child.is_dir())


def _demand_success(role: str, step: SetupCommand, ended: ExitRecord | None) -> None:
    shown = step.run if isinstance(step.run, str) else " ".join(step.run)
    if ended is None:
        raise WorkspaceRefusedError("setup_failed", f"`{shown}` was lost: its runner was killed")
    if ended.timed_out:
        reason, what = "setup_timed_out", f"took longer than {step.timeout} s"
    elif ended.interrupted:
        reason, what = "setup_failed", "was interrupted"
    elif ended.exit_code != 0:
        reason = "setup_failed" if role == "setup" else "setup_check_failed"
        what = f"ended with {ended.exit_code}"
    else:
        return
    tail = ended.output_tail[-_MESSAGE_TAIL_CHARS_MAX:].strip()
    raise WorkspaceRefusedError(
        reason, f"`{shown}` {what}:\n{tail}" if tail else f"`{shown}` {what}"
    )


def _copy(repository: Path, workspace: Path, relative: str) -> None:
    """Copy one file or folder that git does not carry, staying inside both trees."""
    source = _inside(repository, relative)
    if not source.exists():
        raise WorkspaceRefusedError("copy_missing", f"{repository} has no {relative} to copy")
    try:
        if source.is_file():
            _copy_file(source, workspace, relative)
            return
        for number, name in enumerate(_files_below(source)):
            if number >= _COPIED_ENTRIES_MAX:
                message = f"{relative} holds more than {_COPIED_ENTRIES_MAX} files"
                raise WorkspaceRefusedError("copy_refused", message)
            inner = f"{relative}/{name}"
            _copy_file(_inside(repository, inner), workspace, inner)
    except OSError as error:
        reason = "disk_full" if error.errno == errno.ENOSPC else "copy_refused"
        raise WorkspaceRefusedError(reason, f"cannot copy {relative}: {error}") from error


def _files_below(folder: Path) -> list[str]:
    found: list[str] = []
    for parent, folders, files in os.walk(folder):
        folders.sort()
        found.extend(os.path.relpath(os.path.join(parent, name), folder) for name in sorted(files))
        if len(found) > _COPIED_ENTRIES_MAX:
            break
    return found


def _copy_file(source: Path, workspace: Path, relative: str) -> None:
    target = workspace / relative
    # The checked-out tree may hold a link to a folder elsewhere; nothing is written through it.
    _inside(workspace, os.path.dirname(relative) or ".")
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.copying")
    shutil.copyfile(source, aside)
    shutil.copymode(source, aside)
    os.replace(aside, target)


def _inside(root: Path, relative: str) -> Path:
    """Resolve a path within a tree, links followed; refuse one that leads out of it."""
    resolved = (root / relative).resolve()
    base = root.resolve()
    if Path(relative).is_absolute() or not resolved.is_relative_to(base):
        raise WorkspaceRefusedError("copy_refused", f"{relative} leads out of {root}")
    if resolved == base and relative not in ("", "."):
        raise WorkspaceRefusedError("copy_refused", f"{relative} is {root} itself")
    if ".git" in resolved.relative_to(base).parts:
        raise WorkspaceRefusedError("copy_refused", f"{relative} belongs to git")
    return resolved
