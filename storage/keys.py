"""The tables of the journal and the bytes of their keys.

Text is a key part as its UTF-8 bytes, parts end with a NUL, numbers are eight bytes big-endian:
the order of the bytes is the order asked for. What a run's own rows can answer has no index
of its own: the outbox, the last sequence and the intents of a run are prefix scans, and the list of
all runs is the run table backwards (run ids begin with their time).
"""

import struct
from enum import StrEnum
from hashlib import blake2b
from typing import Final

from pointsman.graph.run import RunState


class Table(StrEnum):
    """The sub-databases. Their names are on disk: never rename one, never reuse a name."""

    META = "meta"
    LEASES = "leases"  # run
    EVENTS = "events"  # run, sequence
    CHECKPOINTS = "checkpoints"  # run
    RUNS = "runs"  # run -> summary and what its index rows were made from
    OUTBOX = "outbox"  # run, intent
    RECEIPTS = "receipts"  # scope, command
    TOKENS = "tokens"  # digest of a bearer token
    LOG = "log"  # position
    # Indexes over all runs, each for one question that would otherwise read every run:
    BY_STATE = "by_state"  # state, run -> nothing
    ACTIVE = "active"  # run -> nothing
    DUE = "due"  # due time, run, deadline
    ATTENTION = "attention"  # waiting since, run, item
    # Schedules. A journal of before they existed gets these tables when it is next written.
    SCHEDULES = "schedules"  # schedule
    SCHEDULES_DUE = "schedules_due"  # next slot, schedule -> nothing
    OCCURRENCES = "occurrences"  # occurrence
    OCCURRENCES_OF = "occurrences_of"  # schedule, made at, occurrence -> nothing
    OCCURRENCES_PENDING = "occurrences_pending"  # made at, occurrence -> nothing
    # Runs that no worker can take. A journal of before gets the table when it is next written.
    TROUBLES = "troubles"  # run


FORMAT_KEY: Final = b"format"

_NUMBER: Final = struct.Struct(">Q")
_NUL: Final = b"\0"
_HASHED: Final = b"\x01"
# Two parts, a number and their ends must stay within LMDB's 511 bytes.
_PART_BYTES_MAX: Final = 200


def part(text: str) -> bytes:
    """Return text as a key part; what is too long or would break the order is hashed."""
    # surrogatepass: a malformed id from outside is one that nobody has, not a crash.
    raw = text.encode("utf-8", "surrogatepass")
    if 0 < len(raw) <= _PART_BYTES_MAX and _NUL not in raw and raw[:1] != _HASHED:
        return raw
    return _HASHED + blake2b(raw, digest_size=32).hexdigest().encode()


def is_plain(text: str) -> bool:
    """Whether the text can be read back from its key part, as run ids must."""
    return part(text) == text.encode("utf-8", "surrogatepass")


def number(value: int) -> bytes:
    """Return a non-negative number so that bytes order as numbers do."""
    return _NUMBER.pack(value)


def run_prefix(run_id: str) -> bytes:
    """Return what every key of a run begins with in tables with several rows a run."""
    return part(run_id) + _NUL


def event(run_id: str, sequence: int) -> bytes:
    """Return the key of an event."""
    return run_prefix(run_id) + number(sequence)


def number_of(key: bytes) -> int:
    """Return the number a key ends with: an event's sequence, a position in the log."""
    value: int = _NUMBER.unpack(key[-_NUMBER.size :])[0]
    return value


def time_of(key: bytes) -> int:
    """Return the time an index row's key begins with."""
    value: int = _NUMBER.unpack(key[: _NUMBER.size])[0]
    return value


def run_of(table: Table, key: bytes) -> str:
    """Return the run that a row is about which follows from a run's events."""
    named = after_number(key) if table in (Table.DUE, Table.ATTENTION) else key
    return named.partition(_NUL)[0].decode()


def after_number(key: bytes) -> bytes:
    """Return what follows the number a key begins with."""
    return key[_NUMBER.size :]


def intent(run_id: str, intent_id: str) -> bytes:
    """Return the key of an outbox row."""
    return run_prefix(run_id) + part(intent_id)


def receipt(scope: str, command_id: str) -> bytes:
    """Return the key of a receipt."""
    return part(scope) + _NUL + part(command_id)


def timed(at_ms: int, run_id: str, item_id: str) -> bytes:
    """Return the key of an index row in order of time."""
    return number(at_ms) + run_prefix(run_id) + part(item_id)


def state_prefix(state: RunState) -> bytes:
    """Return what the keys of all runs in a state begin with."""
    return part(state) + _NUL


def after_prefix(prefix: bytes) -> bytes:
    """Return the least key after all keys with a prefix that ends with a NUL."""
    assert prefix.endswith(_NUL), prefix
    return prefix[:-1] + b"\x01"
