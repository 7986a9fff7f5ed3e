"""Finding the server of a data directory, also where nothing can be written."""

import errno
import fcntl
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


def test_one_who_looks_for_the_server_writes_nothing_and_is_not_taken_for_it(
    tmp_path: Path,
) -> None:
    data = DataDirectory(tmp_path)
    assert discovery.running_server(data) is None
    assert list(tmp_path.iterdir()) == []
    data.server.write_text('{"url": "http://127.0.0.1:1", "pid": 1}')
    data.operator_token.write_text("token")
    with data.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        assert discovery.running_server(data) is None, "somebody else who looks"
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert discovery.running_server(data) is not None
