"""Parquet files of the history, for any tool that reads them, while the server runs.

DuckDB may not touch files here (``enable_external_access`` is off), so rows leave it as Arrow
batches and pyarrow writes them.
"""

import os
import shutil
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pointsman.storage.history.errors import HistoryError
from pointsman.storage.history.history import History
from pointsman.storage.history.tables import EVENTS, OF_RUNS, RUNS, TABLES, Table

_ROWS_A_BATCH: Final = 50_000
# The large ones; ``runs`` itself has a row a run.
_BY_MONTH: Final = frozenset({EVENTS, *OF_RUNS} - {RUNS})


def export(history: History, folder: Path) -> None:
    """Write a folder of Parquet files a table; those of runs are parted by the month of the start.

    All tables are of one moment. They are written beside ``folder`` and moved into its place when
    whole; a folder that holds anything else is left untouched. Raises ``HistoryError`` for it.
    """
    names = {table.name for table in TABLES}
    if folder.exists() and not {each.name for each in folder.iterdir()} <= names:
        raise HistoryError(f"{folder} holds other files; nothing was written: name an empty folder")
    beside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    connection = history.connection()
    connection.begin()
    for table in TABLES:
        _write(connection, table, beside / table.name)
    connection.rollback()
    _move(beside, folder)


def _write(connection: duckdb.DuckDBPyConnection, table: Table, folder: Path) -> None:
    query, parts = f"FROM {table.name}", None
    if table in _BY_MONTH:
        query = f"""
            SELECT t.*, strftime(r.started_at, '%Y-%m') AS started_month
            FROM {table.name} t JOIN runs r USING (run_id)"""
        month = pa.schema([("started_month", pa.string())])
        parts = ds.partitioning(month, flavor="hive")
    reader = connection.sql(query).to_arrow_reader(_ROWS_A_BATCH)
    ds.write_dataset(reader, folder, format="parquet", partitioning=parts)
    if not any(folder.rglob("*.parquet")):
        # Whoever reads it still finds the table and its columns.
        folder.mkdir(exist_ok=True)
        pq.write_table(reader.schema.empty_table(), folder / "part-0.parquet")


def _move(beside: Path, folder: Path) -> None:
    earlier = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(earlier, ignore_errors=True)
    if folder.exists():
        os.replace(folder, earlier)
    os.replace(beside, folder)
    shutil.rmtree(earlier, ignore_errors=True)
