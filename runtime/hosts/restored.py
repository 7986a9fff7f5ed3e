"""What a restored host must not pretend to know.

A backup brings the journal and not the host's map of effects. Of an effect that was owed when the
backup was made nobody here can tell whether it was taken afterwards: "not found" would be a guess,
and a second launch. Effects that are first owed after the restore are asked for as ever.
"""

from pathlib import Path
from typing import Final

from pointsman.graph.model import Model
from pointsman.runtime.durable import write_durably
from pointsman.runtime.processes.supervised import read_record

REASON: Final = "restored"
_FILE: Final = "restored.json"


class Restored(Model):
    """The keys of the effects that were owed when the backup was made."""

    backup_made_at: str
    owed: tuple[str, ...]


def remember(host: Path, record: Restored) -> None:
    """Record the restore in a host's folder, before any host works on it."""
    host.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_durably(host / _FILE, record.model_dump_json())


def why_forgotten(host: Path, key: str) -> str | None:
    """Say why nothing can be told of an effect that no record is there of; ``None`` if it can."""
    record = read_record(host / _FILE, Restored)
    if record is None or key not in record.owed:
        return None
    return (
        f"this data directory was restored from a backup of {record.backup_made_at};"
        " what was owed then may have been done since"
    )
