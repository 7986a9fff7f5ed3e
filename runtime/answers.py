"""Rows of the history as people, spreadsheets and programs read them."""

import csv
import io
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from pointsman.runtime.wire.history import Form
from pointsman.storage.history.answer import arrow_of

_INTEGER_MAX: Final = 2**63
_ROWS_AT_ONCE: Final = 1_000
_PIECE_CHARS: Final = 64 * 1024


def written(table: pa.Table, form: Form) -> Iterator[bytes]:
    """Yield rows in one of the forms, in pieces."""
    match form:
        case Form.JSON:
            return json_lines(table)
        case Form.CSV:
            return csv_lines(table)
        case Form.ARROW:
            return iter([arrow_of(table)])
        case Form.PARQUET:
            return iter([parquet_of(table)])


def json_lines(table: pa.Table) -> Iterator[bytes]:
    """Yield an object a row, one a line, in pieces; times in ISO 8601."""
    for batch in table.to_batches(_ROWS_AT_ONCE):
        yield b"".join(
            orjson.dumps(_for_programs(row), option=orjson.OPT_APPEND_NEWLINE)
            for row in batch.to_pylist()
        )


def csv_lines(table: pa.Table) -> Iterator[bytes]:
    """Yield a heading and a line a row, in pieces."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(table.column_names)
    for cells in cells_of(table):
        writer.writerow(cells)
        if written.tell() > _PIECE_CHARS:
            yield _taken(written)
    yield _taken(written)


def parquet_of(table: pa.Table) -> bytes:
    """Return the rows as one Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def cells_of(table: pa.Table) -> Iterator[list[str]]:
    """Yield the cells of each row as people read them."""
    for batch in table.to_batches(_ROWS_AT_ONCE):
        for row in batch.to_pylist():
            yield [_for_people(value) for value in row.values()]


def _taken(written: io.StringIO) -> bytes:
    text = written.getvalue()
    written.seek(0)
    written.truncate()
    return text.encode()


def _for_people(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:g}"
        case datetime():
            return value.isoformat(" ", "milliseconds")
        case pa.MonthDayNano():
            return _duration(value)
        case _:
            return str(value)


def _for_programs(value: Any) -> Any:
    """Return what JSON has a word for; all else as its text."""
    match value:
        case None | bool() | float() | str():
            return value
        case int():
            return value if -_INTEGER_MAX <= value < _INTEGER_MAX else str(value)
        case Decimal() if value == value.to_integral_value() and value.as_tuple().exponent == 0:
            return _for_programs(int(value))  # sums of whole numbers are of this type
        case datetime() | date():
            return value.isoformat()
        case pa.MonthDayNano():
            return _duration(value)
        case list() | tuple():
            return [_for_programs(each) for each in value]
        case dict():
            return {str(key): _for_programs(each) for key, each in value.items()}
        case _:
            return str(value)


def _duration(value: pa.MonthDayNano) -> str:
    """Return an interval in ISO 8601."""
    months, days, nanoseconds = value
    return f"P{months}M{days}DT{nanoseconds / 1e9:g}S"
