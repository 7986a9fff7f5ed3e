"""The shapes of what is asked of the history over HTTP."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from pointsman.graph.model import Model
from pointsman.storage.history.limits import ROWS_MAX, STATEMENT_CHARS_MAX

CUT: Final = "Pointsman-Cut"


class Form(StrEnum):
    """In which forms rows are written, by the public names."""

    JSON = "json"
    CSV = "csv"
    ARROW = "arrow"
    PARQUET = "parquet"


class SqlRequest(Model):
    """One SELECT, and the form of its rows; the header ``Pointsman-Cut`` says if there are more."""

    statement: str = Field(max_length=STATEMENT_CHARS_MAX)
    format: Form = Field(default=Form.JSON, strict=False)
    rows_max: int = Field(default=ROWS_MAX, ge=1, le=ROWS_MAX)


def _absolute(folder: Path) -> Path:
    if not folder.is_absolute():
        raise ValueError("the folder's path must be absolute: it is the server that writes")
    return folder


class ExportRequest(Model):
    """Write all tables as Parquet files into a new, empty or earlier folder."""

    folder: Annotated[Path, Field(strict=False), AfterValidator(_absolute)]


class ExportReply(Model):
    """The tables that were written, a folder each."""

    folder: Path
    tables: list[str]


class RebuildRequest(Model):
    """Make the history again from the journal."""


class RebuildReply(Model):
    """The history was made again from the journal."""

    rebuilt: bool
