"""Goal: a backup is whole and consistent or not there; so is what is restored from it.

Method: backups while another process commits; forks that back up and restore, killed at moments
that are told by what they have written so far; backups with one thing wrong each.
"""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pointsman.graph.schedule import Occurrence, OccurrenceState, Trigger
from pointsman.graph.work import Found, NotFound, Unknown
from pointsman.runtime.care.backups import JOURNAL, MANIFEST, back_up, read_manifest
from pointsman.runtime.care.restoring import restore
from pointsman.runtime.care.staging import leftovers
from pointsman.runtime.care.verification import verify_data
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.hosts.effects import Effects, accepted
from pointsman.runtime.problems import PointsmanError
from pointsman.storage.lmdb_journal import LmdbJournal
from pointsman.storage.schedules import ScheduleChange
from tests.harness.core import RUN_ID, Process
from tests.harness.journal_process import JournalProcess
from tests.harness.journals import committed, run_id
from tests.harness.keeping_process import KeepingProcess
from tests.harness.schedules import a_schedule

NOW_MS = 1_700_000_000_000
ONE = run_id(1)
FILLING = 40_000


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    """Return a data directory with a run whose agent's launch is owed."""
    made = DataDirectory(tmp_path / "data")
    journal = LmdbJournal.open(made.journal)
    process = Process()
    process.take("prepare_workspace", path="/w", branch="b", head_commit="1" * 40)
    committed(journal, process)
    journal.close()
    return made


def launch_key(process: Process) -> str:
    return process.intent("launch_execution").intent_id


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(PointsmanError) as raised:
        call()
    return raised.value.code


def busy_until(condition: Callable[[], bool], patience_s: float = 20) -> None:
    """Look as often as possible: what is waited for lasts for milliseconds."""
    give_up = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < give_up, "the milestone was not reached"


def test_backups_under_load_are_each_a_whole_prefix_of_what_was_committed(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path / "data")
    with JournalProcess(data.journal) as writer:
        writer.ask("open", 1 << 30)
        token = writer.ask("lease", 1)
        writer.tell("write", 1, 0, 10**6, token, FILLING)
        acknowledged = 0
        for number in range(5):
            for _ in range(20):
                acknowledged = int(writer.hear().split()[0])
            copy = tmp_path / f"backup-{number}"
            back_up(data, copy, NOW_MS)
            assert _commits_in(copy) > acknowledged


def _commits_in(backup: Path) -> int:
    journal = LmdbJournal.open((backup / JOURNAL).parent, read_only=True)
    try:
        commits = len(journal.log(0, 10**6))
        assert journal.damaged_rows() == ()
        events = journal.events(ONE)
        assert [each.sequence for each in events] == list(range(len(events)))
        assert journal.receipt(ONE, f"command {commits - 1}") is not None
        assert journal.receipt(ONE, f"command {commits}") is None
        summary = journal.summary(ONE)
        assert summary is not None
        assert summary.version == len(events)
        return commits
    finally:
        journal.close()


def test_a_killed_backup_leaves_nothing_that_looks_like_one(tmp_path: Path) -> None:
    data, target = DataDirectory(tmp_path / "data"), tmp_path / "backup"
    _fill(data)
    killed = 0
    with KeepingProcess() as process:
        for at_bytes in range(0, 4_000_000, 250_000):
            pid = process.begin("backup", data.path, target)
            busy_until(lambda: _written(target, "backup") >= at_bytes or target.exists())  # noqa: B023
            os.kill(pid, signal.SIGKILL)
            killed += process.ended() == -signal.SIGKILL
            if target.exists():
                read_manifest(target)
                break
    assert killed > 3
    back_up(data, tmp_path / "another", NOW_MS)
    if not target.exists():
        back_up(data, target, NOW_MS)
    assert leftovers(target, "backup") == [], "the next backup takes the half-made ones away"
    assert _commits_in(target) == _commits_in(tmp_path / "another")


def _fill(data: DataDirectory) -> None:
    with JournalProcess(data.journal) as writer:
        writer.ask("open", 1 << 30)
        token = writer.ask("lease", 1)
        for number in range(120):
            writer.ask("commit", 1, number, token, FILLING)


def _written(target: Path, purpose: str) -> int:
    try:
        copies = target.parent.glob(f".{target.name}.{purpose}-*/{JOURNAL}")
        return sum(path.stat().st_size for path in copies)
    except FileNotFoundError:  # it was renamed, or removed, amid the look
        return 0


def test_a_killed_restore_leaves_no_data_directory(data: DataDirectory, tmp_path: Path) -> None:
    copy, target = tmp_path / "backup", tmp_path / "restored"
    back_up(data, copy, NOW_MS)
    stages: list[Callable[[], bool]] = [
        lambda: bool(list(tmp_path.glob(".restored.restoring-*"))),
        lambda: _written(target, "restoring") > 0,
        lambda: bool(list(tmp_path.glob(".restored.restoring-*/journal/shard-0/lock.mdb"))),
        lambda: bool(list(tmp_path.glob(".restored.restoring-*/host/restored.json"))),
    ]
    with KeepingProcess() as process:
        for stage in stages:
            pid = process.begin("restore", copy, target)
            busy_until(lambda: stage() or target.exists())  # noqa: B023
            os.kill(pid, signal.SIGKILL)
            process.ended()
            if target.exists():
                break
    if not target.exists():
        restore(copy, DataDirectory(target), NOW_MS)
    assert leftovers(target, "restoring") == []
    assert verify_data(DataDirectory(target)) == (1, ())
    assert (target / "host" / "restored.json").exists()


