"""Goal: what a person calls a run, a workflow or an input is understood, or told why not."""

from pathlib import Path

import pytest

from pointsman.runtime.cli.names import (
    find_definition,
    match_run,
    read_inputs,
    short,
)
from pointsman.runtime.problems import PointsmanError
from tests.harness.core import workflow

NEWEST = "r0-01m8qewkq0000000000000aaaa"
MIDDLE = "r0-01m8qewkp0000000000000abcd"
OLDEST = "r0-01h0000000000000000000zzzz"
KNOWN = (NEWEST, MIDDLE, OLDEST)


@pytest.mark.parametrize(
    "text, meant",
    [
        ("last", NEWEST),
        (MIDDLE, MIDDLE),
        ("abcd", MIDDLE),
        ("ABCD", MIDDLE),
        (short(OLDEST), OLDEST),
        ("r0-01h", OLDEST),
    ],
)
def test_a_piece_that_fits_one_run_names_it(text: str, meant: str) -> None:
    assert match_run(text, KNOWN) == meant


def test_a_piece_that_fits_several_runs_is_refused_with_all_of_them() -> None:
    with pytest.raises(PointsmanError, match="fits 2 runs") as refused:
        match_run("r0-01m8", KNOWN)
    assert refused.value.details == {"runs": [NEWEST, MIDDLE]}


@pytest.mark.parametrize("text", ["nothing", "", "1m8"])
def test_a_piece_that_fits_no_run_is_refused(text: str) -> None:
    with pytest.raises(PointsmanError, match="no run's id") as refused:
        match_run(text, KNOWN)
    assert refused.value.code == "run_unknown"


def test_last_of_no_runs_is_refused() -> None:
    with pytest.raises(PointsmanError, match="no run yet"):
        match_run("last", ())


def test_an_id_names_a_packaged_workflow(tmp_path: Path) -> None:
    found = find_definition("reviewed-change", tmp_path)
    assert found.source == "example:reviewed-change.yaml"
    assert "id: reviewed-change" in found.text


def test_a_projects_own_workflow_goes_before_an_example_of_its_id(tmp_path: Path) -> None:
    folder = tmp_path / ".pointsman" / "workflows"
    folder.mkdir(parents=True)
    packaged = find_definition("reviewed-change", tmp_path).text
    own = packaged.replace("revision: 1", "revision: 7")
    (folder / "mine.yaml").write_text(own, encoding="utf-8")
    found = find_definition("reviewed-change", tmp_path)
    assert (found.workflow.revision, found.text) == (7, own)


def test_a_path_names_a_file_wherever_it_is(tmp_path: Path) -> None:
    text = find_definition("reviewed-change", tmp_path).text
    (tmp_path / "flow.yaml").write_text(text, encoding="utf-8")
    found = find_definition(str(tmp_path / "flow.yaml"), tmp_path / "elsewhere")
    assert (found.text, found.source) == (text, str(tmp_path / "flow.yaml"))


def test_a_missing_file_and_an_unknown_id_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(PointsmanError) as missing:
        find_definition(str(tmp_path / "none.yaml"), tmp_path)
    with pytest.raises(PointsmanError, match="did you mean 'reviewed-change'") as unknown:
        find_definition("reviewed-chang", tmp_path)
    assert (missing.value.code, unknown.value.code) == ("definition_invalid", "definition_unknown")


def test_every_mistake_of_a_definition_is_told_with_its_place(tmp_path: Path) -> None:
    text = find_definition("reviewed-change", tmp_path).text
    broken = text.replace("next: unit-tests", "next: unit-test").replace("kind: gate", "kind: gat")
    (tmp_path / "flow.yaml").write_text(broken, encoding="utf-8")
    with pytest.raises(PointsmanError, match=r"flow\.yaml") as refused:
        find_definition(str(tmp_path / "flow.yaml"), tmp_path)
    assert len(refused.value.details["problems"]) >= 3


def test_inputs_are_read_by_their_declared_types() -> None:
    made = workflow(
        inputs={
            "task": {"type": "string", "required": True},
            "tries": {"type": "number"},
            "strict": {"type": "boolean"},
        }
    )
    given = ("task=a=b", "tries=3", "strict=true")
    assert read_inputs(made, given) == {"task": "a=b", "tries": 3, "strict": True}


def test_every_wrong_input_is_told_at_once() -> None:
    with pytest.raises(PointsmanError) as refused:
        read_inputs(workflow(), ("tusk=x", "nonsense"))
    assert refused.value.code == "input_invalid"
    assert "there is no input 'tusk': did you mean 'task'?" in str(refused.value)
    assert len(refused.value.details["fields"]) == 3
