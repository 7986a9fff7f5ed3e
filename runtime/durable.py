"""Files that survive a crash at any instant: whole or absent, made once or replaced at once.

Little is imported: the runner, whose start must be quick, uses it too.
"""

import hashlib
import os
import threading
from pathlib import Path
from string import ascii_letters, digits
from typing import Final

from pointsman.actors.crash_points import CrashPoint, here

_PLAIN: Final = frozenset((ascii_letters + digits + ".-").encode())
_NAME_CHARS_MAX: Final = 180


def file_name(key: str) -> str:
    """Encode any key as one file name, different keys as different names.

    All but letters, digits, dots and dashes becomes ``_`` and two hex digits: unlike ``%`` or
    ``:``, an underscore upsets no tool that meets the name in a path list or a format string.
    """
    raw = key.encode("utf-8", "surrogatepass")
    name = "".join(chr(byte) if byte in _PLAIN else f"_{byte:02x}" for byte in raw)
    if name.startswith("."):
        name = f"_2e{name[1:]}"
    if len(name) > _NAME_CHARS_MAX:
        # File systems allow 255 bytes a name; the digest keeps shortened names apart.
        name = f"{name[:100]}_-{hashlib.sha256(raw).hexdigest()}"
    return name or "_-"


def _write_aside(path: Path, text: str) -> Path:
    # Two threads, or two processes, may be writing the same name at once.
    aside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_native_id()}")
    try:
        with open(aside, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        aside.unlink(missing_ok=True)  # on a full disk the rest of a failed write is in the way
        raise
    return aside


def sync_folder(folder: Path) -> None:
    """Make the names in a folder as durable as the files' contents."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_durably(path: Path, text: str) -> None:
    """Replace a file: after a crash at any instant it is the old one or the new one, whole."""
    aside = _write_aside(path, text)
    here(CrashPoint.BEFORE_RECORD)
    os.replace(aside, path)
    sync_folder(path.parent)
    here(CrashPoint.AFTER_RECORD)


def create_durably(path: Path, text: str) -> bool:
    """Make a file that must not exist yet; of several makers exactly one gets ``True``."""
    aside = _write_aside(path, text)
    here(CrashPoint.BEFORE_RECORD)
    try:
        os.link(aside, path)
    except FileExistsError:
        return False
    finally:
        aside.unlink()
    sync_folder(path.parent)
    here(CrashPoint.AFTER_RECORD)
    return True
