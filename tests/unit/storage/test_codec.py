"""Rows come back as they went in, or not at all."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from pointsman.graph.model import JsonScalar, Model
from pointsman.storage import codec
from pointsman.storage.codec import Schema
from pointsman.storage.journal_errors import JournalCorruptError, JournalFormatError
from pointsman.storage.upcasts import UPCASTS
from tests.harness.core import Process
from tests.harness.journals import a_receipt


class Signal(Model):
    """A made-up row, now at its third version."""

    name: str
    aspects: tuple[str, ...]


SIGNAL_1 = Schema("signal", 1, TypeAdapter(dict[str, str]))
SIGNAL_3 = Schema("signal", 3, TypeAdapter(Signal))
SIGNAL_UPCASTS = {
    ("signal", 1): lambda row: {"name": row["title"], "aspect": row["aspect"]},
    ("signal", 2): lambda row: {"name": row["name"], "aspects": [row["aspect"]]},
}


def test_every_event_and_state_of_a_real_run_comes_back_equal() -> None:
    process = Process().work()
    process.run_check(1).work().run_check().decide_gate()
    assert process.state.ended
    for each in process.recorded:
        assert codec.decode(codec.EVENT, b"k", codec.encode(codec.EVENT, b"k", each)) == each
    row = codec.encode(codec.CHECKPOINT, b"k", process.state)
    assert codec.decode(codec.CHECKPOINT, b"k", row) == process.state


def test_a_receipt_keeps_the_very_bytes_of_its_reply() -> None:
    receipt = a_receipt("run", "command")
    row = codec.encode(codec.RECEIPT, b"k", receipt)
    assert codec.decode(codec.RECEIPT, b"k", row) == receipt


class Bag(Model):
    values: dict[str, JsonScalar]


BAG = Schema("bag", 1, TypeAdapter(Bag))
SCALARS = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)


@given(st.dictionaries(st.text(), SCALARS))
def test_scalars_come_back_with_their_value_and_kind(values: dict[str, JsonScalar]) -> None:
    back = codec.decode(BAG, b"k", codec.encode(BAG, b"k", Bag(values=values)))
    assert [(type(value), value) for value in back.values.values()] == [
        (type(value), value) for value in values.values()
    ]


def test_any_flipped_bit_is_found_out() -> None:
    row = codec.encode(SIGNAL_3, b"key", Signal(name="home", aspects=("clear",)))
    for position in range(len(row)):
        for bit in range(8):
            damaged = bytearray(row)
            damaged[position] ^= 1 << bit
            with pytest.raises(JournalCorruptError, match=r"key"):
                codec.decode(SIGNAL_3, b"key", bytes(damaged))


@pytest.mark.parametrize("length", range(12))
def test_a_row_cut_short_is_found_out(length: int) -> None:
    row = codec.encode(SIGNAL_3, b"key", Signal(name="home", aspects=()))
    with pytest.raises(JournalCorruptError):
        codec.decode(SIGNAL_3, b"key", row[:length])


def test_a_row_in_the_place_of_another_is_found_out() -> None:
    row = codec.encode(SIGNAL_3, b"key", Signal(name="home", aspects=()))
    with pytest.raises(JournalCorruptError):
        codec.decode(SIGNAL_3, b"other key", row)
    same_key = codec.encode(BAG, b"key", Bag(values={}))
    with pytest.raises(JournalCorruptError, match="no signal row"):
        codec.decode(SIGNAL_3, b"key", same_key)


def test_a_row_that_is_whole_but_does_not_fit_its_type_is_corrupt() -> None:
    body = b'signal/3\n{"name": 1}'
    row = zlib.crc32(body, zlib.crc32(b"key")).to_bytes(4, "big") + body
    with pytest.raises(JournalCorruptError, match="does not decode"):
        codec.decode(SIGNAL_3, b"key", row)


def test_a_row_of_a_newer_version_is_refused_and_not_guessed_at() -> None:
    newer = Schema("signal", 4, TypeAdapter(Signal))
    row = codec.encode(newer, b"key", Signal(name="home", aspects=()))
    with pytest.raises(JournalFormatError, match="version 4"):
        codec.decode(SIGNAL_3, b"key", row)


def test_a_row_of_an_older_version_is_brought_up_step_by_step() -> None:
    row = codec.encode(SIGNAL_1, b"key", {"title": "home", "aspect": "clear"})
    signal = codec.decode(SIGNAL_3, b"key", row, SIGNAL_UPCASTS)
    assert signal == Signal(name="home", aspects=("clear",))


def test_every_earlier_version_of_every_schema_has_its_upcast() -> None:
    earlier = {
        (schema.tag, version)
        for schema in codec.SCHEMAS
        for version in range(1, schema.version)
        if schema not in codec.DERIVED  # a migration writes those anew
    }
    assert set(UPCASTS) == earlier


def test_tags_are_told_apart() -> None:
    tags = [schema.tag for schema in codec.SCHEMAS]
    assert len(set(tags)) == len(tags)


def test_a_value_that_does_not_fit_its_own_type_is_never_written() -> None:
    bent = Signal(name="home", aspects=()).model_copy(update={"name": 7})
    with pytest.raises(PydanticSerializationError):
        codec.encode(SIGNAL_3, b"key", bent)


def test_a_derived_row_that_a_migration_left_behind_is_not_read_as_if_it_were_todays() -> None:
    older = codec.Schema(codec.RUN_ROW.tag, 1, codec.LEASE.adapter)
    row = codec.encode(older, b"k", codec.LeaseRow(token=1))
    with pytest.raises(JournalCorruptError, match="left behind"):
        codec.decode(codec.RUN_ROW, b"k", row)
