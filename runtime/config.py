"""Where everything lives: the data directory and its files, all under one folder.

The folder holds secrets (0700). It comes from ``--data``, ``POINTSMAN_DATA`` or the user's
data folder, in this order.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import platformdirs

VARIABLE: Final = "POINTSMAN_DATA"


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """The layout of one data directory; one server at a time works on it."""

    path: Path

    @property
    def journal(self) -> Path:
        return self.path / "journal" / "shard-0"

    @property
    def history(self) -> Path:
        """The copy of the journal for SQL; it can be made again at any time."""
        return self.path / "history" / "history.duckdb"

    @property
    def host(self) -> Path:
        return self.path / "host"

    @property
    def workspaces(self) -> Path:
        return self.path / "workspaces"

    @property
    def demo(self) -> Path:
        return self.path / "demo"

    @property
    def lock(self) -> Path:
        return self.path / "server.lock"

    @property
    def server(self) -> Path:
        """Where a running server tells its address."""
        return self.path / "server.json"

    @property
    def port(self) -> Path:
        """The port of the last server: agents at work still report to it after a restart."""
        return self.path / "port"

    @property
    def operator_token(self) -> Path:
        return self.path / "operator-token"

    @property
    def metrics_token(self) -> Path:
        """Opens ``/metrics`` and nothing else: whoever scrapes must not command."""
        return self.path / "metrics-token"

    @property
    def metrics(self) -> Path:
        """Where the processes of a running server count."""
        return self.path / "metrics"

    @property
    def spans_mark(self) -> Path:
        """How far the journal's log was sent to a collector of spans."""
        return self.path / "spans-sent"

    @property
    def ray(self) -> Path:
        """Names the folder of the last server's Ray, which a killed server leaves behind."""
        return self.path / "ray-folder"

    @property
    def log(self) -> Path:
        return self.path / "server.log"

    def create(self) -> None:
        """Make the folder, readable by its owner only."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)


def default_data_directory() -> DataDirectory:
    """Return the data directory of this user."""
    given = os.environ.get(VARIABLE)
    return DataDirectory(Path(given) if given else Path(platformdirs.user_data_dir("pointsman")))
