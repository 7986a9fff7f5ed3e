"""Goal: a suggested command can be copied as it stands, however this program was called."""

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from pointsman.runtime.cli.terminal import own_command, table


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


def test_nothing_of_a_table_is_cut_in_a_narrow_terminal() -> None:
    shown = io.StringIO()
    path = "a/rather/long/path/of/a/workflow/that/does/not/fit.yaml"
    Console(file=shown, width=40).print(table({"name": "bold", "from": ""}, [("change", path)]))
    told = shown.getvalue()
    assert "…" not in told
    assert path in "".join(line.removeprefix("change").strip() for line in told.splitlines())
