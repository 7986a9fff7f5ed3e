"""Verifying a data directory's journal, in words for people: what is wrong, and what to do."""

from dataclasses import dataclass
from typing import Final

from pointsman.graph.evolve import fold
from pointsman.graph.project import project
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.journals import open_lmdb_journal
from pointsman.storage.lmdb_journal import LmdbJournal
from pointsman.storage.verify import Damage, Finding, verify_all

_RUNS_MAX: Final = 1 << 31
_NEXT: Final = {
    Damage.HISTORY: "keep a copy of the data directory, and restore a backup into another one",
    Damage.DERIVED: (
        "its history is whole, and what is damaged is read from that;"
        " to write it anew, stop the server and run: pointsman migrate --rebuild"
    ),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. ``subject`` is a run's id or a schedule's name."""

    subject: str | None
    problem: str
    next: str


def verify_journal(journal: LmdbJournal) -> tuple[Problem, ...]:
    """Fold every run, compare with every row that follows from it, and read all other rows."""
    found = verify_all(journal, fold, project)
    told = {finding.text for finding in found}
    lost = {each.subject for each in found if each.damage is Damage.HISTORY}
    damaged = (
        Finding(
            row.follows_from,
            row.text,
            Damage.HISTORY if row.follows_from in {None, *lost} else Damage.DERIVED,
        )
        for row in journal.damaged_rows()
        if not any(known in row.text for known in told)
    )
    return tuple(
        Problem(each.subject, each.text, _NEXT[each.damage]) for each in (*found, *damaged)
    )


def verify_data(data: DataDirectory) -> tuple[int, tuple[Problem, ...]]:
    """Verify without a server or beside one; return how many runs there are, and what is wrong."""
    if not data.journal.exists():
        return 0, ()
    journal = open_lmdb_journal(data.journal, read_only=True)
    try:
        problems = verify_journal(journal)
        return len(journal.runs(None, _RUNS_MAX)), problems
    finally:
        journal.close()
