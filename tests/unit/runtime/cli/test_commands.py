"""Goal: every command tells its failures in words, and nothing but data comes on stdout.

Method: the command line runs in this process, on data directories without any run; what needs
a server is shown by tests/acceptance.
"""

import json
from pathlib import Path

import pytest

import pointsman
from pointsman.graph.run import RunState
from pointsman.runtime.cli.main import run
from pointsman.runtime.exit_codes import MEANINGS
from tests.harness.shell import Shell

REPOSITORY_COMMANDS = (
    "demo",
    "init",
    "validate",
    "workflows",
    "run",
    "serve",
    "runs",
    "attention",
    "workspaces",
)
RUN_COMMANDS = (
    *("wait", "show", "trace", "logs", "approve", "request-changes"),
    *("cancel", "resume", "retry", "answer", "review-again"),
)


@pytest.fixture
def shell(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys, tmp_path / "data")


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"pointsman {pointsman.__version__}\n"


def test_help_names_every_command_and_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    told = capsys.readouterr().out
    assert all(f"  {command} " in told for command in (*REPOSITORY_COMMANDS, *RUN_COMMANDS))
    assert all(f"{code.value:>5}  {meaning}" in told for code, meaning in MEANINGS.items())


@pytest.mark.parametrize("command", [*REPOSITORY_COMMANDS, *RUN_COMMANDS])
def test_every_command_takes_json_and_a_data_directory(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, "--help"]) == 0
    told = capsys.readouterr().out
    assert "--json" in told
    assert "--data PATH" in told


@pytest.mark.parametrize(
    "arguments",
    [("approv",), ("runs", "--limit", "0"), ("run",), ("request-changes", "last"), ("--nope",)],
)
def test_wrong_usage_ends_with_2_and_says_where_the_right_one_stands(
    shell: Shell, arguments: tuple[str, ...]
) -> None:
    assert shell(*arguments) == 2
    assert shell.out == ""
    assert "--help" in shell.err


def test_wrong_usage_is_a_problem_document_for_programs(shell: Shell) -> None:
    assert shell("run", "--json") == 2
    assert shell.document["code"] == "usage_invalid"
    assert shell.err == ""


@pytest.mark.parametrize("command", ["wait", "show", "trace", "logs", "approve", "cancel"])
def test_a_run_that_does_not_exist_ends_with_2(shell: Shell, command: str) -> None:
    assert shell(command, "last", "--json") == 2
    assert shell.document["code"] == "run_unknown"


def test_a_problem_tells_people_what_happened_what_is_safe_and_what_to_do(shell: Shell) -> None:
    assert shell("show", "last") == 2
    assert shell.out == ""
    assert "PM0050 run_unknown" in shell.err
    assert "this data directory has no run yet" in shell.err
    assert "What is safe:  Nothing was changed." in shell.err
    assert "What to do:" in shell.err
    assert "Traceback" not in shell.err


def test_options_may_stand_before_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["--json", "--data", str(tmp_path / "data"), "runs"]) == 0
    assert json.loads(capsys.readouterr().out) == {"runs": []}


def test_looking_makes_no_data_directory(shell: Shell, tmp_path: Path) -> None:
    assert shell("runs") == 0
    assert shell("attention", "--json") == 0
    assert shell.document == {"items": []}
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("state", RunState)
def test_runs_can_be_listed_by_every_state(shell: Shell, state: RunState) -> None:
    assert shell("runs", "--state", state.value, "--json") == 0


def test_an_unknown_state_is_wrong_usage(shell: Shell) -> None:
    assert shell("runs", "--state", "asleep", "--json") == 2


def test_a_start_is_refused_before_any_server_is_started(shell: Shell, tmp_path: Path) -> None:
    task = ("--input", "task=x")
    assert shell("run", "nope", *task, "--json") == 2
    assert shell.document["code"] == "definition_unknown"
    assert shell("run", "reviewed-change", "--json") == 2
    assert shell.document["code"] == "input_invalid"
    assert shell("run", "reviewed-change", *task, "--repo", str(tmp_path), "--json") == 2
    assert shell.document["code"] == "repository_not_git"
    assert not (tmp_path / "data").exists()


