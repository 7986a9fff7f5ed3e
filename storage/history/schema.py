"""The schema of the history: its DDL, and the SQL that fills its tables.

Its version is the digest of all of this, so that a changed table or statement makes an older file
be replaced without anybody having to remember it.
"""

import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

import duckdb

from pointsman.storage.history.tables import OF_RUNS, TABLES
from pointsman.storage.history.views import VIEWS


def _text(folder: str, name: str) -> str:
    return files(f"pointsman.storage.history.{folder}").joinpath(f"{name}.sql").read_text("utf-8")


# What is kept for the copying itself.
_OWN: Final = (
    "CREATE TABLE history_version (version VARCHAR)",
    "CREATE TABLE cursors (shard VARCHAR, position BIGINT)",
    "CREATE TABLE occurrence_texts (shard VARCHAR, text VARCHAR)",
)

# Each selects the rows of one table from ``batch``, the whole events of the runs of a batch.
DERIVATIONS: Final[Mapping[str, str]] = {
    table.name: _text("derived", table.name) for table in OF_RUNS
}
INSERT_EVENTS: Final = _text("derived", "events")
INSERT_DEFINITIONS: Final = _text("derived", "definitions")
INSERT_OCCURRENCES: Final = _text("derived", "occurrences")

RUNS_OF_BATCH: Final = """
CREATE OR REPLACE TEMP TABLE batch_runs AS SELECT unnest($runs) AS run_id
"""
BATCH: Final = """
CREATE OR REPLACE TEMP TABLE batch AS
SELECT * FROM events WHERE run_id IN (FROM batch_runs)
"""

_DDL: Final = (
    *_OWN,
    *(table.ddl for table in TABLES),
    *(f"CREATE VIEW {view.name} AS {_text('questions', view.name)}" for view in VIEWS),
)
VERSION: Final = hashlib.sha256(
    "\n".join(
        (*_DDL, *DERIVATIONS.values(), INSERT_EVENTS, INSERT_DEFINITIONS, INSERT_OCCURRENCES)
    ).encode()
).hexdigest()


def make(connection: duckdb.DuckDBPyConnection) -> None:
    """Make every table and view in an empty file, in one transaction."""
    connection.begin()
    for statement in _DDL:
        connection.execute(statement)
    connection.execute("INSERT INTO history_version VALUES (?)", [VERSION])
    connection.commit()


def is_todays(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the file has today's schema."""
    try:
        return connection.execute("FROM history_version").fetchone() == (VERSION,)
    except duckdb.Error:
        return False
