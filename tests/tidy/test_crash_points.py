"""Goal: every seam has a name, the code passes each, and some test kills the process at each.

Method: the code and the crash tests are read. A test that names a place kills there and demands
that the process died, so that to be named is to be killed.
"""

import ast
from collections import Counter
from pathlib import Path

import pytest

from pointsman.actors.crash_points import CrashPoint
from tests.tidy.source_files import python_files, tree

PLACES = {each.name for each in CrashPoint}
# What makes a step durable, or begins a process of the work.
ACTS = frozenset(
    {
        "self._journal.commit",
        "self._journal.lease",
        "os.link",
        "os.replace",
        "subprocess.run",
        "subprocess.Popen",
    }
)
# Watches the server for its death: a process of the engine, which a kill at any place leaves idle.
NO_WORK = Path("actors/ray_handles/leftovers.py")


def _named(path: Path) -> Counter[str]:
    return Counter(
        node.attr
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "CrashPoint"
    )


def _called(function: ast.AST) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}


def _passes(called: set[str]) -> bool:
    return bool(called & {"here", "self._crash.here"})


def test_the_code_passes_every_place() -> None:
    passed = sum((_named(path) for path in python_files("actors", "runtime")), Counter[str]())
    assert set(passed) == PLACES


def test_a_test_kills_at_every_place() -> None:
    crash = (path for path in python_files("tests") if path.parts[1] == "crash")
    killed = sum(map(_named, crash), Counter[str]())
    assert set(killed) == PLACES


@pytest.mark.parametrize(
    "places", [("actors",), ("runtime/durable.py", "runtime/processes", "runtime/hosts")]
)
def test_whatever_acts_for_good_does_it_between_places(places: tuple[str, ...]) -> None:
    functions = [
        (f"{path}:{node.lineno} {node.name}", _called(node))
        for path in python_files()
        if any(map(path.is_relative_to, places)) and path != NO_WORK
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    acting = [(name, called) for name, called in functions if called & ACTS]
    assert acting, "this test looks at what acts"
    assert [name for name, called in acting if not _passes(called)] == []
