"""The command line in this process, on one data directory, for tests of what it says."""

import json
from pathlib import Path
from typing import Any

import pytest

from pointsman.runtime.cli.main import run


class Shell:
    """Runs commands and keeps what they wrote."""

    def __init__(self, capsys: pytest.CaptureFixture[str], data: Path) -> None:
        self._capsys = capsys
        self.data = data
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        code = run([*arguments, "--data", str(self.data)])
        self.out, self.err = self._capsys.readouterr()
        return code

    def json(self, *arguments: str, code: int = 0) -> Any:
        """Run a command for programs that must end with a code; return its document."""
        assert self(*arguments, "--json") == code
        return self.document

    @property
    def document(self) -> Any:
        """The document on stdout."""
        return json.loads(self.out)
