"""Goal: schedules are kept from the command line without a server, and what fires them is told.

Method: the command line runs in this process, on a data directory that no server works on.
"""

from pathlib import Path

import pytest

from pointsman.runtime.cli.main import run
from tests.harness.shell import Shell

USAGE = 2
ADD = ("--workflow", "change-any-repository", "--cron", "0 2 * * 1-5", "--input", "task=greet")


@pytest.fixture
def shell(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys, tmp_path / "data")


def test_a_schedule_is_made_listed_paused_resumed_and_removed_without_a_server(
    shell: Shell,
) -> None:
    assert shell("schedule", "add", "nightly", *ADD, "--zone", "Europe/Berlin") == 0
    assert "nightly is on (revision 1)" in shell.out
    assert "schedules fire only while a server runs" in shell.err
    (listed,) = shell.json("schedules")["schedules"]
    assert (listed["cron"], listed["zone"], listed["inputs"]) == (
        "0 2 * * 1-5",
        "Europe/Berlin",
        {"task": "greet"},
    )
    assert len(listed["next"]) == 3
    assert all("T02:00" in each for each in listed["next"])
    assert shell("schedule", "pause", "nightly") == 0
    assert shell.json("schedule", "pause", "nightly")["next"] == []
    assert shell("schedules") == 0
    assert "paused" in shell.out
    assert shell.json("schedule", "resume", "nightly")["revision"] == 3
    assert shell.json("schedule", "remove", "nightly") == {
        "schedule_id": "nightly",
        "revision": None,
        "duplicate": False,
    }
    assert shell.json("schedules") == {"schedules": [], "firing": False, "trouble": None}


def test_looking_makes_no_data_directory(shell: Shell, tmp_path: Path) -> None:
    assert shell("schedules") == 0
    assert "There is no schedule" in shell.err
    assert shell.json("schedule", "show", "nightly", code=USAGE)["code"] == "schedule_unknown"
    assert shell.json("schedule", "run", "nightly", code=USAGE)["code"] == "schedule_unknown"
    assert not (tmp_path / "data").exists()


def test_one_schedule_takes_the_place_of_another_only_when_asked(shell: Shell) -> None:
    assert shell("schedule", "add", "nightly", *ADD) == 0
    refused = shell.json("schedule", "add", "nightly", *ADD, code=USAGE)
    assert refused["code"] == "schedule_conflict"
    replaced = shell.json("schedule", "add", "nightly", *ADD, "--missed", "all", "--replace")
    assert (replaced["revision"], replaced["missed"]) == (2, "all")


def test_a_file_is_meant_from_the_current_folder_and_an_id_in_the_repository(
    shell: Shell, tmp_path: Path
) -> None:
    assert shell("new", "mine", "--template", "check-only") == 0
    folder = ".pointsman/workflows"
    options = ("--workflow", f"{folder}/mine.yaml", "--cron", "0 0 * * *")
    made = shell.json("schedule", "add", "by-file", *options)
    assert made["workflow"] == str(tmp_path / folder / "mine.yaml")
    by_id = ("--workflow", "mine", "--cron", "0 0 * * *", "--repo", str(tmp_path))
    assert shell.json("schedule", "add", "by-id", *by_id)["workflow"] == "mine"


@pytest.mark.parametrize(
    "options, code",
    [
        (("--workflow", "none", "--cron", "0 0 * * *"), "definition_unknown"),
        (("--workflow", "change-any-repository", "--cron", "0 0 * * *"), "input_invalid"),
        ((*ADD[:2], "--cron", "every day", *ADD[4:]), "schedule_invalid"),
        ((*ADD, "--zone", "Berlin"), "schedule_invalid"),
        ((*ADD[:4], "--input", "tusk=greet"), "input_invalid"),
    ],
)
def test_what_cannot_be_scheduled_is_told_and_nothing_is_kept(
    shell: Shell, options: tuple[str, ...], code: str
) -> None:
    assert shell.json("schedule", "add", "nightly", *options, code=USAGE)["code"] == code
    assert shell.json("schedules")["schedules"] == []


def test_help_tells_the_commands(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schedule", "--help"]) == 0
    told = capsys.readouterr().out
    assert all(
        f"  {command} " in told for command in ("add", "show", "pause", "resume", "remove", "run")
    )
    assert "while `pointsman serve` runs" in told
