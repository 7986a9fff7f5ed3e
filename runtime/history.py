"""The history of a data directory, caught up with the journal whether or not a server runs.

Reading the journal disturbs no server, so the history is brought up to date by whoever asks, one
process at a time.
"""

import contextlib
from collections.abc import Iterator
from typing import Final

from filelock import FileLock, Timeout

from pointsman.runtime.config import DataDirectory
from pointsman.runtime.journals import open_journal_read_only
from pointsman.runtime.problems import PointsmanError
from pointsman.storage.history.history import History, HistoryError, HistoryInUseError, rebuild
from pointsman.storage.history.sandbox import SqlFailedError, SqlRefusedError, SqlTooLongError
from pointsman.storage.journal import Journal

_SHARD: Final = "shard-0"
_PATIENCE_S: Final = 30.0


@contextlib.contextmanager
def opened(data: DataDirectory) -> Iterator[History]:
    """Give the history with all that is committed by now.

    Raises ``history_in_use`` when another command has it for long, or what opening the journal
    raises.
    """
    with _held(data), _journal(data) as journal:
        history = History.open(data.history)
        try:
            while journal is not None and history.take(_SHARD, journal):
                pass
            yield history
        finally:
            history.close()


def made_anew(data: DataDirectory) -> None:
    """Make the history again from the journal; the earlier one stays until the new one is whole."""
    with _held(data), _journal(data) as journal:
        rebuild(data.history, {_SHARD: journal} if journal is not None else {})


@contextlib.contextmanager
def _journal(data: DataDirectory) -> Iterator[Journal | None]:
    """Give the journal to read, ``None`` before the first run."""
    journal = open_journal_read_only(data)
    try:
        yield journal
    finally:
        if journal is not None:
            journal.close()


@contextlib.contextmanager
def _held(data: DataDirectory) -> Iterator[None]:
    """Keep the history to this process, and tell people in their words what went wrong with it."""
    data.history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with FileLock(data.history.with_suffix(".lock"), timeout=_PATIENCE_S):
            yield
    except (Timeout, HistoryInUseError) as error:
        raise PointsmanError("history_in_use", "another process is asking the history") from error
    except SqlRefusedError as error:
        raise PointsmanError("sql_refused", str(error)) from error
    except SqlTooLongError as error:
        raise PointsmanError("sql_too_long", str(error)) from error
    except SqlFailedError as error:
        raise PointsmanError("sql_failed", str(error)) from error
    except HistoryError as error:
        raise PointsmanError("history_refused", str(error)) from error
