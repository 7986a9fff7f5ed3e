"""The bytes of a row: CRC-32 (4 bytes), then ``tag/version``, a newline, and JSON.

Never a Python import path: renaming a module must not break history. The checksum covers the
key too, so a row that turns up in another row's place is found out.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError

from pointsman.graph.events import RecordedEvent
from pointsman.graph.intents import Intent
from pointsman.graph.model import Model
from pointsman.graph.projection import AttentionItem, Deadline, Projection, RunSummary
from pointsman.graph.run import Run
from pointsman.graph.schedule import Occurrence, Schedule
from pointsman.storage.journal import LogEntry
from pointsman.storage.journal_errors import JournalCorruptError, JournalFormatError
from pointsman.storage.keys import Table
from pointsman.storage.receipts import CommandReceipt
from pointsman.storage.upcasts import UPCASTS, UpcastTable, upcast

T = TypeVar("T")

# Of tables, keys and derived rows. A newer one is refused, an older one migrated (``migration``).
LAYOUT_VERSION: Final = 3
_CHECKSUM_BYTES: Final = 4


@dataclass(frozen=True)
class Schema(Generic[T]):
    """One kind of row, at the version that is written today."""

    tag: str
    version: int
    adapter: TypeAdapter[T]

    @cached_property
    def head(self) -> bytes:
        """What a row of today's version begins with, after its checksum."""
        return f"{self.tag}/{self.version}\n".encode()


class FormatRow(Model):
    """The version of the whole layout (tables and keys)."""

    format: int


class LeaseRow(Model):
    """The newest fencing token of a run."""

    token: int


class TokenRow(Model):
    """The attempt a bearer token is bound to."""

    attempt_id: str


class RunRow(Model):
    """A run's summary, and what its index rows were made from, so that they can be taken away.

    ``active`` says that the run owes an intent or has open work.
    """

    summary: RunSummary
    active: bool
    deadlines: tuple[Deadline, ...]
    attention: tuple[AttentionItem, ...]


FORMAT: Final = Schema("format", 1, TypeAdapter(FormatRow))
EVENT: Final = Schema("event", 2, TypeAdapter(RecordedEvent))
CHECKPOINT: Final = Schema("run", 3, TypeAdapter(Run))
RUN_ROW: Final = Schema("summary", 2, TypeAdapter(RunRow))
PROJECTION: Final = Schema("projection", 1, TypeAdapter(Projection))
INTENT: Final[Schema[Intent]] = Schema("intent", 2, TypeAdapter(Intent))
DEADLINE: Final = Schema("deadline", 2, TypeAdapter(Deadline))
ATTENTION: Final = Schema("attention", 2, TypeAdapter(AttentionItem))
RECEIPT: Final = Schema("receipt", 1, TypeAdapter(CommandReceipt))
TOKEN: Final = Schema("token", 1, TypeAdapter(TokenRow))
LEASE: Final = Schema("lease", 1, TypeAdapter(LeaseRow))
LOG: Final = Schema("log", 1, TypeAdapter(LogEntry))
SCHEDULE: Final = Schema("schedule", 1, TypeAdapter(Schedule))
OCCURRENCE: Final = Schema("occurrence", 1, TypeAdapter(Occurrence))
TROUBLE: Final = Schema("trouble", 1, TypeAdapter(AttentionItem))

SCHEMAS: Final[tuple[Schema[Any], ...]] = (
    FORMAT,
    EVENT,
    CHECKPOINT,
    RUN_ROW,
    PROJECTION,
    INTENT,
    DEADLINE,
    ATTENTION,
    RECEIPT,
    TOKEN,
    LEASE,
    LOG,
    SCHEDULE,
    OCCURRENCE,
    TROUBLE,
)

# Rows that follow from the events. A migration writes them anew, so they need no upcasts.
DERIVED: Final[tuple[Schema[Any], ...]] = (CHECKPOINT, RUN_ROW, INTENT, DEADLINE, ATTENTION)

# The tables with rows of one kind; the others are indexes without rows, or ``meta``.
OF_TABLE: Final[Mapping[Table, Schema[Any]]] = {
    Table.LEASES: LEASE,
    Table.EVENTS: EVENT,
    Table.CHECKPOINTS: CHECKPOINT,
    Table.RUNS: RUN_ROW,
    Table.OUTBOX: INTENT,
    Table.RECEIPTS: RECEIPT,
    Table.TOKENS: TOKEN,
    Table.LOG: LOG,
    Table.DUE: DEADLINE,
    Table.ATTENTION: ATTENTION,
    Table.SCHEDULES: SCHEDULE,
    Table.OCCURRENCES: OCCURRENCE,
    Table.TROUBLES: TROUBLE,
}


def encode(schema: Schema[T], key: bytes, value: T) -> bytes:
    """Return the row for a value; a value that does not fit its own type never gets written."""
    body = schema.head + schema.adapter.dump_json(value, warnings="error")
    return _checksum(key, body) + body


def decode(schema: Schema[T], key: bytes, row: bytes, upcasts: UpcastTable = UPCASTS) -> T:
    """Return the value of a row, brought to today's version.

    Raises ``JournalCorruptError`` for a damaged or misplaced row, and ``JournalFormatError``
    for one written by a later version of Pointsman.
    """
    checksum, body = row[:_CHECKSUM_BYTES], row[_CHECKSUM_BYTES:]
    if _checksum(key, body) != checksum:
        raise JournalCorruptError(f"the checksum of {schema.tag} row {key!r} is wrong")
    head, _, text = body.partition(b"\n")
    tag, _, digits = head.partition(b"/")
    if tag != schema.tag.encode() or not digits.isdigit():
        raise JournalCorruptError(f"row {key!r} is no {schema.tag} row but {head!r}")
    version = int(digits)
    if version > schema.version:
        raise JournalFormatError(
            f"{schema.tag} row {key!r} has version {version}; this Pointsman reads up to"
            f" {schema.version}: use the newer one that wrote it"
        )
    if version < schema.version and schema in DERIVED:
        raise JournalCorruptError(f"{schema.tag} row {key!r} was left behind by a migration")
    try:
        if version < schema.version:
            value = upcast(upcasts, schema.tag, version, schema.version, orjson.loads(text))
            text = orjson.dumps(value)
        return schema.adapter.validate_json(text)
    except (ValidationError, orjson.JSONDecodeError) as error:
        raise JournalCorruptError(f"{schema.tag} row {key!r} does not decode: {error}") from error


def stored_json(schema: Schema[T], key: bytes, row: bytes) -> bytes:
    """Return a row's JSON at today's version, without making a value of what is that already.

    For those who copy many rows: the checksum is looked at, the shape is trusted. Raises what
    ``decode`` raises.
    """
    head = schema.head
    if (
        row.startswith(head, _CHECKSUM_BYTES)
        and _checksum(key, memoryview(row)[_CHECKSUM_BYTES:]) == row[:_CHECKSUM_BYTES]
    ):
        return row[_CHECKSUM_BYTES + len(head) :]
    return schema.adapter.dump_json(decode(schema, key, row))


def _checksum(key: bytes, body: bytes | memoryview) -> bytes:
    return zlib.crc32(body, zlib.crc32(key)).to_bytes(_CHECKSUM_BYTES, "big")
