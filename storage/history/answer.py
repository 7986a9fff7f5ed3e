"""What a statement is answered with, in memory and between processes."""

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a statement, each column under a name of its own; ``cut`` if there were more."""

    table: pa.Table
    cut: bool


def arrow_of(table: pa.Table) -> bytes:
    """Return a table as a stream in Arrow's format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def table_of(stream: bytes) -> pa.Table:
    """Return the table of such a stream."""
    with pa.ipc.open_stream(stream) as reader:
        return reader.read_all()
