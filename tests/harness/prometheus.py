"""Prometheus as a process of its own, and promtool: where they are installed.

CI installs them, so there their absence is a failure and no reason to skip.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.harness.hosts import wait_until
from tests.tidy.source_files import ROOT

MONITORING: Final = ROOT / "examples" / "monitoring"
# `.ci/run` sets it where it may not install anything.
_WITHOUT: Final = "POINTSMAN_WITHOUT_PROMETHEUS"
_PATIENCE_S: Final = 60.0


def program(name: str) -> str:
    """Return the path of a program of Prometheus, or skip the test."""
    found = shutil.which(name)
    if found is not None:
        return found
    missing = f"{name} is not installed (Debian: apt-get install prometheus)"
    if os.environ.get("CI") and not os.environ.get(_WITHOUT):
        pytest.fail(missing)
    pytest.skip(missing)


def promtool(*arguments: str | Path, text: str | None = None) -> str:
    """Run promtool, which must find nothing wrong; return what it said."""
    ended = subprocess.run(
        [program("promtool"), *arguments],
        input=text,
        cwd=MONITORING,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout + ended.stderr


class Prometheus:
    """A running Prometheus, asked over its HTTP API."""

    def __init__(self, url: str) -> None:
        self._url = url

    def get(self, path: str, **parameters: str) -> Any:
        response = httpx.get(f"{self._url}/api/v1/{path}", params=parameters, timeout=_PATIENCE_S)
        told = response.json()
        assert told["status"] == "success", json.dumps(told)
        return told["data"]

    def ask(self, expression: str) -> dict[str, float]:
        """Return an instant query's values, by their labels as text."""
        found = self.get("query", query=expression)["result"]
        return {_text(each["metric"]): float(each["value"][1]) for each in found}

    def number(self, expression: str) -> float | None:
        """Return the one value of a query, if it has one."""
        values = list(self.ask(expression).values())
        assert len(values) <= 1, values
        return values[0] if values else None

    def is_ready(self) -> bool:
        try:
            return httpx.get(f"{self._url}/-/ready", timeout=5).is_success
        except httpx.TransportError:
            return False


def _text(labels: dict[str, str]) -> str:
    apart = {"__name__", "instance", "job"}
    return ",".join(f"{name}={value}" for name, value in labels.items() if name not in apart)


@contextlib.contextmanager
def scraping(target: str, token: Path, folder: Path) -> Iterator[Prometheus]:
    """Run Prometheus with the packaged configuration, but for what a user would fill in."""
    folder.mkdir()
    config = (MONITORING / "prometheus.yml").read_text()
    for packaged, here in {
        "127.0.0.1:7410": target,
        "/etc/prometheus/pointsman-token": str(token),
        "[rules.yml]": f"[{MONITORING / 'rules.yml'}]",
        "_interval: 15s": "_interval: 1s",
    }.items():
        assert packaged in config, packaged
        config = config.replace(packaged, here)
    (folder / "prometheus.yml").write_text(config)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{found.getsockname()[1]}"
    with (folder / "prometheus.log").open("wb") as said:
        process = subprocess.Popen(
            [
                program("prometheus"),
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={address}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        prometheus = Prometheus(f"http://{address}")
        wait_until(lambda: process.poll() is not None or prometheus.is_ready(), _PATIENCE_S)
        assert process.poll() is None, (folder / "prometheus.log").read_text()[-3000:]
        yield prometheus
    finally:
        process.terminate()
        process.wait(_PATIENCE_S)
