"""YAML as people write it: what is read, what is refused, and that both parsers read the same."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pointsman.storage.yaml_nodes import PlainParser
from pointsman.storage.yaml_text import YamlText, read_yaml
from tests.unit.storage.broken_definitions import GRAPHS, HEAD, LAST, SHAPES, TEXTS, agent, marked
from tests.unit.storage.broken_groups import GROUPS


def value(text: str) -> Any:
    found = read_yaml(text)
    assert found.problems == [], found.problems
    return found.value


def told(found: YamlText) -> list[tuple[str, int, int]]:
    return [(each.problem.code, *each.position) for each in found.problems]


def test_libyaml_does_the_work_here() -> None:
    assert yaml.__with_libyaml__


# An escape that names no character is told at the escape by one, at its text by the other.
ESCAPES = {"an escaped surrogate", "no character at all"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(marked(case[1])[0], id=name)
        for name, case in (SHAPES | GRAPHS | TEXTS | GROUPS).items()
        if name not in ESCAPES and "\x1b" not in case[1]
    ],
)
def test_both_parsers_read_the_same_values_places_and_mistakes(text: str) -> None:
    fast, plain = read_yaml(text), read_yaml(text, PlainParser)
    assert (fast.value, fast.places, told(fast)) == (plain.value, plain.places, told(plain))


@pytest.mark.parametrize("name", sorted(ESCAPES))
def test_a_wrong_escape_is_told_without_libyaml_too(name: str) -> None:
    assert [code for code, *_ in told(read_yaml(marked(TEXTS[name][1])[0], PlainParser))] == [
        "bad_text"
    ]


def test_a_merge_key_brings_what_is_not_written_here() -> None:
    text = "base: &base {a: 1, b: 2}\none: {<<: *base, b: 3, c: 4}\n"
    assert value(text)["one"] == {"a": 1, "b": 3, "c": 4}


def test_of_several_merged_mappings_the_first_counts() -> None:
    text = "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n"
    assert value(text)["c"] == {"x": 1, "y": 2}


def test_merged_mappings_merge_in_turn_and_their_own_keys_count_first() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {<<: *a, x: 2}\nc: {<<: *b}\n"
    assert value(text)["c"] == {"x": 2, "y": 1}


def test_a_merge_sign_in_quotes_is_a_key() -> None:
    assert value("'<<': x\n") == {"<<": "x"}


def test_what_was_merged_in_is_placed_where_it_is_written() -> None:
    found = read_yaml("a: &a\n  x: 1\nb:\n  <<: *a\n  y: 2\n")
    assert found.position(("b", "x")) == (2, 6)
    assert found.position(("b", "y")) == (5, 6)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a {<<: *a}\n",
        "a: &a {x: 1}\n"
        + "".join(
            f"{b}: &{b} {{<<: [{', '.join(['*' + a] * 9)}]}}\n" for a, b in ("ab", "bc", "cd")
        )
        + "e: {<<: ["
        + ", ".join(["*d"] * 60)
        + "]}\n",
    ],
    ids=["itself", "exploding"],
)
def test_merging_is_bounded(text: str) -> None:
    assert [code for code, *_ in told(read_yaml(text))] == ["too_complex"]


@pytest.mark.parametrize(
    "text,expected",
    [
        ("a: |\n  one\n  two\n", "one\ntwo\n"),
        ("a: |-\n  one\n  two\n", "one\ntwo"),
        ("a: >\n  one\n  two\n\n  three\n", "one two\nthree\n"),
        ("a: 'it''s'\n", "it's"),
        ('a: "x\\n\\u00e9"\n', "x\né"),
        ("a: one\n  two\n", "one two"),
        ("a: http://x/y#z\n", "http://x/y#z"),
        ("a: x # a comment\n", "x"),
        ("a: größe → 終わり 🚂\n", "größe → 終わり 🚂"),
        ("a: |\r\n  one\r\n  two\r\n", "one\ntwo\n"),
    ],
)
def test_texts_of_every_form_are_read(text: str, expected: str) -> None:
    assert value(text) == {"a": expected}


@pytest.mark.parametrize(
    "word", ["on", "off", "yes", "no", "y", "n", "Yes", "NO", "On", "OFF", "0o17", "1:30", "1e"]
)
def test_words_that_were_booleans_or_numbers_once_are_texts_as_keys_and_values(word: str) -> None:
    assert value(f"{word}: {word}\n") == {word: word}


def test_quotes_make_a_text_of_anything() -> None:
    assert value("a: ['true', \"1\", 'null', '~', true, 1, null, ~]\n") == {
        "a": ["true", "1", "null", "~", True, 1, None, None]
    }


def test_an_enum_may_have_the_value_no_and_a_report_the_field_on() -> None:
    fields = "{on: {type: boolean}, answer: {type: enum, values: [yes, no, on, off]}}"
    text = HEAD + agent("a", more=f", report: {{fields: {fields}}}") + LAST
    read = value(text)["nodes"]["a"]["report"]["fields"]
    assert read["answer"]["values"] == ["yes", "no", "on", "off"]
    assert "on" in read


def test_positions_count_characters_not_bytes_nor_screen_columns() -> None:
    found = read_yaml("größe: '🚂', x\n")
    assert told(found) == [("yaml_syntax", 1, 11)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_count_alike_whatever_ends_them(end: str) -> None:
    found = read_yaml(end.join(["a: 1", "", "b: 2", "a: 3", ""]))
    assert told(found) == [("duplicate_key", 4, 1)]


PIECES = st.sampled_from(
    ["a", "b: ", "- ", "{", "}", "[", "]", ", ", ": ", "\n", "  ", "&x ", "*x", "<<: ", "'", '"',
     "|\n", ">\n", "#", "!!str ", "!", "? ", "---\n", "...\n", "\t", "1", "true", "~", "é", "\r\n"]
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_what_both_parsers_accept_they_read_alike(text: str) -> None:
    """They differ in where an empty value stands, and in a few exotic texts that one refuses."""
    fast, plain = read_yaml(text), read_yaml(text, PlainParser)
    if not fast.problems and not plain.problems:
        assert fast.value == plain.value
