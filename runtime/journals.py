"""Opening a data directory's journal, with words for people when it cannot be opened.

Apart from ``app``, since looking at runs must not load what running them needs.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pointsman.runtime.config import DataDirectory
from pointsman.runtime.problems import PointsmanError
from pointsman.storage.filesystem import refuse_network
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import (
    JournalCorruptError,
    JournalError,
    JournalFormatError,
    JournalFullError,
    JournalOutdatedError,
    JournalPlaceError,
)
from pointsman.storage.lmdb_journal import LmdbJournal


def open_journal(path: Path, *, read_only: bool = False) -> Journal:
    """Open the journal, telling people in their words why it cannot be."""
    return open_lmdb_journal(path, read_only=read_only)


def open_lmdb_journal(path: Path, *, read_only: bool = False) -> LmdbJournal:
    """Open the journal for what only this kind of one can do."""
    with in_words():
        return LmdbJournal.open(path, read_only=read_only)


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Tell people why a journal cannot be opened."""
    try:
        yield
    except JournalFormatError as error:
        raise PointsmanError("data_directory_newer", str(error)) from error
    except JournalOutdatedError as error:
        raise PointsmanError("data_directory_older", str(error)) from error
    except JournalPlaceError as error:
        raise PointsmanError("data_directory_network", str(error)) from error
    except JournalFullError as error:
        raise PointsmanError("journal_full", str(error)) from error
    except JournalCorruptError as error:
        raise PointsmanError("journal_corrupt", str(error)) from error
    except (JournalError, OSError) as error:
        raise PointsmanError("data_directory_unusable", str(error)) from error


def demand_local(data: DataDirectory) -> None:
    """Refuse a data directory that is, or would be, on no local disk."""
    try:
        refuse_network(data.path)
    except JournalPlaceError as error:
        raise PointsmanError("data_directory_network", str(error)) from error


def make_data_directory(data: DataDirectory) -> None:
    """Make the folder of a data directory, unless it would be on no local disk."""
    demand_local(data)
    data.create()


def open_journal_read_only(data: DataDirectory) -> Journal | None:
    """Open the journal to read it beside, or without, a server; ``None`` before the first run."""
    return open_journal(data.journal, read_only=True) if data.journal.exists() else None
