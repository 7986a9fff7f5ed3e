"""The order of key bytes is the order asked for, and no key is too long or in another's range."""

from hypothesis import given
from hypothesis import strategies as st

from pointsman.graph.run import RunState
from pointsman.storage import keys

ID = st.text(max_size=300)
NUMBER = st.integers(min_value=0, max_value=2**63 - 1)
LMDB_KEY_BYTES_MAX = 511


@given(ID, ID, NUMBER)
def test_no_key_is_empty_or_longer_than_lmdb_takes(one: str, two: str, number: int) -> None:
    for key in (
        keys.part(one),
        keys.receipt(one, two),
        keys.intent(one, two),
        keys.timed(number, one, two),
        keys.event(one, number),
    ):
        assert 0 < len(key) <= LMDB_KEY_BYTES_MAX


@given(ID, ID, ID, ID)
def test_different_ids_have_different_keys(a: str, b: str, c: str, d: str) -> None:
    assert (keys.receipt(a, b) == keys.receipt(c, d)) == ((a, b) == (c, d))


@given(ID, ID, NUMBER)
def test_the_rows_of_a_run_are_exactly_those_with_its_prefix(a: str, b: str, number: int) -> None:
    prefix = keys.run_prefix(a)
    key = keys.event(b, number)
    assert key.startswith(prefix) == (a == b)
    if a == b:
        assert prefix <= key < keys.after_prefix(prefix)


@given(NUMBER, NUMBER, ID, ID)
def test_timed_keys_are_in_the_order_of_time(one: int, two: int, a: str, b: str) -> None:
    if one != two:
        assert (keys.timed(one, a, "x") < keys.timed(two, b, "x")) == (one < two)


@given(NUMBER, NUMBER)
def test_events_of_a_run_are_in_the_order_of_their_sequence(one: int, two: int) -> None:
    assert (keys.event("run", one) < keys.event("run", two)) == (one < two)
    assert keys.number_of(keys.event("run", one)) == one


def test_no_state_is_the_beginning_of_another_one() -> None:
    prefixes = [keys.state_prefix(state) for state in RunState]
    assert not any(one.startswith(two) for one in prefixes for two in prefixes if one is not two)
