"""A real server as a process: the CLI's ``serve`` with Ray, LMDB, git and real agents."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from pointsman.runtime.client import Client
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.discovery import running_server
from pointsman.runtime.views.queries import RunView
from tests.harness.hosts import make_repository, wait_until
from tests.harness.processes import clear_away, engine_of, kill_all

# Quick, with every kind of step once: an agent whose first try leaves the check red.
WORKFLOW = """
pointsman: 1
id: quick
name: Quick
entry: implement
nodes:
  implement:
    kind: agent
    agent: {provider: scripted, options: {script: quick}}
    instructions: Make it green.
    resume: {max: 20}
    next: tests
  tests:
    kind: check
    run: [test, -e, green]
    retry: {max: 20, after: [interrupted]}
    next: verdict
  verdict:
    kind: decision
    rules:
      - name: red
        when: {field: check.tests.exit_code, ne: 0}
        to: implement
        repeat: {max: 1, at_limit: look}
    otherwise: approve
  approve: {kind: gate, title: Approve, decisions: {approve: done, request_changes: stopped}}
  look: {kind: gate, title: Look}
  done: {kind: end}
  stopped: {kind: end, result: failed}
"""
SCRIPT = """
visits:
  1:
    - write: {path: red, text: "1"}
    - commit: Red
    - report: {outcome: completed, summary: Tried.}
  2:
    - write: {path: green, text: "1"}
    - commit: Green
    - report: {outcome: completed, summary: Green.}
"""


class Server:
    """One data directory and, most of the time, a server on it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self._folder = folder
        self.data = DataDirectory(folder / "data")
        self.repository = make_repository(
            folder / "repository", {".pointsman/scripts/quick.yaml": SCRIPT}
        )
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        clear_away(self.data.path)

    def start(self) -> None:
        """Start ``serve`` and wait until it takes commands."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self._said = self._folder / "serve.out"
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [Path(sys.executable).with_name("pointsman"), "serve"],
                env={**kept, "POINTSMAN_DATA": str(self.data.path), **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_until(self._answers, 60)

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(self._said.read_text()[-3000:])
        address = running_server(self.data)
        if address is None:
            return False
        with Client(address.url, address.token) as client:
            return client.ready()

    def stop(self) -> None:
        """End the server as an operator does."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(30)

    def kill(self) -> None:
        """End the whole engine as a power cut does; agents live on."""
        kill_all(engine_of, self.data.path)
        if self._process is not None:
            self._process.wait(30)

    def said(self) -> str:
        """Return what the server that was started last has written to its terminal."""
        return self._said.read_text()

    def until_ended(self, patience_s: float) -> None:
        """Wait until the server's own process has ended, and with it what it ends itself."""
        assert self._process is not None
        self._process.wait(patience_s)

    def client(self) -> Client:
        """Return a client of the server that runs now."""
        address = running_server(self.data)
        assert address is not None, "no server runs"
        return Client(address.url, address.token)

    def begin(self, command_id: str = "start", definition: str = WORKFLOW) -> str:
        """Start a run and return its id."""
        with self.client() as client:
            return client.start(
                definition=definition,
                source="quick.yaml",
                repository=str(self.repository),
                inputs={},
                started_by="test",
                command_id=command_id,
            ).run_id

    def view(self, run_id: str) -> RunView:
        """Look at a run."""
        with self.client() as client:
            return client.run(run_id)

    def until(self, run_id: str, state: str, patience_s: float = 60) -> RunView:
        """Wait until a run is in a state."""
        wait_until(lambda: self.view(run_id).state == state, patience_s)
        return self.view(run_id)

    def launches(self, run_id: str) -> int:
        """Count the commands that the host ever executed for a run."""
        return sum(1 for path in self.data.host.rglob("start.json") if run_id in str(path))

    def actors(self, title: str) -> list[int]:
        """Return the processes of the Ray actors of a class."""
        found = []
        for pid in engine_of(self.data.path):
            with contextlib.suppress(OSError):  # it may have ended meanwhile
                line = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
                if line.startswith(f"ray::{title}"):
                    found.append(pid)
        return found
