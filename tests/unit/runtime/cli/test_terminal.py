"""Goal: a suggested command can be copied as it stands, however this program was called."""

import sys
from pathlib import Path

import pytest

from pointsman.runtime.cli.terminal import own_command


def program(folder: Path) -> Path:
    folder.mkdir(parents=True)
    made = folder / "pointsman"
    made.write_text("#!/bin/sh\n", encoding="utf-8")
    made.chmod(0o755)
    return made


def test_a_program_on_the_path_is_called_by_its_name(tmp_path: Path) -> None:
    made = program(tmp_path / "bin")
    assert own_command([str(made)], path=str(made.parent)) == "pointsman"


def test_a_program_below_the_current_folder_is_called_by_its_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = program(tmp_path / ".venv" / "bin")
    monkeypatch.chdir(tmp_path)
    assert own_command([str(made)], path="/nowhere") == ".venv/bin/pointsman"


def test_another_program_of_the_name_on_the_path_is_not_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, other = program(tmp_path / "mine"), program(tmp_path / "other")
    monkeypatch.chdir(other.parent)
    assert own_command([str(made)], path=str(other.parent)) == str(made)


def test_a_module_is_called_by_its_interpreter() -> None:
    called = own_command(["/somewhere/pointsman/__main__.py"])
    assert called == f"{sys.executable} -m pointsman"
