"""Goal: nothing that was meant to be temporary, or belongs to one machine, stays in the files.

The patterns spell a letter as a class of one, so that this file does not find itself.
"""

import ast
import re
from typing import Final

from tests.tidy.source_files import ROOT, python_files, repository_files, tree

LEFT_FOR_LATER: Final = re.compile(rb"\b(?:TOD[O]|FIXM[E])\b")
# Where packages come from is the reader's own choice: no file may send them to a certain registry.
REGISTRY_HOST: Final = re.compile(
    rb"(?:pyp[i]|pythonhoste[d]|npmj[s]|yarnpk[g]|debia[n]|ubunt[u])\.(?:org|com|net)"
    rb"|crate[s]\.io|proxy\.golan[g]\.org"
)
SLEEPING_MODULES: Final = frozenset({"time", "asyncio", "anyio", "trio"})


def _lines_matching(pattern: re.Pattern[bytes]) -> list[str]:
    return [
        f"{path}:{number}"
        for path in repository_files()
        for number, line in enumerate((ROOT / path).read_bytes().splitlines(), start=1)
        if pattern.search(line)
    ]


def _is_sleep(node: ast.AST) -> bool:
    """Whether the node sleeps. `asyncio.sleep(0)` only lets others run, which is deterministic."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="asyncio"), attr="sleep"),
            args=[ast.Constant(value=0)],
        ):
            return False
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr="sleep")):
            return module in SLEEPING_MODULES
        case ast.ImportFrom(module=module, names=names):
            return module in SLEEPING_MODULES and any(alias.name == "sleep" for alias in names)
        case _:
            return False


def test_nothing_is_left_for_later() -> None:
    assert _lines_matching(LEFT_FOR_LATER) == []


def test_no_file_names_a_registry_host() -> None:
    assert _lines_matching(REGISTRY_HOST) == []


def test_no_test_sleeps() -> None:
    sleeps = [
        f"{path}:{getattr(node, 'lineno', 0)}"
        for path in python_files("tests")
        for node in ast.walk(tree(path))
        if _is_sleep(node)
    ]
    assert sleeps == [], "wait for a milestone with a deadline, or move the fake clock"
