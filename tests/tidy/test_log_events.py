"""Goal: what the log may say is one list, and people can read it.

Method: the calls of loggers are read in the code, and the README's table is compared.
"""

import ast
import re
from pathlib import Path
from typing import Final

from pointsman.runtime.log_events import LOG_EVENTS
from tests.tidy.source_files import ROOT, python_files, tree

LEVELS: Final = frozenset({"debug", "info", "warning", "error", "exception", "critical"})


def _logged(path: Path) -> set[str]:
    calls = (
        node
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LEVELS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "log"
    )
    # The first argument may be one name or the other.
    constants = (each for call in calls for each in ast.walk(call.args[0]))
    return {
        each.value
        for each in constants
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }


def test_what_is_logged_is_what_is_listed() -> None:
    logged = set().union(*map(_logged, python_files("actors", "runtime", "storage", "graph")))
    assert logged == set(LOG_EVENTS)


def test_the_readme_lists_what_may_be_logged() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([a-z_]+)` \| ([^|]+) \|$", text, re.MULTILINE))
    assert {name: told.get(name) for name in LOG_EVENTS} == LOG_EVENTS
    assert list(LOG_EVENTS) == sorted(LOG_EVENTS)
