"""Every sentence on definitions, and every reading, has a test that exists, or an honest reason."""

import ast
import re
from collections import Counter
from functools import cache

import pytest

from tests.tidy.source_files import ROOT
from tests.unit.graph.reading_rows import READINGS
from tests.unit.graph.review_rows import REVIEWS
from tests.unit.graph.specification_rows import FILES, SENTENCES, Row
from tests.unit.storage.broken_definitions import GRAPHS, SHAPES, TEXTS
from tests.unit.storage.broken_groups import GROUPS

# How many sentences each paragraph has; a paragraph that is told shorter is not told.
PARAGRAPHS = {
    "Definition format": 5,
    "Catalog and revisions": 8,
    "Schema ownership": 6,
    "Typed reports": 6,
    "Decision semantics": 6,
    "Repeat rules": 9,
    "Checks": 5,
    "Human gates and cancellation": 8,
    "Skills and inputs": 6,
    "Parallel reviews": 7,
    "Wait-for-all join": 8,
    "Freshness": 4,
}


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def exists(test: str) -> bool:
    broken = re.fullmatch(r"broken\[(.+)\]", test)
    if broken is not None:
        return broken[1] in SHAPES | GRAPHS | TEXTS | GROUPS
    file, _, name = test.partition("::")
    return name in names_in(FILES[file])


@pytest.mark.parametrize(
    "row", [*SENTENCES, *REVIEWS, *READINGS], ids=lambda row: f"{row[0]}: {row[1]}"
)
def test_a_sentence_is_shown_by_tests_that_exist_or_says_what_is_missing(row: Row) -> None:
    assert row.tests or row.missing, "name a test, or what is not built"
    assert [test for test in row.tests if not exists(test)] == []


def test_no_sentence_and_no_reading_is_left_out() -> None:
    assert Counter(row.subject for row in (*SENTENCES, *REVIEWS)) == PARAGRAPHS
    assert [row.subject for row in READINGS] == [str(number) for number in range(1, 36)]
