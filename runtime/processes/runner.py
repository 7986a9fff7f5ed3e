"""The runner: a small program that supervises one command, as a container's shim does.

Run as ``python -I -m pointsman.runtime.processes.runner <folder>``. It leaves its parent behind at
once, so neither a SIGKILL of the host, the engine or Ray ends it, nor Ray's clean-up of a worker's
children. All it knows and learns stands in the folder:

``spec.json``       what to run (written by the host; no environment stands in it)
``start.json``      linked exclusively before the command is executed: whoever makes this name
                    decides whether the command ever runs, so two runners never both execute it
``main_exit.json``  the command has ended, descendants of it still live
``exit.json``       nothing is left; renamed into place, so it is whole or absent
``output.log``      standard output and error, up to a bound

The environment, its secrets included, is inherited and never written. Standard library only: a
start costs tens of milliseconds.
"""

import contextlib
import ctypes
import hashlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from pointsman.actors.crash_points import CrashPoint, here
from pointsman.runtime.durable import create_durably, write_durably
from pointsman.runtime.processes.process_table import (
    GRACE_S,
    descendants,
    own_identity,
    signal_exactly,
)

STARTED: Final = 0
TAKEN: Final = 3
FAILED: Final = 4

_KILL_AGAIN_S: Final = 0.05
_DISK_RETRY_S: Final = 0.5
_CHUNK_BYTES: Final = 64 * 1024
_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER
_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Output:
    """The command's output: its head goes to the log, its end is kept in memory.

    Secrets are blotted out before either; a secret cut in two by a read is still found, since
    last bytes that may be its beginning are held back until the next read.
    """

    def __init__(self, path: Path, log_bytes_max: int, tail_bytes_max: int, secrets: list[bytes]):
        self._log = open(path, "wb", buffering=0)  # noqa: SIM115 - closed in finish()
        self._log_bytes_max = log_bytes_max
        self._tail_bytes_max = tail_bytes_max
        self._secrets = [secret for secret in secrets if secret]
        self._pending = b""
        self._tail = bytearray()
        self._digest = hashlib.sha256()
        self.bytes_seen = 0
        self.bytes_logged = 0
        self.log_error: str | None = None

    def add(self, chunk: bytes) -> None:
        block = self._pending + chunk
        for secret in self._secrets:
            block = block.replace(secret, b"[redacted]")
        cut = len(block) - self._begun_secret(block)
        self._pending = block[cut:]
        self._keep(block[:cut])

    def _begun_secret(self, block: bytes) -> int:
        """Return how many last bytes may be the beginning of a secret; mostly none."""
        longest = max((len(secret) for secret in self._secrets), default=0)
        for length in range(min(longest, len(block)), 0, -1):
            if any(secret.startswith(block[-length:]) for secret in self._secrets):
                return length
        return 0

    def _keep(self, block: bytes) -> None:
        self.bytes_seen += len(block)
        self._tail += block
        if len(self._tail) > 2 * self._tail_bytes_max:
            del self._tail[: -self._tail_bytes_max]
        head = block[: max(self._log_bytes_max - self.bytes_logged, 0)]
        if not head or self.log_error is not None:
            return
        try:
            written = self._log.write(head)
        except OSError as error:
            # A full disk must not block the command: it goes on, its log ends here.
            self.log_error = str(error)
            return
        self._digest.update(head[:written])
        self.bytes_logged += written
        if written < len(head):
            self.log_error = "the log could not be written further"

    def finish(self) -> None:
        self._keep(self._pending)
        self._log.close()

    def tail(self) -> str:
        """Return the end of the output as text of at most the bound, in UTF-8."""
        text = bytes(self._tail[-self._tail_bytes_max :]).decode("utf-8", "replace")
        bounded = text.encode()[-self._tail_bytes_max :]
        return bounded.decode("utf-8", "ignore")

    def digest(self) -> str:
        return self._digest.hexdigest()


