"""The command line in this process, against the harness's server."""

import json
from pathlib import Path
from typing import Any

import pytest

from pointsman.runtime.cli.main import run


class Shell:
    """Runs commands against the harness's server and keeps what they wrote."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._data = data
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        code = run([*arguments, "--data", str(self._data)])
        self.out, self.err = self._capsys.readouterr()
        return code

    @property
    def document(self) -> Any:
        """The document on stdout; the harness's server logs there too, in lines of its own."""
        return json.loads(self.out[self.out.index("{\n") :])
