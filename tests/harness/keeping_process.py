"""A process that backs up, restores or migrates as it is told, in forks that a test may kill.

Run as a program it is the child: ``backup FROM TO``, ``restore BACKUP TO`` and ``migrate DATA
DATA`` are each done by a fork, which spares every killed one the start of a Python. The child says
the fork's pid, then how it ended.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final, Self

from pointsman.runtime.care.backups import back_up
from pointsman.runtime.care.migrating import migrate_if_older
from pointsman.runtime.care.restoring import restore
from pointsman.runtime.config import DataDirectory

ROOT: Final = Path(__file__).parents[2]
_NOW_MS: Final = 1_700_000_000_000


class KeepingProcess:
    """The test's end of the child; killed when the ``with`` ends."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.keeping_process"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.communicate()

    def begin(self, act: str, source: Path, target: Path) -> int:
        """Begin an act in a fork and return the fork's pid."""
        assert self._child.stdin is not None
        self._child.stdin.write(f"{act} {source} {target}\n")
        return int(self._hear())

    def ended(self) -> int:
        """Wait for the fork's end and return its exit code, or minus its signal."""
        return int(self._hear())

    def _hear(self) -> str:
        assert self._child.stdout is not None
        return self._child.stdout.readline()


def _obey(act: str, source: Path, target: Path) -> None:
    match act:
        case "backup":
            back_up(DataDirectory(source), target, _NOW_MS)
        case "migrate":
            migrate_if_older(DataDirectory(source), _NOW_MS)
        case "restore":
            restore(source, DataDirectory(target), _NOW_MS)
        case _:
            raise AssertionError(f"unknown act {act!r}")


def _say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def main() -> None:
    while command := sys.stdin.readline().split():
        act, source, target = command
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                _obey(act, Path(source), Path(target))
                code = 0
            finally:
                os._exit(code)
        _say(pid)
        _, status = os.waitpid(pid, 0)
        _say(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
