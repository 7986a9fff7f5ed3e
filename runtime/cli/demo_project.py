"""The sample project of the demonstration: copied, and made a git repository of its own.

It must come out the same on any machine: no identity, default branch, hook or signing key of
the user is used, and none needs to exist.
"""

import shutil
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from pointsman.runtime.worktrees.git import git

TASK: Final = "A train that leaves at 23:50 and arrives at 00:10 travels 20 minutes."
WORKFLOW: Final = "reviewed-change"

_SETTINGS: Final = (
    ("user.name", "Pointsman demonstration"),
    ("user.email", "demonstration@pointsman.invalid"),
    ("commit.gpgsign", "false"),
    ("core.hooksPath", ".git/no-hooks"),
    ("core.autocrlf", "false"),
)
_PROJECTS_MAX: Final = 100_000


def make_project(folder: Path) -> Path:
    """Make the next sample project below a folder, with one commit on ``main``."""
    folder.mkdir(parents=True, exist_ok=True)
    project = _next_folder(folder)
    _copy(files("pointsman.examples") / "project", project)
    git(project, "init", "--quiet", "--template=", "--initial-branch=main")
    for name, value in _SETTINGS:
        git(project, "config", name, value)
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "A timetable, and a test that fails")
    return project


def _next_folder(folder: Path) -> Path:
    for number in range(1, _PROJECTS_MAX):
        try:
            (folder / str(number)).mkdir()
        except FileExistsError:
            continue
        return folder / str(number)
    raise AssertionError(f"{folder} holds {_PROJECTS_MAX} demonstrations")


def _copy(source: Traversable, target: Path) -> None:
    """Copy a packaged folder; what running the sample's tests in place may have left stays."""
    for item in source.iterdir():
        if item.name == "__pycache__":
            continue
        if item.is_dir():
            (target / item.name).mkdir()
            _copy(item, target / item.name)
        else:
            (target / item.name).write_bytes(item.read_bytes())


def remove_projects(folder: Path, keep: frozenset[Path]) -> None:
    """Remove the sample projects below a folder, other than those to be kept."""
    if not folder.is_dir():
        return
    for project in folder.iterdir():
        if project.name.isdecimal() and project not in keep:
            shutil.rmtree(project, ignore_errors=True)
