"""Backups: a folder with a copy of the journal, and a manifest that says what must be in it.

In a backup is what cannot be made again: the journal (every run with its whole history, schedules,
receipts) and the host's records of its worktrees. Not in it are the worktrees themselves (their
commits are in their repositories), what agents and checks printed, and the operator's token.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pydantic

import pointsman
from pointsman.graph.model import Model
from pointsman.runtime.care.staging import PlaceTakenError, staged
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.durable import write_durably
from pointsman.runtime.journals import in_words
from pointsman.runtime.problems import PointsmanError
from pointsman.storage.codec import LAYOUT_VERSION
from pointsman.storage.lmdb_environment import DATA_FILE, MAP_SIZE_BYTES, Environment

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
JOURNAL: Final = f"journal/shard-0/{DATA_FILE}"
WORKSPACES: Final = "host/workspaces"
LEFT_OUT: Final = (
    "worktrees (their commits are in their repositories)",
    "what agents and checks printed",
    "agents at work: they come back as interrupted",
    "the operator's token (a new one is made)",
)
_CHUNK_BYTES: Final = 1 << 20


class BackedUpFile(Model):
    """A file of a backup."""

    path: str
    size_bytes: int
    sha256: str


class Manifest(Model):
    """What a backup is and holds; written last, so a folder with one is whole."""

    pointsman_backup: int
    pointsman: str
    journal_format: int
    made_at: str
    data_directory: str
    files: tuple[BackedUpFile, ...]


def back_up(data: DataDirectory, target: Path, now_ms: int) -> Manifest:
    """Make a backup beside a running server, or without one, at a path that must be free.

    When it returns, the backup is whole and durable. Raises ``backup_exists``, or what keeps
    the journal from being read; nothing is at the path then.
    """
    with in_words():
        # Of whatever format: one of an earlier version is backed up before it is migrated.
        environment = Environment.open(data.journal, MAP_SIZE_BYTES, True, any_format=True)
    try:
        with staged(target, "backup") as folder, in_words():
            copy = folder / JOURNAL
            copy.parent.mkdir(mode=0o700, parents=True)
            environment.copy(copy)
            _copy_workspaces(data, folder)
            manifest = Manifest(
                pointsman_backup=FORMAT,
                pointsman=pointsman.__version__,
                journal_format=environment.format,
                made_at=datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="seconds"),
                data_directory=str(data.path),
                files=tuple(_described(folder, path) for path in _files(folder)),
            )
            write_durably(folder / MANIFEST, manifest.model_dump_json(indent=2))
    except PlaceTakenError as error:
        raise PointsmanError("backup_exists", f"{target} exists") from error
    finally:
        environment.close()
    return manifest


def read_manifest(backup: Path) -> Manifest:
    """Read what a backup holds; raise ``backup_invalid`` or ``data_directory_newer``."""
    try:
        text = (backup / MANIFEST).read_bytes()
        manifest = Manifest.model_validate_json(text)
    except OSError as error:
        raise PointsmanError("backup_invalid", f"{backup}: {error.strerror}") from error
    except pydantic.ValidationError as error:
        raise PointsmanError("backup_invalid", f"{backup / MANIFEST} is no manifest") from error
    if manifest.pointsman_backup != FORMAT or manifest.journal_format > LAYOUT_VERSION:
        raise PointsmanError(
            "data_directory_newer", f"{backup} was made by Pointsman {manifest.pointsman}"
        )
    if JOURNAL not in {each.path for each in manifest.files}:
        raise PointsmanError("backup_invalid", f"{backup} holds no journal")
    return manifest


def copy_verified(backup: Path, file: BackedUpFile, target: Path) -> None:
    """Copy one file of a backup durably; raise ``backup_invalid`` unless it is what was written."""
    path = backup / file.path
    if not path.resolve().is_relative_to(backup.resolve()) or Path(file.path).is_absolute():
        raise PointsmanError("backup_invalid", f"{file.path} leads out of {backup}")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        digest, size = _copied(path, target)
    except FileNotFoundError as error:
        raise PointsmanError("backup_invalid", f"{path} is missing") from error
    if (digest, size) != (file.sha256, file.size_bytes):
        raise PointsmanError("backup_invalid", f"{path} is not what was written")


def _copied(path: Path, target: Path) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as source, target.open("xb") as made:
        os.fchmod(made.fileno(), 0o600)
        while chunk := source.read(_CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
            made.write(chunk)
        made.flush()
        os.fsync(made.fileno())
    return digest.hexdigest(), size


def _copy_workspaces(data: DataDirectory, folder: Path) -> None:
    """Copy the host's records of worktrees; they may be newer than the journal, which is safe."""
    source, target = data.path / WORKSPACES, folder / WORKSPACES
    if not source.is_dir():
        return
    target.mkdir(mode=0o700, parents=True)
    for path in sorted(source.iterdir()):
        # Half-written files begin with a dot, and go away by themselves.
        if path.name.startswith(".") or not path.is_file():
            continue
        made = target / path.name
        shutil.copyfile(path, made)
        with made.open("rb") as file:
            os.fchmod(file.fileno(), 0o600)
            os.fsync(file.fileno())


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _described(folder: Path, path: Path) -> BackedUpFile:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return BackedUpFile(
        path=str(path.relative_to(folder)), size_bytes=path.stat().st_size, sha256=digest
    )
