"""Workflow files: each mistake has its code, line and column, and nothing makes the reader raise.

Method: broken definitions (``broken_definitions``) mark the place that must be named.
"""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.graph import limits
from pointsman.storage.definition_text import Loaded, read_definition, render
from tests.unit.storage.broken_definitions import (
    GRAPHS,
    HEAD,
    LAST,
    SHAPES,
    TEXTS,
    agent,
    marked,
    rule,
)
from tests.unit.storage.broken_groups import GROUPS

BROKEN = SHAPES | GRAPHS | TEXTS | GROUPS


def read(text: str | bytes) -> Loaded:
    return read_definition(text, "w.yaml")


@pytest.mark.parametrize(
    "code,text", [pytest.param(*case, id=name) for name, case in BROKEN.items()]
)
def test_a_mistake_is_told_once_at_its_place(code: str, text: str) -> None:
    broken, line, column = marked(text)
    loaded = read(broken)
    assert loaded.workflow is None
    assert [(each.code, each.line, each.column) for each in loaded.problems] == [
        (code, line, column)
    ], render(loaded.problems)
    assert loaded.problems[0].mend


def test_a_way_without_an_end_is_told_for_each_of_its_nodes() -> None:
    loaded = read(HEAD + agent("a", following="b") + agent("b", following="a") + LAST)
    assert [(each.code, each.line) for each in loaded.problems] == [
        ("no_way_out", 6),
        ("no_way_out", 7),
        ("unbounded_cycle", 7),
        ("unreachable_node", 8),
    ]


def test_all_mistakes_come_at_once_also_those_of_the_graph_around_a_broken_node() -> None:
    loaded = read(
        HEAD.replace("name: W\n", "")
        + agent("a", more=", timeout: 1s", following="b")
        + agent("b", more=", inputs: {x: report.a}", following="c")
        + agent("c", following="y")
        + LAST
    )
    assert [(each.code, each.line) for each in loaded.problems] == [
        ("missing_key", 1),
        ("out_of_range", 5),
        ("unknown_target", 7),
    ]
    assert "z" in loaded.problems[2].mend


@pytest.mark.parametrize(
    "text",
    [
        HEAD + agent("a") + LAST,
        "\ufeff" + HEAD + agent("a") + LAST,
        (HEAD + agent("a") + LAST).replace("\n", "\r\n"),
        "---\n" + HEAD + agent("a") + LAST + "...\n",
        (HEAD + agent("a") + LAST).encode(),
        b"\xef\xbb\xbf" + (HEAD + agent("a") + LAST).encode(),
        HEAD + "  a: {kind: end}\n",
        HEAD + "  a: {kind: gate, title: Look}\n",
    ],
    ids=["plain", "mark", "CRLF", "markers", "bytes", "bytes with mark", "one end", "one gate"],
)
def test_a_definition_without_mistakes_is_loaded(text: str | bytes) -> None:
    loaded = read(text)
    assert loaded.problems == (), render(loaded.problems)
    assert loaded.workflow is not None
    assert loaded.workflow.id == "w"


def test_a_bounded_loop_through_a_gate_and_a_limit_is_accepted() -> None:
    loaded = read(
        "visits: {max: 40, at_limit: help}\n"
        + HEAD
        + agent("a", more=", inputs: {last: {from: check.t, optional: true}}", following="t")
        + "  t: {kind: check, run: [pytest, -q], next: d, unresolved: help}\n"
        "  d:\n    kind: decision\n    rules:\n"
        "      - {name: red, when: {field: check.t.exit_code, ne: 0}, to: a,"
        " repeat: {max: 2, at_limit: help}}\n"
        "    otherwise: s\n"
        + agent("s", more=", inputs: {tests: check.t, work: report.a}", following="ok")
        + "  ok: {kind: gate, title: Ok, decisions: {approve: z,"
        " request_changes: {to: a, repeat: {max: 1, at_limit: help}}}}\n"
        "  help: {kind: gate, title: Help, decisions: {approve: z, request_changes: stop}}\n"
        "  stop: {kind: end, result: failed}\n" + LAST
    )
    assert loaded.problems == (), render(loaded.problems)


def test_words_and_numbers_of_older_yaml_are_texts() -> None:
    values = "yes, on, NO, Off, 0123, 0x1f, 1:30, 1_000, .inf, 2030-01-01, '1', +1, 1."
    loaded = read(
        f"inputs: {{x: {{type: enum, values: [{values}]}}}}\n" + HEAD + "  a: {kind: end}\n"
    )
    assert loaded.workflow is not None, render(loaded.problems)
    assert loaded.workflow.inputs["x"].values == tuple(values.replace("'", "").split(", "))


def test_numbers_and_booleans_keep_their_types() -> None:
    options = "{a: 1, b: 1.0, c: true, d: 1e3, e: -0.5, f: False, g: 'true'}"
    loaded = read(HEAD + agent("a").replace("claude}", f"claude, options: {options}}}") + LAST)
    assert loaded.workflow is not None, render(loaded.problems)
    node = loaded.workflow.nodes["a"]
    assert node.kind == "agent"
    assert repr(node.agent.options) == repr(
        {"a": 1, "b": 1.0, "c": True, "d": 1000.0, "e": -0.5, "f": False, "g": "true"}
    )


