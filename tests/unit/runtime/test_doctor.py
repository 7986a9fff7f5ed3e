"""The doctor finds what ails a data directory, and says what to do; it never falls ill itself."""

import json
from pathlib import Path

import pytest

from pointsman.runtime.care.doctor import Level, Result, examine
from pointsman.runtime.cli.main import run
from pointsman.runtime.config import DataDirectory
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.harness.fake_clock import FakeClock

COLLECTED = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
NOW = "2027-01-15T08:00+00:00"


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    made = DataDirectory(tmp_path / "data")
    made.create()
    LmdbJournal.open(made.journal).close()
    return made


def results(data: DataDirectory, now: str = NOW) -> list[Result]:
    return examine(data, FakeClock(now), with_ray=False)


def of(check: str, told: list[Result]) -> list[Result]:
    return [each for each in told if each.check == check]


def test_a_healthy_directory_has_no_problem_and_every_other_line_says_what_to_do(
    data: DataDirectory,
) -> None:
    told = results(data)
    assert [each for each in told if each.level is Level.PROBLEM] == []
    assert all(each.next for each in told if each.level is not Level.OK)
    assert list(data.path.glob(".doctor*")) == []


def test_nothing_is_made_for_a_directory_that_is_not_there(tmp_path: Path) -> None:
    told = results(DataDirectory(tmp_path / "nothing"))
    assert [each for each in told if each.level is Level.PROBLEM] == []
    assert not (tmp_path / "nothing").exists()


def test_a_directory_that_others_may_read_is_a_problem(data: DataDirectory) -> None:
    data.path.chmod(0o755)
    (found,) = of("permissions", results(data))
    assert (found.level, found.next) == (Level.PROBLEM, f"chmod -R go= {data.path}")


def test_a_journal_of_others_is_a_problem(data: DataDirectory) -> None:
    (data.journal / "data.mdb").write_bytes(b"\0" * 8192)
    (found,) = of("journal", results(data))
    assert found.level is Level.PROBLEM
    assert "PM0012" in found.found


def test_a_clock_that_was_never_set_is_a_problem(data: DataDirectory) -> None:
    (found,) = of("clock", results(data, "1970-01-01T00:00+00:00"))
    assert found.level is Level.PROBLEM


@pytest.mark.parametrize(
    "variables, level, words",
    [
        ({}, Level.OK, "not sent"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://me:secret@collector:4318"}, Level.OK, "collector"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://traces:4318"}, Level.OK, "to traces"),
        ({**COLLECTED, "OTEL_SDK_DISABLED": "true"}, Level.OK, "not sent"),
        ({**COLLECTED, "OTEL_TRACES_EXPORTER": "none"}, Level.OK, "not sent"),
        ({**COLLECTED, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, Level.WARNING, "not by grpc"),
    ],
)
def test_where_spans_are_sent_is_told_without_a_secret(
    data: DataDirectory,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    level: Level,
    words: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (found,) = of("spans", results(data))
    assert found.level is level
    assert words in found.found
    assert "secret" not in found.found


def test_what_a_killed_restore_left_is_named(data: DataDirectory) -> None:
    left = data.path.with_name(".data.restoring-0011")
    left.mkdir()
    (found,) = [each for each in of("leftovers", results(data)) if each.level is Level.WARNING]
    assert found.next == f"rm -r {left}"


def test_the_exit_code_tells_whether_there_is_a_problem(
    data: DataDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", "--json", "--data", str(data.path)]) == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert {each["level"] for each in checks} <= {"ok", "warning"}
    data.path.chmod(0o755)
    assert run(["doctor", "--data", str(data.path)]) == 6
    assert "problem  permissions: others may read" in capsys.readouterr().out
