"""The packaged demonstration as a process of its own, to be left alone or killed."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pointsman.runtime.app import open_journal_read_only
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.views.queries import trace
from pointsman.runtime.views.trace import trace_signature

_ENDED_BY_SIGNAL = -9


class Demonstration:
    """One data directory with the demonstration's run in it."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def begin(self) -> subprocess.Popen[str]:
        """Start, or go on with, the demonstration; it ends when the gate is reached."""
        return subprocess.Popen(
            [*self._pointsman(), "--json", "demo"],
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def finish(self, going: subprocess.Popen[str]) -> dict[str, Any]:
        """Wait for its end and return what it printed."""
        out, err = going.communicate(timeout=300)
        assert going.returncode == 0, f"exit {going.returncode}: {err[-3000:]}\n{out[-2000:]}"
        shown: dict[str, Any] = json.loads(out)
        return shown

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another command on the same data directory."""
        return subprocess.run(
            [*self._pointsman(), "--json", *arguments],
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def signature(self) -> Any:
        """Return visits, routes and reports: what must not depend on any crash."""
        journal = open_journal_read_only(DataDirectory(self.data))
        assert journal is not None, "the demonstration has no journal"
        try:
            (run,) = journal.runs()
            return trace_signature(trace(journal, run.run_id))
        finally:
            journal.close()

    def launches(self) -> Sequence[str]:
        """Return the start markers of all commands the host ever executed, one each."""
        return sorted(
            str(path.relative_to(self.data)) for path in (self.data / "host").rglob("start.json")
        )

    def _pointsman(self) -> list[str]:
        return [str(Path(sys.executable).with_name("pointsman"))]

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return {**kept, "POINTSMAN_DATA": str(self.data)}
