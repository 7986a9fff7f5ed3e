"""Replacing one file of a project's workflow folder: whole, durably, and never blindly.

The expected revision of a save is the revision of the file as it was read: the digest of its
bytes (``revision_of``), or ``None`` for a file that must not exist yet. What another saver or an
editor wrote since then is therefore never overwritten. The author's own ``revision:`` in the text
is theirs: it may stay the same or rise, and no save looks at it.

Nothing is read or written through a link: each folder and the file are opened by their own name.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from pointsman.graph import limits

FOLDER: Final = PurePosixPath(".pointsman/workflows")
FILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}\.yaml")
_LOCK_PATIENCE_S: Final = 5.0
_LOOK_AGAIN_S: Final = 0.02
_UNFINISHED: Final = re.compile(r"\..+\.[0-9a-f]{12}\.saving")


class WorkflowFileError(Exception):
    """The file was not written. The text says why; what was there is as it was."""


class NewerEditError(WorkflowFileError):
    """The file is not what the saver saw; ``found`` is its revision now, ``None`` if it is gone."""

    def __init__(self, message: str, found: str | None) -> None:
        super().__init__(message)
        self.found = found

    def __reduce__(self) -> tuple[type["NewerEditError"], tuple[str, str | None]]:
        return type(self), (str(self), self.found)


def revision_of(content: bytes) -> str:
    """Return the revision of a file's content."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def replace(project: Path, name: str, content: bytes, expected: str | None) -> bool:
    """Put ``content`` into the file if it still has the expected revision.

    ``False`` when the file has this content already, so that a save whose answer was lost can be
    repeated. Raises ``NewerEditError`` and ``WorkflowFileError``; the file is then as it was.
    Two savers take turns. Whoever does not ask us (an editor) is noticed too, except within
    the instant between the last look at the file and its replacement.
    """
    if FILE_NAME.fullmatch(name) is None:
        raise WorkflowFileError(f"{name[:200]!r} is no name for a workflow file (name.yaml)")
    try:
        with _folder(project, create=expected is None) as folder, _locked(folder):
            return _replace(folder, name, content, expected)
    except FileNotFoundError as error:
        if expected is not None:
            raise NewerEditError(f"{name} is no longer there", None) from error
        raise WorkflowFileError(f"{name} was not written: {error}") from error
    except OSError as error:
        raise WorkflowFileError(f"{name} was not written: {error.strerror or error}") from error


@contextlib.contextmanager
def _folder(project: Path, *, create: bool) -> Iterator[int]:
    """Open the workflow folder, made if wanted, through no link below the project."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    opened = os.open(project, flags)
    try:
        for part in FOLDER.parts:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=opened)
                    os.fsync(opened)
            below = _opened_below(opened, part, flags)
            os.close(opened)
            opened = below
        yield opened
    finally:
        os.close(opened)


def _opened_below(folder: int, part: str, flags: int) -> int:
    try:
        return os.open(part, flags | os.O_NOFOLLOW, dir_fd=folder)
    except NotADirectoryError as error:
        message = f"{part} is a link or no folder; workflows are written into real folders only"
        raise WorkflowFileError(message) from error


@contextlib.contextmanager
def _locked(folder: int) -> Iterator[None]:
    """Let savers take turns. The lock is the folder's own and ends with its holder's process."""
    give_up = time.monotonic() + _LOCK_PATIENCE_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if time.monotonic() > give_up:
                raise WorkflowFileError("another save is under way; try again") from error
        threading.Event().wait(_LOOK_AGAIN_S)
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


def _replace(folder: int, name: str, content: bytes, expected: str | None) -> bool:
    for left in os.listdir(folder):
        if _UNFINISHED.fullmatch(left):  # of a saver that was killed: we have the lock
            os.unlink(left, dir_fd=folder)
    if not _demand(folder, name, content, expected):
        return False
    aside = f".{name}.{secrets.token_hex(6)}.saving"
    try:
        _write(folder, aside, content, _mode(folder, name))
        if not _demand(folder, name, content, expected):  # an editor may have come meanwhile
            return False
        os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside, dir_fd=folder)
    os.fsync(folder)
    return True


def _demand(folder: int, name: str, content: bytes, expected: str | None) -> bool:
    """Compare the file with what the saver saw; ``False`` if it has the new content already."""
    now = _read(folder, name)
    if now == content:
        return False
    found = revision_of(now) if now is not None else None
    if found == expected:
        return True
    if now is None:
        raise NewerEditError(f"{name} is no longer there", None)
    if expected is None:
        raise NewerEditError(f"{name} exists already", found)
    raise NewerEditError(f"{name} was edited since you read it", found)


def _read(folder: int, name: str) -> bytes | None:
    """Return the file's content; ``None`` if there is none. Refuse what is no regular file."""
    try:
        opened = os.open(
            name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        if _is_link(folder, name):
            message = f"{name} is a link; nothing is written through it"
            raise WorkflowFileError(message) from error
        raise
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise WorkflowFileError(f"{name} is no regular file")
        # A longer file was never read as a workflow, so its revision is nobody's to expect.
        return file.read(limits.DEFINITION_FILE_BYTES_MAX + 1)


def _is_link(folder: int, name: str) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _mode(folder: int, name: str) -> int | None:
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return None


def _write(folder: int, name: str, content: bytes, mode: int | None) -> None:
    made = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder)
    with os.fdopen(made, "wb") as file:
        if mode is not None:
            os.fchmod(made, mode)
        file.write(content)
        file.flush()
        os.fsync(made)
