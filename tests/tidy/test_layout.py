"""Goal: the four folders are imported under one name each, and every module says what it is.

The folders install as `pointsman.graph` and so on. A second way to import them would load the same
class twice, and the two would not be equal.
"""

import ast
import importlib.util
from pathlib import Path

import pytest

from tests.tidy.source_files import LAYERS, ROOT, python_files, tree


@pytest.mark.parametrize("layer", [*LAYERS, "examples"])
def test_bare_layer_name_is_not_importable(layer: str) -> None:
    spec = importlib.util.find_spec(layer)
    assert spec is None, (
        f"`import {layer}` finds {spec.origin}: run `pytest`, not `python -m pytest`,"
        " which puts the current folder on the path"
    )


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_init_is_empty(layer: str) -> None:
    assert (ROOT / layer / "__init__.py").read_bytes() == b""


def _bare_or_relative_imports(path: Path) -> list[str]:
    found: list[str] = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            names = [name]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found += [
            f"{path}:{node.lineno} imports {name}"
            for name in names
            if name.startswith(".") or name.split(".")[0] in LAYERS
        ]
    return found


def test_imports_are_absolute_and_begin_with_pointsman() -> None:
    found = [line for path in python_files() for line in _bare_or_relative_imports(path)]
    assert found == []


def test_every_module_has_a_docstring() -> None:
    silent = [
        str(path)
        for path in python_files()
        if tree(path).body and ast.get_docstring(tree(path)) is None
    ]
    assert silent == [], "say in two to five lines what the module is and what it is not"
