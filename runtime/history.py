"""The history of a data directory in this process, where no server has it.

Reading the journal disturbs nobody, so the history is brought up to date by whoever asks, one
process at a time. A server has a historian for that, which is asked instead.
"""

import contextlib
from collections.abc import Iterator
from typing import Final

from pointsman.runtime.config import DataDirectory
from pointsman.runtime.history_problems import told
from pointsman.runtime.journals import open_journal_read_only
from pointsman.storage.history.history import History, rebuild
from pointsman.storage.journal import Journal

SHARD: Final = "shard-0"
_PATIENCE_S: Final = 30.0


@contextlib.contextmanager
def opened(data: DataDirectory) -> Iterator[History]:
    """Give the history with all that is committed by now.

    Raises ``history_in_use`` when another command has it for long, or what opening the journal
    raises.
    """
    with told():
        history = History.open(data.history, patience_s=_PATIENCE_S)
        try:
            with _journal(data) as journal:
                while journal is not None and history.take(SHARD, journal):
                    pass
            yield history
        finally:
            history.close()


def made_anew(data: DataDirectory) -> None:
    """Make the history again from the journal; the earlier one stays until the new one is whole."""
    with told(), _journal(data) as journal:
        shards = {SHARD: journal} if journal is not None else {}
        rebuild(data.history, shards, patience_s=_PATIENCE_S)


@contextlib.contextmanager
def _journal(data: DataDirectory) -> Iterator[Journal | None]:
    """Give the journal to read, ``None`` before the first run."""
    journal = open_journal_read_only(data)
    try:
        yield journal
    finally:
        if journal is not None:
            journal.close()
