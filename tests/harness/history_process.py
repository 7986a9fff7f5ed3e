"""A process that copies a journal into a history, a few events at a time, until it is killed."""

import sys
from pathlib import Path

from pointsman.storage.history.history import History
from pointsman.storage.lmdb_journal import LmdbJournal


def main(journal: Path, history: Path) -> None:
    """Say a line for each batch, on stdout."""
    read, made = LmdbJournal.open(journal, read_only=True), History.open(history)
    while made.take("0", read, 3):
        print("taken", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