def test_init_writes_a_valid_starter_and_never_overwrites(shell: Shell, tmp_path: Path) -> None:
    assert shell("init", "--json") == 0
    written = shell.document["written"]
    assert sorted(Path(name).name for name in written) == [
        "change-any-repository.yaml",
        "scripted-change.yaml",
        "workflow.schema.json",
    ]
    own = tmp_path / ".pointsman" / "scripts" / "scripted-change.yaml"
    own.write_text("steps: []\n", encoding="utf-8")
    assert shell("init", "--json") == 0
    assert (shell.document["written"], sorted(shell.document["kept"])) == ([], sorted(written))
    assert own.read_text(encoding="utf-8") == "steps: []\n"
    assert shell("validate", "--json") == 0
    assert shell.document["valid"] is True


def test_validate_tells_every_mistake_with_its_place(shell: Shell, tmp_path: Path) -> None:
    assert shell("init") == 0
    file = tmp_path / ".pointsman" / "workflows" / "change-any-repository.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("entry: change", "entry: chnge") + "extra: 1\n", encoding="utf-8")
    assert shell("validate") == 2
    assert "did you mean 'change'?" in shell.out
    assert "2 problems in 1 of 1 files." in shell.err
    assert shell("validate", str(file), "--json") == 2
    (checked,) = shell.document["files"]
    assert sorted(each["code"] for each in checked["problems"]) == ["unknown_key", "unknown_target"]
    assert all(each["line"] > 0 for each in checked["problems"])


def test_validate_without_any_file_is_told(shell: Shell) -> None:
    assert shell("validate", "--json") == 2
    assert shell.document["code"] == "definition_unknown"


def test_workflows_lists_own_and_packaged_ones(shell: Shell) -> None:
    assert shell("init") == 0
    assert shell("workflows", "--json") == 0
    found = {each["id"]: each["origin"] for each in shell.document["workflows"]}
    assert found == {"change-any-repository": "project", "reviewed-change": "example"}


@pytest.mark.parametrize("command", ["run", "explain", "graph"])
def test_a_repository_that_is_not_there_is_told_as_that(shell: Shell, command: str) -> None:
    assert shell(command, "any-workflow", "--repo", "/nonexistent", "--json") == 2
    assert shell.document["code"] == "repository_missing"


def test_a_file_that_is_not_there_is_told_without_a_place_in_it(shell: Shell) -> None:
    assert shell("validate", "nope.yaml") == 2
    assert shell.out.startswith("nope.yaml: unreadable_file: ")
    assert "^" not in shell.out
    assert "1 problem in 1 of 1 files." in shell.err


def test_nobody_decides_under_an_empty_name(shell: Shell) -> None:
    assert shell("approve", "last", "--as", " ", "--json") == 2
    assert shell.document["code"] == "usage_invalid"


def test_worktrees_are_listed_without_a_server_and_nothing_is_made_for_it(
    shell: Shell, tmp_path: Path
) -> None:
    assert shell("workspaces", "--json") == 0
    assert shell.document == {"workspaces": []}
    assert not (tmp_path / "data").exists()


def test_a_drawing_is_of_a_workflow_or_of_a_run(shell: Shell) -> None:
    assert shell("graph") == 2
    assert shell("graph", "a-workflow", "--run", "last") == 2
    assert shell("graph", "--run", "last", "--json") == 2
    assert shell.document["code"] == "run_unknown"


@pytest.mark.parametrize(
    "guess, meant", [("status", "'show RUN', or 'runs'"), ("list", "'runs', or 'workflows'")]
)
def test_what_people_try_first_is_told_the_command_that_does_it(
    shell: Shell, guess: str, meant: str
) -> None:
    assert shell(guess) == 2
    assert f"No such command '{guess}'. Did you mean {meant}?" in shell.err


def test_validate_takes_an_id_as_run_does(shell: Shell) -> None:
    assert shell("init") == 0
    assert shell("validate", "change-any-repository") == 0
    assert shell("validate", "reviewed-change") == 0
    assert shell("validate", "change-any-repositry") == 2
    assert "did you mean 'change-any-repository'?" in shell.err


def test_a_run_that_is_drawn_like_a_workflow_is_told_the_option(shell: Shell) -> None:
    assert shell("graph", "last") == 2
    assert "graph --run last" in shell.err


def test_what_an_example_lacks_is_said_in_one_line_and_in_full_for_programs(shell: Shell) -> None:
    assert shell("workflows") == 0
    assert "reviewed-change: needs the demonstration's sample project" in shell.out
    assert "skill_missing" not in shell.out
    assert shell("workflows", "--json") == 0
    (example,) = (each for each in shell.document["workflows"] if each["id"] == "reviewed-change")
    assert {each["code"] for each in example["not_runnable"]} == {"skill_missing"}
