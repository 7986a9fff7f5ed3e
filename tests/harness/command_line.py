"""The real ``pointsman`` program on one data directory, as a person or a script calls it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from pointsman.runtime import discovery
from pointsman.runtime.config import DataDirectory
from tests.harness.hosts import make_repository, wait_until
from tests.harness.processes import clear_away

PATIENCE_S = 300
PROGRAM = Path(sys.executable).with_name("pointsman")

# One agent that follows the named script, then a gate that can also fail the run.
ONE_STEP = """
pointsman: 1
id: {script}
name: One step
entry: work
nodes:
  work:
    kind: agent
    agent: {{provider: scripted, options: {{script: {script}}}}}
    instructions: Do it.
    next: approve
  approve: {{kind: gate, title: Approve, decisions: {{approve: done, request_changes: stopped}}}}
  done: {{kind: end}}
  stopped: {{kind: end, result: failed}}
"""
SCRIPTS = {
    "quick": "steps: [{report: {outcome: completed, summary: Done.}}]",
    "endless": "steps: [{say: At it.}, {background: sleep 600}, hang]",
    "asks": (
        'steps: [{ask_approval: "May I?"}, {report: {outcome: completed, summary: I could.}}]'
    ),
    "crashes": (
        "{steps: [{crash: 3}], tries: {2: [{report: {outcome: completed, summary: Now it did.}}]}}"
    ),
}


class CommandLine:
    """Calls the program and reads its answers. Leaves no process behind."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.data = DataDirectory(folder / "data")
        self._environment = environment
        self._begun: list[subprocess.Popen[str]] = []
        own = {f".pointsman/scripts/{name}.yaml": text for name, text in SCRIPTS.items()}
        flows = {
            f".pointsman/workflows/{name}.yaml": ONE_STEP.format(script=name) for name in SCRIPTS
        }
        self.repository = make_repository(folder / "repository", own | flows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        server = discovery.running_server(self.data)
        if server is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(server.pid, signal.SIGTERM)
            wait_until(lambda: discovery.running_server(self.data) is None)
        clear_away(self.data.path)
        for process in self._begun:
            process.kill()
            process.communicate()

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Call the program and do not wait for it."""
        process = subprocess.Popen(
            # Tests in the background, or under nohup, hand on that Ctrl-C is ignored.
            ["env", "--default-signal=INT", str(PROGRAM), *arguments],
            cwd=self.repository,
            env={**self._environment, "POINTSMAN_DATA": str(self.data.path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self._begun.append(process)
        return process

    def __call__(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Call the program and expect an exit code."""
        process = self.begin(*arguments)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == code, (
            f"exit {process.returncode}: {err[-3000:]}\n{out[-3000:]}"
        )
        assert "Traceback" not in err
        return subprocess.CompletedProcess(process.args, code, out, err)

    def json(self, *arguments: str, code: int = 0) -> Any:
        """Call the program with ``--json`` and return its one document."""
        return json.loads(self(*arguments, "--json", code=code).stdout)

    def lines(self, *arguments: str) -> list[Any]:
        """Call the program with ``--json`` and return its lines."""
        return [json.loads(line) for line in self(*arguments, "--json").stdout.splitlines()]
