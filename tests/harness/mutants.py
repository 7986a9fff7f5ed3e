"""Takes one rule of single values or of YAML out of a copy of the code, and runs the tests.

``make mutants`` runs it. The rules of graphs are left out one by one in every test run
(``tests/unit/storage/test_rule_mutants.py``); these here stand in models and need a copy.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from tests.tidy.source_files import ROOT

TESTS = ("tests/unit/storage/test_definition_text.py", "tests/unit/storage/test_yaml_text.py")
FOLDERS = ("graph", "storage", "actors", "runtime", "examples")


class Mutant(NamedTuple):
    """One rule and the text that disables it."""

    rule: str
    file: str
    old: str
    new: str


MUTANTS = (
    Mutant("unknown keys", "graph/model.py", 'extra="forbid"', 'extra="ignore"'),
    Mutant("nothing is coerced", "graph/model.py", "strict=True", "strict=False"),
    Mutant("an enum has values", "graph/declarations.py", "if not self.values:", "if False:"),
    Mutant(
        "values differ",
        "graph/declarations.py",
        "if len(set(self.values)) != len(self.values):",
        "if False:",
    ),
    Mutant("repeats are bounded", "graph/declarations.py", "ge=limits.REPEATS_MIN, ", ""),
    Mutant("visits are bounded", "graph/definition.py", ", le=limits.VISITS_MAX", ""),
    Mutant(
        "somebody may decide",
        "graph/definition.py",
        "if not self.roles and not self.people:",
        "if False:",
    ),
    Mutant("one operator", "graph/conditions.py", "if len(self._given()) != 1:", "if False:"),
    Mutant(
        "durations are bounded",
        "graph/value_types.py",
        "Field(ge=limits.TIMEOUT_MIN_S, le=limits.TIMEOUT_MAX_S, strict=True)",
        "Field(strict=True)",
    ),
    Mutant(
        "paths stay below", "graph/value_types.py", '.startswith("/") or', '.startswith("\\0") or'
    ),
    Mutant("keys are there once", "storage/yaml_text.py", "if key in first:", "if False:"),
    Mutant("anchors differ", "storage/yaml_nodes.py", "if anchor in self._anchors:", "if 0:"),
    Mutant("numbers are exact", "storage/yaml_text.py", "if len(text) <= 17 and", "if 1 or"),
    Mutant("texts can be stored", "storage/yaml_text.py", "if _NOT_STORED.search(text):", "if 0:"),
    Mutant(
        "one document",
        "storage/yaml_nodes.py",
        "if not isinstance(after, StreamEndEvent):",
        "if False:",
    ),
    Mutant("bounded expansion", "storage/yaml_text.py", "if self._count > NODES_MAX:", "if False:"),
)  # fmt: skip


def survives(mutant: Mutant) -> bool:
    """Whether all tests pass without the rule."""
    with tempfile.TemporaryDirectory() as name:
        package = Path(name) / "pointsman"
        package.mkdir()
        for each in (ROOT / "runtime" / "_root").glob("*.py*"):
            shutil.copy(each, package)
        for folder in FOLDERS:
            hidden = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / folder, package / folder, ignore=hidden)
        path = package / mutant.file
        text = path.read_text(encoding="utf-8")
        assert text.count(mutant.old) == 1, f"{mutant.rule}: the text is not there once"
        path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", *TESTS],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": name, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=100,
            check=False,
        )
    return done.returncode == 0


def main() -> int:
    """Print each mutant's fate; return how many survive."""
    console = Console(highlight=False)
    alive = 0
    for mutant in MUTANTS:
        survived = survives(mutant)
        alive += survived
        console.print(f"{'SURVIVES' if survived else 'noticed '}  {mutant.rule}")
    return alive


if __name__ == "__main__":
    sys.exit(main())
