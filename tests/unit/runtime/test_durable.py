"""Goal: names are encoded one to one, and a durable file is whole or absent."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.runtime.durable import create_durably, file_name, write_durably

KEYS = ["wf:r0-1.a.1:launch", "", ".", "..", ".hidden", "a/b", "ü", "a_b", "A", "x" * 400]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_becomes_one_safe_name(key: str) -> None:
    name = file_name(key)
    assert name not in ("", ".", "..")
    assert not name.startswith(".")
    assert len(name) <= 255
    assert set(name).isdisjoint("/:% \0")


@given(st.text(max_size=300), st.text(max_size=300))
def test_different_keys_have_different_names(one: str, other: str) -> None:
    assert (one == other) == (file_name(one) == file_name(other))


def test_ids_of_attempts_are_their_own_names() -> None:
    attempt = "r0-01j00000000000000000000000.implement.1.1"
    assert file_name(attempt) == attempt


def test_a_replaced_file_leaves_nothing_beside_it(tmp_path: Path) -> None:
    write_durably(tmp_path / "a.json", "one")
    write_durably(tmp_path / "a.json", "two")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.json", "two")]


def test_only_the_first_maker_makes_a_file(tmp_path: Path) -> None:
    assert create_durably(tmp_path / "a.json", "one")
    assert not create_durably(tmp_path / "a.json", "two")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.json", "one")]
