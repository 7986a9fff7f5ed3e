"""The doctor's look at a data directory: its journal, and what was left behind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from pointsman.runtime import discovery
from pointsman.runtime.care import staging
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.journals import open_lmdb_journal
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.processes import process_table
from pointsman.storage.codec import LAYOUT_VERSION
from pointsman.storage.lmdb_environment import MAP_SIZE_BYTES_MAX

Told = tuple[str, str, str | None]

_MAP_USE_MAX: Final = 0.8


def check_journal(data: DataDirectory) -> Iterator[Told]:
    """Tell the journal's format, its size, and how much of the largest map it uses."""
    if not data.journal.exists():
        yield "ok", "there is no run yet", None
        return
    try:
        journal = open_lmdb_journal(data.journal, read_only=True)
    except PointsmanError as error:
        yield "problem", f"{error.kind.number} {error.code}: {error.message}", error.kind.page.next
        return
    try:
        size = journal.size()
        runs = len(journal.runs(None, 1 << 31))
    finally:
        journal.close()
    text = f"format {LAYOUT_VERSION}, {runs} runs, {size.used_bytes / 1e6:.1f} MB used"
    if size.used_bytes > _MAP_USE_MAX * MAP_SIZE_BYTES_MAX:
        yield "warning", text, "the journal nears its largest size: begin a new data directory"
    else:
        yield "ok", f"{text} of a map of {size.map_bytes / 1e6:.0f} MB that grows", None


def check_leftovers(data: DataDirectory) -> Iterator[Told]:
    """Tell of worktrees, half-made folders, a dead server's Ray, and work without a server."""
    if not data.path.exists():
        return
    found = False
    has_server = discovery.running_server(data) is not None
    for told in (*_half_made(data), *_of_dead_server(data, has_server), *_work(data, has_server)):
        found = True
        yield told
    trees = sum(1 for _ in data.workspaces.iterdir()) if data.workspaces.is_dir() else 0
    if trees:
        yield "ok", f"{trees} worktrees are on disk", "pointsman workspaces"
    elif not found:
        yield "ok", "nothing was left behind", None


def _half_made(data: DataDirectory) -> Iterator[Told]:
    for folder in staging.leftovers(data.path, "restoring"):
        yield "warning", f"{folder} was left by a restore that was killed", f"rm -r {folder}"


def _of_dead_server(data: DataDirectory, has_server: bool) -> Iterator[Told]:
    if has_server:
        return
    if data.server.exists():
        text = "the last server was killed; its address is still written down"
        yield "ok", text, "the next server takes it away"
    try:
        folder = Path(data.ray.read_text())
    except OSError:
        return
    if folder.exists():
        yield "warning", f"{folder} was left by a killed server", "the next server removes it"


def _work(data: DataDirectory, has_server: bool) -> Iterator[Told]:
    """Tell of agents and checks at work: without a server nobody watches them."""
    marker = str(data.path.resolve())
    count = sum(1 for each in psutil.process_iter() if _is_work(each.pid, marker))
    if count and not has_server:
        text = f"{count} processes of agents or checks are at work without a server"
        yield "warning", text, "start `pointsman serve`: it adopts them"
    elif count:
        yield "ok", f"{count} processes of agents or checks are at work", None


def _is_work(pid: int, below: str) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"{process_table.MARKER}={below}/".encode() in environment
