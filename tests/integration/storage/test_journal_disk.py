"""Goal: a full disk refuses a commit and harms nothing; damage and foreign files are found out.

Method: a tiny file system where mounting is allowed, and everywhere a child process whose files
may not grow past a limit, which meets the same short writes.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import lmdb
import pytest

from pointsman.graph.run import Run
from pointsman.storage import codec, keys
from pointsman.storage.journal_errors import JournalError, JournalFormatError, JournalFullError
from pointsman.storage.keys import Table
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.harness.journal_process import JournalProcess
from tests.harness.journals import a_transition, nth_transition, run_id, start

ONE = run_id(1)
COMMITS_MAX = 2_000


@pytest.fixture(params=[3, 6, 10], ids="{}MiB".format)
def tiny_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}m", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a tiny file system is not allowed here; see the next test")
    yield folder
    # Lazily: a test that failed may still hold a file, and must not leave the mount behind.
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _use_up(disk: Path) -> None:
    """Leave no room at all, as files of others would."""
    with (disk / "others").open("ab", buffering=0) as others, suppress(OSError):
        while others.write(b"\0" * 4_096):
            pass


def _fill(journal: LmdbJournal, token: int, first: int, filling: int) -> int:
    """Commit until the disk is full; return how many transitions there are."""
    for number in range(first, first + COMMITS_MAX):
        try:
            journal.commit(nth_transition(ONE, number, token, filling))
        except JournalFullError:
            assert len(journal.log(0, number + 1)) == number
            return number
    raise AssertionError("the disk never got full")


@pytest.mark.parametrize("largest", [50_000, 3_000_000])
def test_a_full_disk_refuses_the_commit_and_takes_it_once_there_is_room(
    tiny_disk: Path, largest: int
) -> None:
    ballast = tiny_disk / "ballast"
    ballast.write_bytes(b"\0" * 1_000_000)
    journal = LmdbJournal.open(tiny_disk / "journal")
    token = journal.lease(ONE)
    full = 0
    for filling in (largest, 20_000, 3_000):
        full = _fill(journal, token, full, filling)
    before = journal.dump()
    with pytest.raises(JournalFullError, match="free space"):
        journal.commit(nth_transition(ONE, full, token, 3_000))
    assert journal.dump() == before
    ballast.unlink()
    assert _fill(journal, token, full, 3_000) > full
    journal.close()
    again = LmdbJournal.open(tiny_disk / "journal")
    positions = [each.position for each in again.log(0, COMMITS_MAX)]
    assert positions == list(range(1, len(positions) + 1))
    assert len(positions) > full
    assert len(again.events(ONE)) == again.log(len(positions) - 1, 1)[0].last_sequence + 1
    again.close()


def test_a_full_disk_lets_a_journal_be_opened_and_refuses_a_new_one(
    tiny_disk: Path,
) -> None:
    # In children: LMDB's lock file is written to through memory, where a hole in it would kill.
    folder = tiny_disk / "journal"
    journal = LmdbJournal.open(folder)
    start(journal, ONE)
    journal.close()
    _use_up(tiny_disk)
    with JournalProcess(folder) as process:
        assert process.ask("open", 1 << 30) == "done"
    with JournalProcess(tiny_disk / "another") as process:
        assert process.ask("open", 1 << 30) == "JournalFullError"
    (folder / "lock.mdb").unlink()
    _use_up(tiny_disk)
    with JournalProcess(folder) as process:
        assert process.ask("open", 1 << 30) == "JournalFullError"


def test_a_file_that_may_not_grow_refuses_the_commit_and_takes_it_once_it_may(
    tmp_path: Path,
) -> None:
    with JournalProcess(tmp_path / "journal") as process:
        assert process.ask("open", 1 << 30) == "done"
        assert process.ask("lease", 1) == "1"
        assert process.ask("limit-file-size", 9 << 20) == "done"
        process.tell("write", 1, 0, COMMITS_MAX, 1, 60_000)
        committed = 0
        while (line := process.hear()) != "JournalFullError":
            committed, position = (int(word) + 1 for word in line.split())
            assert position == committed + 1
        assert process.ask("commit", 1, committed, 1, 60_000) == "JournalFullError"
        assert process.ask("limit-file-size", 100 << 20) == "done"
        assert process.ask("commit", 1, committed, 1, 60_000) == str(committed + 1)
    journal = LmdbJournal.open(tmp_path / "journal")
    assert len(journal.log(0, COMMITS_MAX)) == committed + 1
    journal.close()


def test_a_changed_byte_in_a_row_is_found_out_and_named(tmp_path: Path) -> None:
    journal = LmdbJournal.open(tmp_path)
    start(journal, ONE, inputs={"task": "mend the northern signal"})
    start(journal, run_id(2))
    journal.close()
    data = tmp_path / "data.mdb"
    damaged = data.read_bytes().replace(b"the northern signal", b"the southern signal")
    data.write_bytes(damaged)
    journal = LmdbJournal.open(tmp_path)
    (named,) = journal.damaged_rows()
    assert ONE in named.text
    assert named.follows_from == ONE
    assert isinstance(journal.run(run_id(2)), Run)
    journal.close()


def _environment_with(folder: Path, table: str, key: bytes, row: bytes) -> bytes:
    with lmdb.open(str(folder), max_dbs=1) as env:
        db = env.open_db(table.encode())
        with env.begin(write=True) as txn:
            txn.put(key, row, db=db)
    return (folder / "data.mdb").read_bytes()


def test_a_newer_format_is_refused_and_left_untouched(tmp_path: Path) -> None:
    newer = codec.FormatRow(format=codec.LAYOUT_VERSION + 1)
    row = codec.encode(codec.FORMAT, keys.FORMAT_KEY, newer)
    before = _environment_with(tmp_path, Table.META, keys.FORMAT_KEY, row)
    for read_only in (False, True):
        with pytest.raises(JournalFormatError, match=f"format {codec.LAYOUT_VERSION + 1}"):
            LmdbJournal.open(tmp_path, read_only=read_only)
    assert (tmp_path / "data.mdb").read_bytes() == before


@pytest.mark.parametrize("table", ["other", Table.META])
def test_the_environment_of_another_program_is_refused_and_left_untouched(
    tmp_path: Path, table: str
) -> None:
    before = _environment_with(tmp_path, table, b"key", b"value")
    with pytest.raises(JournalFormatError, match="of others"):
        LmdbJournal.open(tmp_path)
    assert (tmp_path / "data.mdb").read_bytes() == before


def test_a_file_that_is_no_environment_is_refused_and_left_untouched(tmp_path: Path) -> None:
    data = tmp_path / "data.mdb"
    data.write_bytes(b"timetable " * 1_000)
    with pytest.raises(JournalFormatError):
        LmdbJournal.open(tmp_path)
    assert data.read_bytes() == b"timetable " * 1_000


def test_a_journal_is_opened_once_in_a_process_under_any_name(tmp_path: Path) -> None:
    journal = LmdbJournal.open(tmp_path / "journal")
    (tmp_path / "link").symlink_to(tmp_path / "journal")
    for path in (tmp_path / "journal", tmp_path / "link"):
        with pytest.raises(JournalError, match="already open"):
            LmdbJournal.open(path)
    journal.close()
    LmdbJournal.open(tmp_path / "link").close()


def test_a_journal_that_was_lost_without_closing_can_be_opened_again(tmp_path: Path) -> None:
    token = start(LmdbJournal.open(tmp_path), ONE)
    journal = LmdbJournal.open(tmp_path)
    journal.commit(a_transition(ONE, 1, token=token))
    journal.close()


def test_a_reader_makes_nothing_and_changes_nothing(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no journal"):
        LmdbJournal.open(tmp_path / "journal", read_only=True)
    assert not (tmp_path / "journal").exists()
    journal = LmdbJournal.open(tmp_path / "journal")
    start(journal, ONE)
    journal.close()
    reader = LmdbJournal.open(tmp_path / "journal", read_only=True)
    assert [each.run_id for each in reader.runs()] == [ONE]
    with pytest.raises(JournalError, match="reading only"):
        reader.lease(ONE)
    reader.close()


def test_the_folder_and_its_files_are_the_owners_alone(tmp_path: Path) -> None:
    journal = LmdbJournal.open(tmp_path / "journal")
    journal.close()
    assert (tmp_path / "journal").stat().st_mode & 0o077 == 0
    for file in (tmp_path / "journal").iterdir():
        assert file.stat().st_mode & 0o077 == 0
