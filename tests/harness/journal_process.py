"""A process that writes to a journal as it is told, line by line: for tests with several processes.

Run as a program it is the child; ``JournalProcess`` is how a test talks to it. The child answers
each command with one line, ``write`` with one line for each commit that was acknowledged.
"""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final, Self

from pointsman.storage.journal_errors import FencedError, JournalError
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.harness.journals import a_transition, nth_transition, run_id

ROOT: Final = Path(__file__).parents[2]


class JournalProcess:
    """The test's end of one child process; killed when the ``with`` ends."""

    def __init__(self, folder: Path) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.journal_process", str(folder)],
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

    def tell(self, *words: object) -> None:
        """Send a command without waiting for its answer."""
        assert self._child.stdin is not None
        self._child.stdin.write(" ".join(map(str, words)) + "\n")

    def hear(self) -> str:
        """Wait for the next line; empty when the child has ended."""
        assert self._child.stdout is not None
        return self._child.stdout.readline().rstrip("\n")

    def ask(self, *words: object) -> str:
        self.tell(*words)
        return self.hear()

    def kill_fork(self, pid: int) -> list[str]:
        """Kill a fork amid its writing; return the lines it had still said."""
        os.kill(pid, signal.SIGKILL)
        return list(iter(self.hear, "gone"))


class _Child:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._journal: LmdbJournal | None = None

    @property
    def journal(self) -> LmdbJournal:
        assert self._journal is not None, "say open first"
        return self._journal

    def obey(self, command: str) -> object:
        match command.split():
            case ["open", map_size]:
                self._journal = LmdbJournal.open(self._folder, map_size=int(map_size))
            case ["lease", number]:
                return self.journal.lease(run_id(int(number)))
            case ["commit", number, nth, token, filling]:
                run = run_id(int(number))
                made = nth_transition(run, int(nth), int(token), int(filling))
                return self.journal.commit(made)
            case ["write", number, first, past, token, filling]:
                for each in range(int(first), int(past)):
                    _say(each, self.obey(f"commit {number} {each} {token} {filling}"))
            case ["intrude", number, token, count]:
                return self._intrude(run_id(int(number)), int(token), int(count))
            case ["limit-file-size", size]:
                _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
                resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), hard))
            case _:
                raise AssertionError(f"unknown command {command!r}")
        return "done"

    def _intrude(self, run: str, token: int, count: int) -> int:
        """Try commits that only the token speaks against; return how many it was refused."""
        refused = 0
        for _ in range(count):
            summary = self.journal.summary(run)
            assert summary is not None, run
            try:
                self.journal.commit(a_transition(run, summary.version, token=token))
            except FencedError:
                refused += 1
        return refused


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def _fork() -> None:
    """Let a fork obey what follows; in the parent, wait for its end.

    It spares each killed process the start of a Python. No journal is open in the parent.
    """
    pid = os.fork()
    if pid == 0:
        _say(os.getpid())
        return
    os.waitpid(pid, 0)
    _say("gone")


def main(folder: Path) -> None:
    child = _Child(folder)
    while command := sys.stdin.readline().strip():
        if command == "fork":
            _fork()
            continue
        try:
            _say(child.obey(command))
        except JournalError as error:
            _say(type(error).__name__)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
