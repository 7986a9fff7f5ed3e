"""What to do instead of a statement that is refused because it does something else than read."""

from collections.abc import Mapping
from typing import Final

import duckdb
from duckdb import StatementType as Kind

ONLY_READ: Final = "the history is a copy that is only read; name intermediate results with WITH"
_FILES: Final = (
    "`pointsman history export` writes the tables to files, `pointsman sql --format csv` an answer"
)
_OF_THE_HISTORY: Final = (
    "settings, files and extensions are the history's own; for others take the tables along with "
    "`pointsman history export`, and ask a DuckDB of your own"
)
_INSTEAD: Final[Mapping[Kind, str]] = {
    # DuckDB makes several statements of it, to look for the values first.
    Kind.MULTI: "name its values: PIVOT runs ON state IN ('completed', 'failed') USING count(*)",
    Kind.COPY: _FILES,
    Kind.EXPORT: _FILES,
    Kind.EXPLAIN: "ask the statement itself; what it may take is bounded",
    Kind.PREPARE: "ask the statement itself",
    Kind.EXECUTE: "ask the statement itself",
    **dict.fromkeys(
        (Kind.SET, Kind.PRAGMA, Kind.LOAD, Kind.ATTACH, Kind.DETACH, Kind.CALL), _OF_THE_HISTORY
    ),
}


def refusal(statement: str, kind: Kind) -> str:
    """Say what is refused of a statement, and what to do instead."""
    return f"{_word(statement, kind)} is refused: {_INSTEAD.get(kind, ONLY_READ)}"


def _word(statement: str, kind: Kind) -> str:
    """Return the word that makes the statement what it is; mostly its first."""
    if kind is Kind.MULTI:
        return "PIVOT without its values"
    tokens = [(at, what) for at, what in duckdb.tokenize(statement) if what.name != "comment"]
    words = statement[tokens[0][0] :].split(maxsplit=1) if tokens else []
    first = words[0].upper().rstrip(";") if words else ""
    return kind.name if first in ("", "WITH", "FROM") else first
