"""Goal: no entry point runs with assertions switched off."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "entry",
    [
        ["-m", "pointsman", "--version"],
        ["-c", "import pointsman; pointsman.refuse_optimized_python()"],
    ],
    ids=["python -m pointsman", "the function"],
)
def test_optimized_python_is_refused_at_start(entry: list[str], tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-O", *entry], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "does not run under `python -O`" in ended.stderr
    assert ended.stdout == ""
