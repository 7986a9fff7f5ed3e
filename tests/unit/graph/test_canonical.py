"""Canonical bytes and digests: equal for equal values only."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.graph.canonical import INTEGER_MAX, canonical_bytes, digest, flaws


def test_keys_are_sorted_and_a_plain_value_has_the_plain_digest() -> None:
    assert canonical_bytes({"b": [1, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'.encode()
    assert digest({"a": 1}) == "sha256:" + hashlib.sha256(b'{"a":1}').hexdigest()


@pytest.mark.parametrize(
    "left,right",
    [
        (1, 1.0),
        (1, True),
        (0, False),
        ([1, 1.0], [1.0, 1]),
        ({"a": 1, "b": 1.0}, {"a": 1.0, "b": 1}),
        ("1", 1),
        (None, "null"),
        ([[]], [{}]),
    ],
)
def test_values_that_differ_have_different_digests(left: object, right: object) -> None:
    assert digest(left) != digest(right)


def test_the_order_of_keys_does_not_matter() -> None:
    assert digest({"a": 1.0, "b": 2.0}) == digest({"b": 2.0, "a": 1.0})


@pytest.mark.parametrize(
    "value,where",
    [
        ({"a": float("nan")}, ("a",)),
        ([0, float("-inf")], (1,)),
        ({"a": [INTEGER_MAX + 1]}, ("a", 0)),
        ("\udc00", ()),
        ({"a": b"x"}, ("a",)),
    ],
)
def test_what_json_cannot_carry_is_found_at_its_place(
    value: object, where: tuple[str | int, ...]
) -> None:
    assert [flaw.where for flaw in flaws(value)] == [where]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_a_value_without_flaws_has_a_digest(value: object) -> None:
    if not flaws(value):
        assert digest(value).startswith("sha256:")
