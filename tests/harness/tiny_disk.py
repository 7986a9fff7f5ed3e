"""A disk that is soon full: a small file system of its own, where mounting is allowed."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


class TinyDisk:
    """One mounted file system."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        """Leave no room at all, as files of others would."""
        with (self.folder / "others").open("ab", buffering=0) as others, suppress(OSError):
            while others.write(b"\0" * 4_096):
                pass

    def clear(self) -> None:
        """Make the room again."""
        (self.folder / "others").unlink()


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[TinyDisk]:
    """Mount a disk in a new folder, or skip the test."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a tiny file system is not allowed here")
    try:
        yield TinyDisk(folder)
    finally:
        # Lazily: a test that failed may still hold a file, and must not leave the mount behind.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