class Supervision:
    """One command from its start marker to its exit record."""

    def __init__(self, folder: Path, spec: dict[str, Any]):
        self._folder = folder
        self._spec = spec
        secrets = [os.environb.get(name.encode(), b"") for name in spec["secrets"]]
        self._output = Output(
            folder / "output.log", spec["log_bytes_max"], spec["tail_bytes_max"], secrets
        )
        self._main: int | None = None
        self._main_status: int | None = None
        self._error: str | None = None
        self._error_code = 127
        self._timed_out = False
        self._interrupted = False
        self._kill_at: float | None = None
        self._began_at = time.monotonic()
        self._main_ended_at: float | None = None

    def run(self, signals: int) -> None:
        reader = self._spawn()
        timeout_s = self._spec["timeout_s"]
        deadline = None if timeout_s is None else self._began_at + timeout_s
        with selectors.DefaultSelector() as waiting:
            waiting.register(signals, selectors.EVENT_READ)
            waiting.register(reader, selectors.EVENT_READ)
            while not self._reap():
                for key, _ in waiting.select(self._patience(deadline)):
                    if key.fd == signals:
                        self._take_signals(signals)
                    elif not self._read(reader):
                        waiting.unregister(reader)  # every writer closed it; some may live on
                now = time.monotonic()
                if deadline is not None and now >= deadline and self._kill_at is None:
                    self._timed_out = self._main_status is None
                    self._end_tree()
                if self._kill_at is not None and now >= self._kill_at:
                    self._signal_tree(signal.SIGKILL)
                    self._kill_at = now + _KILL_AGAIN_S
        while self._read(reader):
            pass
        self._output.finish()

    def _spawn(self) -> int:
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        command = self._spec["command"]
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else command
        here(CrashPoint.BEFORE_RUN)
        try:
            # A session of its own: a command that signals its whole group spares the runner.
            main = subprocess.Popen(
                argv,
                cwd=self._spec["cwd"],
                stdin=subprocess.DEVNULL,
                stdout=writer,
                stderr=writer,
                start_new_session=True,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._error = f"cannot run {argv[0]!r} in {self._spec['cwd']!r}: {error}"
            self._error_code = 126 if isinstance(error, PermissionError) else 127
            self._output.add(f"{self._error}\n".encode("utf-8", "replace"))
        else:
            here(CrashPoint.AFTER_RUN)
            self._main = main.pid
            main.returncode = 0  # reaped below together with every other descendant
        finally:
            os.close(writer)
        return reader

    def _patience(self, deadline: float | None) -> float | None:
        """How long to wait for a signal or output: until the next thing that is due."""
        due = [at for at in (self._kill_at,) if at is not None]
        if deadline is not None and self._kill_at is None:
            due.append(deadline)
        return max(min(due) - time.monotonic(), 0.0) if due else None

    def _reap(self) -> bool:
        """Collect ended descendants; ``True`` when none is left.

        A descendant whose parent died is ours by adoption, so having no child proves that the
        whole tree is gone.
        """
        ended_now = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                break
            if pid == self._main:
                self._main_status, ended_now = status, True
                self._main_ended_at = time.monotonic()
        if ended_now:
            self._note_main_exit()
        return False

    def _note_main_exit(self) -> None:
        if self._kill_at is not None:
            return
        if self._spec["await_background"]:
            _persist(self._folder / "main_exit.json", self._ending())
        else:
            # A check is its main process; what it left behind would disturb what runs next.
            self._end_tree()

    def _take_signals(self, signals: int) -> None:
        taken = os.read(signals, 512)
        if any(number in taken for number in _STOP_SIGNALS) and self._kill_at is None:
            self._interrupted = True
            self._end_tree()

    def _read(self, reader: int) -> bool:
        try:
            chunk = os.read(reader, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        self._output.add(chunk)
        return bool(chunk)

    def _end_tree(self) -> None:
        self._signal_tree(signal.SIGTERM)
        self._kill_at = time.monotonic() + GRACE_S

    def _signal_tree(self, number: int) -> None:
        for pid, start_ticks in descendants(os.getpid()):
            signal_exactly(pid, start_ticks, number)

    def _ending(self) -> dict[str, Any]:
        code, by_signal = self._error_code, None
        if self._main_status is not None:
            code = os.waitstatus_to_exitcode(self._main_status)
            if code < 0:
                code, by_signal = 128 - code, -code  # as a shell tells it
        ended_at = self._main_ended_at or time.monotonic()
        return {
            "exit_code": code,
            "signal": by_signal,
            "timed_out": self._timed_out,
            "interrupted": self._interrupted,
            "duration_s": round(ended_at - self._began_at, 6),
            "error": self._error,
        }

    def record(self) -> dict[str, Any]:
        """Return the exit record: the ending and what became of the output."""
        return self._ending() | {
            "output_tail": self._output.tail(),
            "output_bytes": self._output.bytes_seen,
            "log_bytes": self._output.bytes_logged,
            "log_digest": f"sha256:{self._output.digest()}",
            "log_error": self._output.log_error,
        }


def _persist(path: Path, record: dict[str, Any]) -> None:
    """Write a record however long the disk stays full: without it the outcome would be lost."""
    while True:
        try:
            write_durably(path, json.dumps(record))
        except OSError as error:
            if not path.parent.exists():
                return  # nobody is left who could read it
            record = record | {"output_tail": "", "log_error": str(error)}
            with selectors.DefaultSelector() as nothing:
                nothing.select(_DISK_RETRY_S)
        else:
            return


def _listen() -> int:
    """Turn signals into bytes of a pipe, so that none is lost between two looks at the tree."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *_STOP_SIGNALS):
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    return reader


def _claim_start(folder: Path) -> bool:
    marker = {"runner": own_identity()._asdict()}
    return create_durably(folder / "start.json", json.dumps(marker))


def supervise(folder: Path, tell: int) -> None:
    """Claim the command and see it through; ``tell`` gets one byte as soon as that is decided."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot become the reaper of orphaned descendants")
    spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    signals = _listen()
    if not _claim_start(folder):
        os.write(tell, bytes([TAKEN]))
        return
    os.write(tell, bytes([STARTED]))
    os.close(tell)
    supervision = Supervision(folder, spec)
    supervision.run(signals)
    here(CrashPoint.BEFORE_EXIT)
    _persist(folder / "exit.json", supervision.record())
    here(CrashPoint.AFTER_EXIT)


def main(folder: Path) -> int:
    """Start the supervising process in the background; answer how its claim went."""
    if sys.platform != "linux":
        sys.stderr.write("the runner needs Linux: it adopts orphaned descendants through prctl\n")
        return FAILED
    heard, tell = os.pipe()
    if os.fork():
        os.close(tell)
        answer = os.read(heard, 1)
        return answer[0] if answer else FAILED
    os.close(heard)
    os.setsid()
    os.chdir("/")
    supervise(folder, tell)
    return STARTED


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main(Path(sys.argv[1])))
