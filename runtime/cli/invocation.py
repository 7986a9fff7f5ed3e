"""What every command is told first: which data directory, and whether a program reads."""

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from pointsman.runtime.cli.terminal import Terminal, own_command
from pointsman.runtime.config import DataDirectory, default_data_directory


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of the command line. ``data_option`` is the ``--data`` that was given."""

    data: DataDirectory
    terminal: Terminal
    data_option: Path | None = None
    command: str = field(default_factory=own_command)

    def next_command(self, *words: str) -> str:
        """Return a command to copy that acts on the same data directory."""
        data = ("--data", str(self.data_option)) if self.data_option is not None else ()
        return f"{self.command} {shlex.join((*words, *data))}"


def invocation(data: Path | None, *, json: bool) -> Invocation:
    """Settle the data directory: the option, else the environment, else the user's own."""
    found = DataDirectory(data.absolute()) if data is not None else default_data_directory()
    return Invocation(found, Terminal(json=json), data)
