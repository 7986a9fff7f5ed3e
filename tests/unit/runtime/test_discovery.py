"""Finding the server of a data directory, also where nothing can be written."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from pointsman.runtime import discovery
from pointsman.runtime.cli.background import ensure_server
from pointsman.runtime.cli.terminal import Terminal
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.problems import PointsmanError


def test_a_folder_that_cannot_be_made_is_told_as_a_problem_of_the_data_directory(
    tmp_path: Path,
) -> None:
    data = DataDirectory(tmp_path / "file")
    data.path.touch()
    assert discovery.running_server(data) is None
    with pytest.raises(PointsmanError, match=str(data.path)) as told:
        ensure_server(data, Terminal(json=True))
    assert told.value.code == "data_directory_unusable"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_disk_that_takes_nothing_is_no_defect_of_ours(tmp_path: Path, number: int) -> None:
    with pytest.raises(PointsmanError) as told, discovery.usable(DataDirectory(tmp_path)):
        raise OSError(number, "refused")
    assert told.value.code == "data_directory_unusable"


def test_trouble_elsewhere_is_not_laid_to_the_data_directory(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), discovery.usable(DataDirectory(tmp_path / "data")):
        raise PermissionError(errno.EACCES, "refused", str(tmp_path / "other"))


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    data = DataDirectory(tmp_path)
    data.operator_token.write_text("token")
    return data


def test_a_server_is_found_from_its_announcement_to_its_end(data: DataDirectory) -> None:
    with discovery.held(data), discovery.announcing(data) as announce:
        assert discovery.running_server(data) is None, "it is starting"
        assert discovery.is_held(data)
        announce("http://127.0.0.1:1")
        found = discovery.running_server(data)
        assert found == discovery.ServerAddress("http://127.0.0.1:1", "token", os.getpid())
    assert discovery.running_server(data) is None
    assert not discovery.is_held(data)
    assert not data.server.exists()


def test_the_address_of_a_killed_server_is_not_taken_for_that_of_the_next_one(
    data: DataDirectory,
) -> None:
    data.server.write_text('{"url": "http://127.0.0.1:1", "pid": 1}')
    assert discovery.running_server(data) is None
    with discovery.held(data), discovery.announcing(data) as announce:
        assert discovery.running_server(data) is None, "the next one has not told its own yet"
        announce("http://127.0.0.1:2")
        found = discovery.running_server(data)
        assert found is not None
        assert found.url == "http://127.0.0.1:2"


def test_one_who_looks_for_the_server_writes_nothing_and_is_not_taken_for_it(
    tmp_path: Path,
) -> None:
    data = DataDirectory(tmp_path)
    assert discovery.running_server(data) is None
    assert not discovery.is_held(data)
    assert list(tmp_path.iterdir()) == []
    for looked_at in (data.lock, data.server):
        looked_at.write_text('{"url": "http://127.0.0.1:1", "pid": 1}')
        with looked_at.open() as other:
            fcntl.flock(other, fcntl.LOCK_SH)
            assert not discovery.is_held(data)
            assert discovery.running_server(data) is None


def test_who_starts_a_server_waits_for_one_that_is_starting_already(
    data: DataDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_up(server: DataDirectory) -> bool:
        announce("http://127.0.0.1:1")
        return True

    with discovery.held(data), discovery.announcing(data) as announce:
        monkeypatch.setattr(discovery, "is_held", is_up)
        ensure_server(data, Terminal(json=True))
    assert not data.log.exists(), "none was begun beside it"
