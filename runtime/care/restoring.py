"""Restoring a backup into a new data directory, so that nothing in it goes on by a guess.

What was owed when the backup was made may have been done since: the host answers "unknown" for it
(``hosts.restored``), and the runs wait for a person. Work that was going on is found to be gone,
which makes it interrupted. Schedules come back paused, and starts that were on their way refused:
their slots may have been fired since.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pointsman.graph.schedule import Occurrence, OccurrenceState, Reason, Schedule
from pointsman.runtime.care.backups import JOURNAL, Manifest, copy_verified, read_manifest
from pointsman.runtime.care.staging import PlaceTakenError, staged
from pointsman.runtime.care.verification import verify_journal
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.hosts.restored import REASON, Restored, remember
from pointsman.runtime.journals import demand_local, in_words, open_lmdb_journal
from pointsman.runtime.problems import PointsmanError
from pointsman.storage.journal import Journal
from pointsman.storage.lmdb_environment import LOCK_FILE
from pointsman.storage.lmdb_journal import LmdbJournal
from pointsman.storage.migration import migrate
from pointsman.storage.schedules import ScheduleChange

_BY: Final = "restore"
_ROWS_MAX: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a restore has brought back. ``in_flight`` are runs whose outside work is not known."""

    manifest: Manifest
    runs: int
    in_flight: tuple[str, ...]
    paused: tuple[str, ...]
    refused: tuple[str, ...]


def restore(backup: Path, data: DataDirectory, now_ms: int) -> Outcome:
    """Restore a backup into a data directory that is new or empty; it is there whole, or not.

    Raises ``backup_invalid`` for a backup that is not what was written or does not verify,
    ``restore_target_used`` and ``data_directory_newer``; nothing was restored then.
    """
    manifest = read_manifest(backup)
    demand_local(data)
    try:
        with staged(data.path, "restoring") as folder:
            for file in manifest.files:
                copy_verified(backup, file, folder / file.path)
            outcome = _made_safe(manifest, DataDirectory(folder), backup, now_ms)
    except PlaceTakenError as error:
        raise PointsmanError("restore_target_used", f"{data.path} is not empty") from error
    return outcome


def _made_safe(manifest: Manifest, data: DataDirectory, backup: Path, now_ms: int) -> Outcome:
    journal = _opened(data, backup)
    try:
        _demand_verified(journal, backup)
        active = journal.active_runs()
        owed = [intent.intent_id for run_id in active for intent in journal.outbox(run_id)]
        remember(data.host, Restored(backup_made_at=manifest.made_at, owed=tuple(owed)))
        outcome = Outcome(
            manifest=manifest,
            runs=len(journal.runs(None, _ROWS_MAX)),
            in_flight=active,
            paused=tuple(_paused(journal, now_ms)),
            refused=tuple(_refused(journal, manifest, now_ms)),
        )
    finally:
        journal.close()
    # LMDB makes it anew; this one names the readers of another folder.
    (data.path / JOURNAL).with_name(LOCK_FILE).unlink(missing_ok=True)
    return outcome


def _opened(data: DataDirectory, backup: Path) -> LmdbJournal:
    try:
        with in_words():
            migrate(data.journal)  # a backup of an earlier version is its own backup
        return open_lmdb_journal(data.journal)
    except PointsmanError as error:
        if error.code == "data_directory_newer":
            raise
        raise PointsmanError("backup_invalid", f"the journal in {backup}: {error}") from error


def _demand_verified(journal: LmdbJournal, backup: Path) -> None:
    problems = verify_journal(journal)
    if problems:
        first = problems[0]
        place = "" if first.subject is None else f"{first.subject}: "
        raise PointsmanError(
            "backup_invalid",
            f"the journal in {backup} has {len(problems)} problems: {place}{first.problem}",
        )


def _paused(journal: Journal, now_ms: int) -> list[str]:
    schedules = [each for each in journal.schedules.schedules(_ROWS_MAX) if each.enabled]
    for each in schedules:
        changed = _pause(each, now_ms)
        journal.schedules.change(ScheduleChange(each.schedule_id, each.version, changed))
    return [each.schedule_id for each in schedules]


def _pause(schedule: Schedule, now_ms: int) -> Schedule:
    return schedule.model_copy(
        update={
            "enabled": False,
            "next_ms": None,
            "changed_by": _BY,
            "changed_at_ms": now_ms,
            "revision": schedule.revision + 1,
            "version": schedule.version + 1,
        }
    )


def _refused(journal: Journal, manifest: Manifest, now_ms: int) -> list[str]:
    pending = journal.schedules.pending(_ROWS_MAX)
    why = Reason(
        code=REASON,
        message=f"it was on its way when the backup of {manifest.made_at} was made,"
        " and may have started a run since",
    )
    for each in pending:
        assert journal.schedules.replace(each, _refuse(each, why, now_ms)), each.occurrence_id
    return [each.occurrence_id for each in pending]


def _refuse(occurrence: Occurrence, why: Reason, now_ms: int) -> Occurrence:
    snapshot = occurrence.snapshot
    return occurrence.model_copy(
        update={
            "state": OccurrenceState.REFUSED,
            "reason": why,
            "settled_at_ms": now_ms,
            "snapshot": snapshot.model_copy(update={"text": None}) if snapshot else None,
        }
    )
