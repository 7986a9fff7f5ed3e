"""Bringing a data directory to today's format: under its lock, and with a backup before."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pointsman.runtime.care.backups import back_up
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.journals import in_words
from pointsman.storage.codec import LAYOUT_VERSION
from pointsman.storage.migration import format_of, migrate

_FOLDER: Final = "backups"


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a migration has done; ``backup`` is how it was before."""

    from_format: int
    to_format: int
    runs: int
    backup: Path


def migrate_if_older(data: DataDirectory, now_ms: int, *, anew: bool = False) -> Migrated | None:
    """Migrate a journal of an older format; ``None`` when there is nothing to do.

    The caller holds the data directory. ``anew`` also writes the derived rows of today's format
    anew. Killed anywhere, it is done again from the beginning; the first backup is kept.
    """
    with in_words():
        found = format_of(data.journal)
        if found is None or (found == LAYOUT_VERSION and not anew):
            return None
        stamp = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
        name = f"before-{stamp}" if found == LAYOUT_VERSION else f"format-{found}"
        backup = data.path / _FOLDER / name
        if not backup.exists():
            back_up(data, backup, now_ms)
        runs = migrate(data.journal, derive_anew=anew)
    return Migrated(found, LAYOUT_VERSION, runs, backup)
