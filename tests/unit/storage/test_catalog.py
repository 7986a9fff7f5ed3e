"""The catalogue: own files and packaged ones, broken files included."""

import os
from pathlib import Path

import pytest

from pointsman.graph.edges import Graph
from pointsman.storage.catalog import entry_of, examples, find, load_file
from tests.unit.storage.broken_definitions import GRAPHS, SHAPES, TEXTS, marked
from tests.unit.storage.broken_groups import GROUPS
from tests.unit.storage.foreign_files import FOREIGN

GOOD = "pointsman: 1\nid: {id}\nname: N\nentry: a\nnodes:\n  a: {{kind: end}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / ".pointsman" / "workflows"
    found.mkdir(parents=True)
    return found


def test_a_project_without_workflows_has_the_packaged_ones(tmp_path: Path) -> None:
    assert find(tmp_path) == examples()


def test_every_packaged_workflow_is_runnable() -> None:
    assert examples(), "the examples are part of the package"
    assert [(entry.file, entry.problems) for entry in examples() if not entry.runnable] == []


def test_own_files_come_first_and_broken_ones_stay_visible(tmp_path: Path, folder: Path) -> None:
    (folder / "b.yaml").write_text(GOOD.format(id="bee"))
    (folder / "a.yaml").write_text("pointsman: 1\n")
    (folder / "notes.txt").write_text("no workflow")
    own = [entry for entry in find(tmp_path) if entry.origin == "project"]
    assert [(entry.id, entry.file, entry.runnable) for entry in own] == [
        ("a", ".pointsman/workflows/a.yaml", False),
        ("bee", ".pointsman/workflows/b.yaml", True),
    ]
    assert {problem.code for problem in own[0].problems} == {"missing_key"}
    assert own[0].problems[0].file == ".pointsman/workflows/a.yaml"


def test_of_two_files_with_one_id_the_later_is_broken(tmp_path: Path, folder: Path) -> None:
    (folder / "a.yaml").write_text(GOOD.format(id="same"))
    (folder / "b.yaml").write_text(GOOD.format(id="same"))
    first, second = (entry for entry in find(tmp_path) if entry.origin == "project")
    assert first.runnable
    assert not second.runnable
    problem = second.problems[0]
    assert (second.id, problem.code, problem.line, problem.column) == ("b", "duplicate_id", 2, 5)
    assert entry_of(tmp_path, "same") == first


def test_an_own_workflow_takes_the_place_of_a_packaged_one(tmp_path: Path, folder: Path) -> None:
    packaged = examples()[0].id
    (folder / "mine.yaml").write_text(GOOD.format(id=packaged))
    found = entry_of(tmp_path, packaged)
    assert found is not None
    assert found.origin == "project"
    assert [entry.id for entry in find(tmp_path)].count(packaged) == 1


def test_what_cannot_be_read_is_a_problem_and_never_waited_for(
    tmp_path: Path, folder: Path
) -> None:
    os.mkfifo(folder / "pipe.yaml")
    (folder / "folder.yaml").mkdir()
    (folder / "gone.yaml").symlink_to(folder / "nowhere")
    own = [entry for entry in find(tmp_path) if entry.origin == "project"]
    assert [(entry.id, entry.problems[0].code) for entry in own] == [
        ("folder", "unreadable_file"),
        ("gone", "unreadable_file"),
        ("pipe", "unreadable_file"),
    ]


def test_a_single_file_is_loaded_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    assert load_file(path).problems[0].code == "unreadable_file"
    path.write_text(GOOD.format(id="w"))
    assert load_file(path).workflow is not None


def test_reading_leaves_the_file_as_it_is(tmp_path: Path, folder: Path) -> None:
    path = folder / "a.yaml"
    path.write_bytes(GOOD.format(id="a").replace("\n", "\r\n").encode())
    before = path.read_bytes(), path.stat().st_mtime_ns
    find(tmp_path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_another_tool_is_listed_with_one_precise_reason(
    name: str, tmp_path: Path, folder: Path
) -> None:
    why, text = FOREIGN[name]
    (folder / name).write_text(text)
    (folder / "mine.yaml").write_text(GOOD.format(id="mine"))
    entry, mine = (entry for entry in find(tmp_path) if entry.origin == "project")
    if name > "mine.yaml":
        entry, mine = mine, entry
    assert mine.runnable, "nothing else changes"
    assert not entry.runnable
    assert len(entry.problems) == 1
    assert why in entry.problems[0].message
    assert (folder / name).read_text() == text


def test_every_broken_file_of_a_project_is_listed_with_its_code_line_and_column(
    tmp_path: Path, folder: Path
) -> None:
    broken = list((SHAPES | GRAPHS | TEXTS | GROUPS).values())
    assert len(broken) >= 50
    for number, (_, text) in enumerate(broken):
        (folder / f"{number:03}.yaml").write_bytes(marked(text)[0].encode())
    found = [entry for entry in find(tmp_path) if entry.origin == "project"]
    assert [
        (entry.id, problem.code, problem.line, problem.column)
        for entry in found
        for problem in entry.problems
    ] == [(f"{n:03}", code, *marked(text)[1:]) for n, (code, text) in enumerate(broken)]


def test_a_workflow_with_parallel_reviewers_is_runnable(tmp_path: Path, folder: Path) -> None:
    text = Path(__file__).parent.joinpath("definitions", "reviewed-change.yaml").read_text()
    (folder / "reviewed.yaml").write_text(text)
    entry = entry_of(tmp_path, "reviewed-change")
    assert entry is not None
    assert entry.workflow is not None
    assert entry.problems == ()
    assert entry.runnable


def test_every_packaged_workflow_ends_at_a_person() -> None:
    for entry in examples():
        assert entry.workflow is not None
        nodes = entry.workflow.nodes
        completed = [n for n, e in nodes.items() if e.kind == "end" and e.result == "completed"]
        routes = [each for each in Graph(entry.workflow).edges if each.to in completed]
        assert routes
        assert {nodes[each.source].kind for each in routes} == {"gate"}, entry.file


def test_the_tests_of_a_workflow_are_no_workflow(tmp_path: Path, folder: Path) -> None:
    (folder / "a.yaml").write_text(GOOD.format(id="a"))
    (folder / "a.test.yaml").write_text("pointsman: 1\ncases: []\n")
    assert [entry.file for entry in find(tmp_path) if entry.origin == "project"] == [
        ".pointsman/workflows/a.yaml"
    ]