def test_an_alias_stands_for_its_value() -> None:
    loaded = read(
        HEAD
        + agent("a", more=", report: &r {fields: {n: {type: number}}}", following="b")
        + agent("b", more=", report: *r")
        + LAST
    )
    assert loaded.workflow is not None, render(loaded.problems)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\n"
        + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefg")),
        "a: &a [*a]\n",
        "[" * 101,
        "a: " + "{a: " * 5_000,
        "- " * 5_000,
        pytest.param("[" + "1," * 20_001 + "]", marks=pytest.mark.slow),
    ],
    ids=["laughs", "cycle", "brackets", "braces", "dashes", "many"],
)
def test_bombs_are_refused(text: str) -> None:
    assert "too_complex" in [each.code for each in read(text).problems]


@pytest.mark.slow
def test_a_file_of_more_than_a_mebibyte_is_refused() -> None:
    text = HEAD + "  a: {kind: end}\n"
    comment = "#" * (limits.DEFINITION_FILE_BYTES_MAX - len(text) - 1) + "\n"
    assert read(text + comment).workflow is not None
    assert [each.code for each in read(text + comment + "#").problems] == ["file_too_large"]


def test_bytes_that_are_no_utf8_are_told_at_their_place() -> None:
    found = read(b"id: w\nname: \xe9t\xe9\n").problems[0]
    assert (found.code, found.line, found.column) == ("not_utf8", 2, 7)
    assert read("id: w".encode("utf-16")).problems[0].code == "not_utf8"


def test_problems_are_shown_like_a_compilers() -> None:
    loaded = read(HEAD + agent("a", following="y") + LAST)
    assert render(loaded.problems).splitlines() == [
        "w.yaml:6:75: unknown_target: there is no node 'y'",
        "      a: {kind: agent, agent: {provider: claude}, instructions: Do it., next: y}",
        "    " + " " * 74 + "^",
        "    there are: a, z",
    ]


def test_a_long_line_is_shown_in_part_with_the_caret_in_it() -> None:
    broken, _, column = marked(HEAD + "  a: {kind: end, title: " + "x" * 150 + ", ‸titel: x}\n")
    found = read(broken).problems[0]
    assert found.column == column
    assert found.source[found.caret - 1 :].startswith("titel: x")
    assert len(found.source) <= 160


def test_a_loaded_file_survives_json() -> None:
    for text in (HEAD + agent("a") + LAST, HEAD + agent("a", following="y") + LAST):
        loaded = read(text)
        assert Loaded.model_validate_json(loaded.model_dump_json()) == loaded


PIECES = st.sampled_from(
    [
        *"{}[]:,-?&*!|>'\"%@`#~\\ \n\t",
        "\r\n",
        "\x85",
        "\0",
        "\ud800",
        "---\n",
        "kind: end",
        "nodes:\n  a: ",
        "when: ",
        "{all: [",
        "<<: ",
        "!!int ",
        "\\U",
        "\\ud800",
        "&a ",
        "*a",
        "next: ",
        "1e999",
        "pointsman: 1\n",
        HEAD,
        LAST,
        agent("a"),
    ]
)


@given(st.lists(PIECES | st.text(max_size=3), max_size=30).map("".join) | st.binary(max_size=60))
def test_reading_never_raises(text: str | bytes) -> None:
    loaded = read(text)
    assert (loaded.workflow is None) == bool(loaded.problems)
    render(loaded.problems)


LINES = (HEAD + agent("a") + LAST + rule("{any: [{field: report.a.n, gt: 1}]}")).splitlines()


@given(st.permutations(LINES), st.integers(0, 200), st.text(max_size=2))
def test_reading_shuffled_definitions_never_raises(
    lines: list[str], at: int, inserted: str
) -> None:
    text = "\n".join(lines)
    read(text[:at] + inserted + text[at:])


@given(st.data())
def test_reading_a_damaged_definition_never_raises(data: st.DataObject) -> None:
    lines = rule("{any: [{field: report.a.n, gt: 1}, {field: check.t.exit_code, in: [0]}]}")
    start = data.draw(st.integers(0, len(lines)))
    end = data.draw(st.integers(start, min(len(lines), start + 20)))
    read(lines[:start] + data.draw(PIECES) + lines[end:])


def test_the_example_with_every_node_kind_is_valid() -> None:
    path = Path(__file__).parent / "definitions" / "reviewed-change.yaml"
    loaded = read(path.read_bytes())
    assert loaded.problems == (), render(loaded.problems)
    assert loaded.workflow is not None
    kinds = {node.kind for node in loaded.workflow.nodes.values()}
    assert kinds == {"agent", "check", "decision", "parallel", "join", "gate", "end"}
