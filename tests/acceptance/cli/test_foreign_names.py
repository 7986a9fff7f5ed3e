"""A repository may have folders and modules named as ours, or as the libraries we use."""

from pathlib import Path

import pytest

from tests.harness.command_line import CommandLine
from tests.harness.hosts import git

NAMES = ("graph", "runtime", "pointsman", "yaml", "lmdb", "pydantic", "filelock", "sitecustomize")


@pytest.mark.slow
@pytest.mark.ray
def test_a_run_within_a_repository_imports_nothing_of_it(tmp_path: Path) -> None:
    with CommandLine(tmp_path, LC_ALL="C") as shell:
        for name in NAMES:
            (shell.repository / f"{name}.py").write_text("raise SystemExit('not yours to import')")
        git(shell.repository, "add", "--all")
        git(shell.repository, "commit", "--quiet", "--message", "Our own modules")
        assert shell.json("run", "quick")["state"] == "awaiting_review"