def test_what_was_owed_is_unknown_after_a_restore_and_what_is_owed_later_is_not(
    data: DataDirectory, tmp_path: Path
) -> None:
    back_up(data, tmp_path / "backup", NOW_MS)
    restored = DataDirectory(tmp_path / "restored")
    outcome = restore(tmp_path / "backup", restored, NOW_MS)
    assert outcome.in_flight == (RUN_ID,)
    process = Process()
    process.take("prepare_workspace", path="/w", branch="b", head_commit="1" * 40)
    effects = Effects(restored.host / "effects", restored.host)
    key = launch_key(process)
    assert isinstance(effects.lookup(key), Unknown)
    assert isinstance(effects.lookup(f"{key} of another attempt"), NotFound)
    # What this host then takes itself it knows.
    effects.once(key, "launch_execution", "attempt", lambda: accepted(key))
    assert isinstance(effects.lookup(key), Found)


def test_schedules_come_back_paused_and_starts_on_their_way_are_refused(
    data: DataDirectory, tmp_path: Path
) -> None:
    journal = LmdbJournal.open(data.journal)
    nightly = a_schedule(NOW_MS)
    waiting = Occurrence(
        occurrence_id="s@2023-11-15T02:00Z",
        schedule_id="s",
        trigger=Trigger.SLOT,
        slot_ms=NOW_MS,
        wish=nightly.wish,
        asked_by="schedule:s",
        created_at_ms=NOW_MS,
        state=OccurrenceState.PENDING,
    )
    journal.schedules.change(ScheduleChange("s", 0, nightly, (waiting,)))
    journal.close()
    back_up(data, tmp_path / "backup", NOW_MS)
    outcome = restore(tmp_path / "backup", DataDirectory(tmp_path / "restored"), NOW_MS + 1)
    assert (outcome.paused, outcome.refused) == (("s",), (waiting.occurrence_id,))
    journal = LmdbJournal.open(DataDirectory(tmp_path / "restored").journal)
    try:
        assert journal.schedules.due(1 << 60) == ()
        assert journal.schedules.pending() == ()
        found = journal.schedules.occurrence(waiting.occurrence_id)
        assert found is not None
        assert found.reason is not None
        assert found.reason.code == "restored"
    finally:
        journal.close()
    assert verify_data(DataDirectory(tmp_path / "restored")) == (1, ())


def test_nothing_is_overwritten(data: DataDirectory, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "letter").write_text("dear")
    assert code_of(lambda: back_up(data, taken, NOW_MS)) == "backup_exists"
    back_up(data, tmp_path / "backup", NOW_MS)
    refused = code_of(lambda: restore(tmp_path / "backup", DataDirectory(taken), NOW_MS))
    assert refused == "restore_target_used"
    refused = code_of(lambda: restore(tmp_path / "backup", data, NOW_MS))
    assert refused == "restore_target_used"
    assert [path.name for path in taken.iterdir()] == ["letter"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "data", "taken"]


def _cut(backup: Path) -> None:
    os.truncate(backup / JOURNAL, 8192)


def _flip(backup: Path) -> None:
    content = bytearray((backup / JOURNAL).read_bytes())
    content[len(content) // 2] ^= 1
    (backup / JOURNAL).write_bytes(content)


def _lose(backup: Path) -> None:
    (backup / JOURNAL).unlink()


def _forget(backup: Path) -> None:
    (backup / MANIFEST).unlink()


def _point_elsewhere(backup: Path) -> None:
    manifest = json.loads((backup / MANIFEST).read_text())
    manifest["files"].append({"path": "../../etc/passwd", "size_bytes": 1, "sha256": "0"})
    (backup / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize("harm", [_cut, _flip, _lose, _forget, _point_elsewhere])
def test_a_backup_that_is_not_what_was_written_is_refused(
    data: DataDirectory, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    back_up(data, tmp_path / "backup", NOW_MS)
    harm(tmp_path / "backup")
    restored = DataDirectory(tmp_path / "restored")
    assert code_of(lambda: restore(tmp_path / "backup", restored, NOW_MS)) == "backup_invalid"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "data"]


def test_a_backup_of_a_newer_format_is_left_alone(data: DataDirectory, tmp_path: Path) -> None:
    back_up(data, tmp_path / "backup", NOW_MS)
    manifest = json.loads((tmp_path / "backup" / MANIFEST).read_text())
    manifest["journal_format"] = 10**6
    (tmp_path / "backup" / MANIFEST).write_text(json.dumps(manifest))
    restored = DataDirectory(tmp_path / "restored")
    assert code_of(lambda: restore(tmp_path / "backup", restored, NOW_MS)) == "data_directory_newer"
