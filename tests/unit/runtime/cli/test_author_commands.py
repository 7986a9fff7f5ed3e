"""Goal: an author writes, reads, rehearses and tests a workflow without a server or an agent."""

import json
from pathlib import Path
from typing import Any

import pytest

from pointsman.graph.definition import AgentNode, ParallelNode
from pointsman.graph.expectations import judge
from pointsman.runtime.cli.main import run
from pointsman.runtime.cli.project_files import MODELINE, SCHEMA_FILE
from pointsman.runtime.cli.templating import DEFAULT, template_files, template_names
from pointsman.runtime.providers.scripts import parse_script
from pointsman.storage import catalog
from pointsman.storage.definition_text import read_definition
from pointsman.storage.rehearsal_text import read_tests
from tests.tidy.source_files import ROOT

COMMANDS = ("new", "explain", "graph", "dry-run", "test", "schema")
WORKFLOWS = Path(".pointsman") / "workflows"
ANSWERS = """\
inputs: {task: Say hello}
answers:
  change: [report: completed]
  document: [report: completed]
"""


class Shell:
    """Runs commands in a project folder and keeps what they wrote."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        code = run(arguments)
        self.out, self.err = self._capsys.readouterr()
        return code

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def shell(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POINTSMAN_DATA", str(tmp_path / "data"))
    return Shell(capsys)


def edited(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_for_authors_takes_json(shell: Shell, command: str) -> None:
    assert shell(command, "--help") == 0
    assert "--json" in shell.out


# --- new ---


@pytest.mark.parametrize("template", template_names())
def test_every_template_is_valid_runnable_and_passes_its_own_cases(template: str) -> None:
    made = template_files(template, "my-own")
    text = made[f".pointsman/workflows/my-own{catalog.SUFFIX}"]
    loaded = read_definition(text, "my-own.yaml")
    assert loaded.problems == ()
    workflow = loaded.workflow
    assert workflow is not None
    assert workflow.id == "my-own"
    cases = made[f".pointsman/workflows/my-own{catalog.TESTS_SUFFIX}"]
    tests, problems = read_tests(cases, "my-own.test.yaml", workflow)
    assert problems == ()
    assert tests is not None
    assert [each.case for each in judge(workflow, tests) if each.differences] == []


@pytest.mark.parametrize("template", template_names())
def test_every_script_of_a_template_is_there_and_reads_well(template: str) -> None:
    made = template_files(template, "my-own")
    scripts = {path: text for path, text in made.items() if "/scripts/" in path}
    for path, text in scripts.items():
        parse_script(path, text)
    workflow = read_definition(made[f".pointsman/workflows/my-own{catalog.SUFFIX}"], "x").workflow
    assert workflow is not None
    agents = [node.agent for node in workflow.nodes.values() if isinstance(node, AgentNode)]
    for node in workflow.nodes.values():
        if isinstance(node, ParallelNode):
            agents += [branch.agent for branch in node.branches.values()]
    assert {f".pointsman/scripts/{each.options['script']}.yaml" for each in agents} == set(scripts)


@pytest.mark.parametrize("template", template_names())
def test_new_writes_what_validates_and_passes(shell: Shell, template: str) -> None:
    assert shell("new", "my-own", "--template", template, "--json") == 0
    assert shell.document["next"]
    assert all(Path(each).is_file() for each in shell.document["written"])
    text = (WORKFLOWS / "my-own.yaml").read_text(encoding="utf-8")
    assert text.startswith(MODELINE)
    assert Path(WORKFLOWS / "../workflow.schema.json").resolve() == Path(SCHEMA_FILE).resolve()
    assert shell("validate") == 0
    assert shell("test") == 0
    assert shell("workflows", "--json") == 0
    own = [each for each in shell.document["workflows"] if each["origin"] == "project"]
    assert [(each["id"], each["runnable"]) for each in own] == [("my-own", True)]


def test_new_suggests_an_input_that_fits_and_says_that_runs_need_a_repository(
    shell: Shell,
) -> None:
    assert shell("new", "mine", "--template", "review-a-change") == 0
    assert "--input change=my-branch" in shell.err
    assert "Runs need a git repository with a commit." in shell.err


def test_new_overwrites_nothing_and_then_writes_nothing(shell: Shell) -> None:
    mine = WORKFLOWS / "mine.test.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine\n", encoding="utf-8")
    assert shell("new", "mine", "--json") == 2
    assert shell.document["code"] == "file_exists"
    assert mine.read_text(encoding="utf-8") == "mine\n"
    assert [path.name for path in WORKFLOWS.iterdir()] == ["mine.test.yaml"]


@pytest.mark.parametrize(
    "arguments",
    [(), ("Mine",), ("../mine",), ("mine", "--template", "tow-steps"), ("x" * 65,)],
    ids=str,
)
def test_new_refuses_what_it_cannot_name(shell: Shell, arguments: tuple[str, ...]) -> None:
    assert shell("new", *arguments, "--json") == 2
    assert shell.document["code"] == "usage_invalid"
    assert not Path(".pointsman").exists()


def test_a_mistyped_template_is_told_the_right_one(shell: Shell) -> None:
    assert shell("new", "mine", "--template", "tow-steps") == 2
    assert "did you mean 'two-steps'?" in shell.err


def test_templates_are_listed_with_the_default_first(shell: Shell) -> None:
    assert shell("new", "--list", "--json") == 0
    names = [each["template"] for each in shell.document["templates"]]
    assert names == list(template_names())
    assert names[0] == shell.document["default"] == DEFAULT
    assert all(each["description"] for each in shell.document["templates"])


# --- schema, graph, explain ---


def test_the_schema_is_printed_and_written_for_editors(shell: Shell) -> None:
    assert shell("schema") == 0
    printed = shell.document
    assert shell("schema", "--write", "--json") == 0
    assert shell.document == {"file": str(SCHEMA_FILE), "written": True}
    written = json.loads(Path(SCHEMA_FILE).read_text(encoding="utf-8"))
    assert written.pop("$comment")
    assert written == printed
    assert shell("schema", "--write", "--json") == 0
    assert shell.document["written"] is False


def test_an_older_schema_is_renewed(shell: Shell) -> None:
    Path(SCHEMA_FILE).parent.mkdir()
    Path(SCHEMA_FILE).write_text("{}", encoding="utf-8")
    assert shell("new", "mine") == 0
    assert len(Path(SCHEMA_FILE).read_bytes()) > 1_000
    assert sorted(path.name for path in Path(".pointsman").iterdir()) == [
        "scripts",
        "workflow.schema.json",
        "workflows",
    ]


def test_init_shows_editors_the_schema(shell: Shell) -> None:
    assert shell("init") == 0
    assert Path(SCHEMA_FILE).is_file()
    text = (WORKFLOWS / "change-any-repository.yaml").read_text(encoding="utf-8")
    assert text.startswith(MODELINE)


def test_a_workflow_is_drawn_and_explained_by_file_or_id(shell: Shell) -> None:
    assert shell("new", "mine") == 0
    for wanted in ("mine", str(WORKFLOWS / "mine.yaml")):
        assert shell("graph", wanted) == 0
        assert shell.out.startswith("flowchart TD\n")
        assert shell("explain", wanted) == 0
        assert "Rule 1, “checks failed”: if check.checks.exit_code" in shell.out
    assert shell("explain", "mine", "--json") == 0
    assert {each["node"] for each in shell.document["nodes"]} >= {"implement", "done"}
    assert shell("graph", "mine", "--json") == 0
    assert shell.document["mermaid"].startswith("flowchart TD\n")


def test_what_is_not_run_here_is_drawn_and_explained_all_the_same(shell: Shell) -> None:
    full = str(ROOT / "tests" / "unit" / "storage" / "definitions" / "reviewed-change.yaml")
    assert shell("graph", full) == 0
    assert shell("explain", full) == 0
    assert "When every reviewer of reviewers has completed" in shell.out


def test_a_broken_workflow_is_neither_drawn_nor_explained(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("pointsman: 1\n", encoding="utf-8")
    for command in ("graph", "explain"):
        assert shell(command, "x.yaml", "--json") == 2
        assert shell.document["code"] == "definition_invalid"


# --- dry-run ---


@pytest.fixture
def two(shell: Shell) -> Shell:
    assert shell("new", "two", "--template", "two-steps") == 0
    Path("answers.yaml").write_text(ANSWERS, encoding="utf-8")
    return shell


def test_a_dry_run_tells_each_step_and_the_end(two: Shell) -> None:
    assert two("dry-run", "two", "--reports", "answers.yaml") == 0
    assert "  1  change · visit 1 (agent)" in two.out
    assert "→ document" in two.out
    assert "The run has ended as completed at done." in two.out
    assert not Path("data").exists()


def test_a_dry_run_tells_every_term_with_its_value(shell: Shell) -> None:
    assert shell("new", "check", "--template", "check-only") == 0
    Path("answers.yaml").write_text("answers: {checks: [3]}\n", encoding="utf-8")
    assert shell("dry-run", "check", "--reports", "answers.yaml") == 0
    assert "rule “the command failed” holds:" in shell.out
    assert "✓ check.checks.exit_code ne 0: it is 3" in shell.out
    assert "→ red  (the command failed)" in shell.out


def test_a_dry_run_for_programs_is_one_document(two: Shell) -> None:
    assert two("dry-run", "two", "--reports", "answers.yaml", "--json") == 0
    assert two.document["routes"] == ["change -> document", "document -> done"]
    assert two.document["end"] == {"state": "completed", "node": "done", "unresolved": None}


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("  document: [report: completed]\n", "", "document has no answer for visit 1"),
        ("document: [", "document: [failed, ", "document was not asked for its answer 2"),
    ],
)
def test_answers_that_are_missing_or_left_over_are_named(
    two: Shell, old: str, new: str, said: str
) -> None:
    edited(Path("answers.yaml"), old, new)
    assert two("dry-run", "two", "--reports", "answers.yaml") == 2
    assert said in two.err


def test_wrong_answers_are_told_with_their_places_before_anything_is_walked(two: Shell) -> None:
    edited(Path("answers.yaml"), "change:", "chnge:")
    edited(Path("answers.yaml"), "document: [report: completed]", "document: [0]")
    assert two("dry-run", "two", "--reports", "answers.yaml") == 2
    assert "answers.yaml:3:3: unknown_target: there is no node 'chnge'" in two.err
    assert "answers.yaml:4:14: answer_unfit: this is no answer of an agent" in two.err
    assert two("dry-run", "two", "--reports", "answers.yaml", "--json") == 2
    assert len(two.document["details"]["problems"]) == 2


def test_answers_that_cannot_be_read_are_told(two: Shell) -> None:
    assert two("dry-run", "two", "--reports", "nowhere.yaml", "--json") == 2
    assert two.document["code"] == "answers_invalid"


# --- test ---


def test_the_cases_of_the_packaged_examples_pass(shell: Shell) -> None:
    assert shell("test", str(ROOT / "examples" / "workflows"), "--json") == 0
    files = [Path(each["workflow"]).name for each in shell.document["files"]]
    assert files == [entry.file for entry in catalog.examples()]


def test_a_difference_ends_with_1_and_is_shown(two: Shell) -> None:
    edited(WORKFLOWS / "two.test.yaml", "end: completed", "end: failed")
    assert two("test") == 1
    assert f"DIFFERENT  {WORKFLOWS / 'two.test.yaml'}: one agent follows the other" in two.out
    assert "- failed" in two.out
    assert "+ completed" in two.out
    assert "2 cases: 1 as expected, 1 different" in two.out
    assert two("test", "--json") == 1
    assert two.document["passed"] is False
    first, second = two.document["files"][0]["cases"]
    assert (first["passed"], second["passed"]) == (False, True)


@pytest.mark.parametrize(
    "given", ["two", ".pointsman/workflows/two.yaml", ".pointsman/workflows/two.test.yaml", "."]
)
def test_cases_are_found_by_id_file_or_folder(two: Shell, given: str) -> None:
    assert two("test", given) == 0
    assert "2 cases: 2 as expected" in two.out


def test_cases_of_a_broken_workflow_are_not_played(two: Shell) -> None:
    edited(WORKFLOWS / "two.yaml", "next: done", "next: dome")
    assert two("test") == 2
    assert "did you mean 'done'?" in two.out


def test_broken_cases_are_told_beside_the_good_ones(two: Shell) -> None:
    assert two("new", "other", "--template", "check-only") == 0
    edited(WORKFLOWS / "two.test.yaml", "document:", "documents:")
    assert two("test") == 2
    assert "unknown_target" in two.out
    assert "4 cases: 4 as expected, 0 different; 1 files could not be played" in two.out


def test_cases_may_name_their_workflow(two: Shell) -> None:
    cases = (WORKFLOWS / "two.test.yaml").read_text(encoding="utf-8")
    (WORKFLOWS / "two.test.yaml").unlink()
    Path("elsewhere.test.yaml").write_text(
        cases.replace("pointsman: 1", "pointsman: 1\nworkflow: .pointsman/workflows/two.yaml"),
        encoding="utf-8",
    )
    assert two("test", "elsewhere.test.yaml") == 0


def test_without_any_cases_that_is_told(shell: Shell) -> None:
    assert shell("test", "--json") == 2
    assert shell.document["code"] == "answers_invalid"
