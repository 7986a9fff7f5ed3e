"""``verify`` reads every row, beside a writer or without one, and changes nothing."""

import json
from pathlib import Path

import lmdb
import pytest

from pointsman.graph.evolve import fold
from pointsman.graph.project import project
from pointsman.runtime.cli.main import run
from pointsman.storage.journal import Transition
from pointsman.storage.keys import Table
from pointsman.storage.lmdb_journal import LmdbJournal
from pointsman.storage.schedules import ScheduleChange
from tests.harness.core import RUN_ID, Process
from tests.harness.schedules import a_schedule

NOW_MS = 1_000_000


def journal_folder(data: Path) -> Path:
    return data / "journal" / "shard-0"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a data directory with one real run and a schedule."""
    process = Process().work()
    journal = LmdbJournal.open(journal_folder(tmp_path))
    journal.commit(
        Transition(
            run_id=RUN_ID,
            expected_sequence=0,
            fencing_token=journal.lease(RUN_ID),
            events=tuple(process.recorded),
            run=process.state,
            projection=project(process.state),
        )
    )
    nightly = a_schedule(NOW_MS)
    journal.schedules.change(ScheduleChange(nightly.schedule_id, 0, nightly))
    journal.close()
    assert fold(process.recorded) == process.state
    return tmp_path


def tamper(data: Path, table: Table, row: bytes | None) -> None:
    """Put other bytes in the place of a table's first row, or remove it, behind the journal."""
    with lmdb.open(str(journal_folder(data)), max_dbs=len(Table)) as env:
        handle = env.open_db(table.encode())
        with env.begin(write=True) as txn:
            cursor = txn.cursor(db=handle)
            assert cursor.first()
            if row is None:
                cursor.delete()
            else:
                txn.put(cursor.key(), row, db=handle)


def verified(data: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    code = run(["verify", "--json", "--data", str(data)])
    told = json.loads(capsys.readouterr().out)
    return code, [f"{each['subject']}: {each['problem']}" for each in told["problems"]]


def test_a_sound_journal_is_in_order(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verified(data, capsys) == (0, [])


def test_a_directory_without_a_journal_is_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verified(tmp_path / "nothing", capsys) == (0, [])
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize(
    "table",
    [Table.EVENTS, Table.CHECKPOINTS, Table.OUTBOX, Table.LEASES, Table.LOG, Table.SCHEDULES],
)
def test_bytes_that_rot_are_found_in_any_table(
    data: Path, table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    tamper(data, table, b"rot")
    code, problems = verified(data, capsys)
    assert code == 6
    assert problems


@pytest.mark.parametrize(
    "table, told",
    [
        (Table.EVENTS, f"{RUN_ID}: its events are not contiguous"),
        (Table.OUTBOX, f"{RUN_ID}: the outbox stored is not what its events give"),
        (Table.BY_STATE, f"{RUN_ID}: the state index stored is not what its events give"),
        (Table.ACTIVE, f"{RUN_ID}: the active index stored is not what its events give"),
        (
            Table.SCHEDULES_DUE,
            "None: the list of schedules that come due is not what the schedules say",
        ),
    ],
)
def test_a_lost_row_is_named(
    data: Path, table: Table, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tamper(data, table, None)
    code, problems = verified(data, capsys)
    assert code == 6
    assert told in problems


def test_rot_in_what_follows_from_a_sound_history_is_told_apart_and_mended(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tamper(data, Table.CHECKPOINTS, b"rot")
    assert run(["verify", "--data", str(data)]) == 6
    assert "its history is whole" in capsys.readouterr().out
    assert run(["show", RUN_ID, "--data", str(data)]) == 0
    assert run(["migrate", "--rebuild", "--data", str(data)]) == 0
    capsys.readouterr()
    assert verified(data, capsys) == (0, [])


def test_a_run_whose_history_is_damaged_is_told_as_such_and_never_with_a_stack_trace(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tamper(data, Table.CHECKPOINTS, b"rot")
    tamper(data, Table.EVENTS, b"rot")
    assert run(["show", RUN_ID, "--data", str(data)]) == 6
    told = capsys.readouterr().err
    assert "PM0017 journal_corrupt" in told
    assert "Traceback" not in told
    assert run(["verify", "--data", str(data)]) == 6
    assert "its history is whole" not in capsys.readouterr().out
