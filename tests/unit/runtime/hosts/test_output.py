"""Goal: output is bounded, secrets are blotted out wherever a read cuts them, no disk blocks it."""

import hashlib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pointsman.runtime.processes.runner import Output

SECRET = b"s3cret-token"


def output(path: Path, *, log: int = 1000, tail: int = 100) -> Output:
    return Output(path, log, tail, [SECRET, b""])


@given(st.lists(st.integers(min_value=1, max_value=9), max_size=40))
def test_a_secret_is_found_however_the_output_is_cut(cuts: list[int]) -> None:
    text = b"a " + SECRET + b" b " + SECRET + SECRET[:5]
    made = Output(Path("/dev/null"), 1000, 1000, [SECRET])
    at = 0
    for cut in cuts:
        made.add(text[at : at + cut])
        at += cut
    made.add(text[at:])
    made.finish()
    assert made.tail() == "a [redacted] b [redacted]s3cre"


def test_what_cannot_be_a_secret_is_in_the_log_at_once(tmp_path: Path) -> None:
    made = output(tmp_path / "log")
    made.add(b"At it.\ns3c")
    assert (tmp_path / "log").read_bytes() == b"At it.\n"
    made.add(b"rets\n")
    assert (tmp_path / "log").read_bytes() == b"At it.\ns3crets\n"
    made.finish()


def test_the_digest_is_that_of_the_log_file(tmp_path: Path) -> None:
    made = output(tmp_path / "log", log=10)
    for _ in range(9):
        made.add(b"abc")
    made.finish()
    kept = (tmp_path / "log").read_bytes()
    assert kept == b"abcabcabca"
    assert made.digest() == hashlib.sha256(kept).hexdigest()
    assert (made.bytes_seen, made.bytes_logged) == (27, 10)


def test_a_tail_of_bytes_that_are_no_text_stays_within_its_bound() -> None:
    made = Output(Path("/dev/null"), 0, 100, [])
    made.add(b"\xff" * 500)
    made.finish()
    assert 0 < len(made.tail().encode()) <= 100


def test_a_full_disk_ends_the_log_and_nothing_else() -> None:
    made = Output(Path("/dev/full"), 1000, 100, [])
    made.add(b"one ")
    made.add(b"two")
    made.finish()
    assert made.log_error is not None
    assert made.tail() == "one two"
    assert made.bytes_logged == 0
