"""A Ray that does not come up is tried once more, and then told as such; nothing is left."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pointsman.actors.ray_handles.start import RayNotStartedError
from pointsman.runtime import app
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.problems import PointsmanError


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders in which Ray was to be started; it fails in all that are told to ``failing``."""
    made: list[Path] = []

    @contextlib.contextmanager
    def watching(lost: Callable[[str], None]) -> Iterator[None]:
        yield

    monkeypatch.setattr(app, "stop_ray", lambda folder: folder.rmdir())
    monkeypatch.setattr(app, "watching_ray", watching)
    return made


def failing(tries: list[Path], times: int) -> Callable[[Path], None]:
    def start(folder: Path) -> None:
        tries.append(folder)
        if len(tries) <= times:
            raise RayNotStartedError("The current node timed out during startup.")

    return start


def test_a_second_try_may_come_up(
    tmp_path: Path, tries: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "start_ray", failing(tries, 1))
    with app._ray(DataDirectory(tmp_path)):  # noqa: SLF001 - a whole start takes seconds
        assert [folder.exists() for folder in tries] == [False, True]
    assert not tries[1].exists()


def test_after_the_second_the_machine_is_told_to_be_busy_and_nothing_is_left(
    tmp_path: Path, tries: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "start_ray", failing(tries, 2))
    data = DataDirectory(tmp_path)
    ray = app._ray(data)  # noqa: SLF001 - a whole start takes seconds
    with pytest.raises(PointsmanError, match="timed out during startup") as refused, ray:
        raise AssertionError("there is no Ray")
    assert refused.value.code == "engine_not_started"
    assert [folder.exists() for folder in tries] == [False, False]
    assert not data.ray.exists()
