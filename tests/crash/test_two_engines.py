"""Goal: of two engines on one data directory one works, and the other changes nothing.

Method: two processes on one journal, one of which has lost its lease and tries to commit all the
same while the other one goes on; and a second ``serve`` beside a real first one.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from pointsman.runtime import discovery
from pointsman.runtime.cli.main import run as command_line
from pointsman.runtime.config import DataDirectory
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.harness.journal_process import JournalProcess
from tests.harness.journals import run_id
from tests.harness.server import Server

ATTEMPTS: Final = 10_000
COMMITS: Final = 100
MAP_SIZE: Final = 1 << 30


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_engine_that_lost_its_lease_is_refused_every_time(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    with JournalProcess(folder) as loser, JournalProcess(folder) as owner:
        assert loser.ask("open", MAP_SIZE) == owner.ask("open", MAP_SIZE) == "done"
        stale = int(loser.ask("lease", 1))
        assert loser.ask("commit", 1, 0, stale, 0) == "1"
        token = int(owner.ask("lease", 1))
        loser.tell("intrude", 1, stale, ATTEMPTS)
        owner.tell("write", 1, 1, COMMITS, token, 0)
        heard = [owner.hear() for _ in range(1, COMMITS)]
        assert heard == [f"{number} {number + 1}" for number in range(1, COMMITS)]
        assert loser.hear() == str(ATTEMPTS)
    journal = LmdbJournal.open(folder)
    try:
        assert len(journal.log(0, 10**6)) == COMMITS
        events = journal.events(run_id(1))
        assert [each.sequence for each in events] == list(range(len(events)))
        assert journal.damaged_rows() == ()
    finally:
        journal.close()


@pytest.mark.parametrize("words", [["serve"], ["migrate", "--rebuild"]])
def test_who_would_write_beside_a_server_is_refused(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = DataDirectory(tmp_path / "data")
    data.create()
    LmdbJournal.open(data.journal).close()
    with discovery.held(data):
        assert command_line([*words, "--data", str(data.path)]) == 6
    assert "PM0011" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(240)
def test_a_second_server_is_refused_and_the_first_one_does_not_notice(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        first = discovery.running_server(server.data)
        program = Path(sys.executable).with_name("pointsman")
        second = subprocess.run(
            [program, "serve", "--data", server.data.path],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert second.returncode == 6
        assert "PM0011" in second.stderr
        assert discovery.running_server(server.data) == first
        server.until(server.begin(), "awaiting_review", 120)
