"""Goal: clients see every workflow file with its reason, and save without losing an edit.

Method: the product's own client against a real server, on real folders.
"""

import threading
from pathlib import Path

import pytest

from pointsman.actors.host import ProviderCapability, RepositoryState
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.workflows import WorkflowRow
from tests.harness.core import envelope
from tests.harness.fake_host import HEAD
from tests.harness.gateway import GatewayServer
from tests.integration.gateway.steps import refusal_of

GOOD = "pointsman: 1\nid: {id}\nname: N\nentry: a\nnodes:\n  a: {{kind: end}}\n"
ACTIONS = "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps: [{run: make}]\n"
COMPOSE = "services:\n  web: {image: nginx, ports: ['80:80']}\n"


@pytest.fixture
def project(server: GatewayServer, tmp_path: Path) -> Path:
    found = tmp_path / "project"
    (found / ".pointsman" / "workflows").mkdir(parents=True)
    server.host.repository = RepositoryState(
        path=str(found), head_commit=HEAD, branch="main", uncommitted_paths=()
    )
    return found


def write(project: Path, name: str, text: str) -> Path:
    path = project / ".pointsman" / "workflows" / name
    path.write_bytes(text.encode())
    return path


def own(server: GatewayServer, project: Path) -> dict[str, WorkflowRow]:
    rows = server.client.workflows(str(project))
    return {row.id: row for row in rows if row.origin == "project"}


def codes(row: WorkflowRow) -> list[tuple[str, int]]:
    return [(each.code, each.line) for each in (*row.problems, *row.not_runnable)]


def test_own_files_and_the_packaged_ones_are_listed_with_their_revisions(
    server: GatewayServer, project: Path
) -> None:
    write(project, "b.yaml", GOOD.format(id="bee"))
    rows = server.client.workflows(str(project))
    assert (rows[0].id, rows[0].file, rows[0].runnable) == (
        "bee",
        ".pointsman/workflows/b.yaml",
        True,
    )
    assert all(row.origin == "example" and not row.problems for row in rows[1:])
    # An example may need skills that a project has to bring.
    lacking = {each.code for row in rows[1:] for each in row.not_runnable}
    assert lacking <= {"skill_missing"}
    assert all(row.revision is not None and row.revision.startswith("sha256:") for row in rows)
    assert rows[0].definition_revision == 1


def test_broken_files_and_those_of_other_tools_are_listed_with_a_reason_and_left_as_they_are(
    server: GatewayServer, project: Path
) -> None:
    texts = {
        "broken.yaml": GOOD.format(id="broken").replace("entry: a", "entry: b"),
        "ci.yaml": ACTIONS,
        "docker-compose.yaml": COMPOSE,
        "good.yaml": GOOD.format(id="good"),
    }
    paths = [write(project, name, text) for name, text in texts.items()]
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths]
    found = own(server, project)
    assert {name: row.runnable for name, row in found.items()} == {
        "broken": False,
        "ci": False,
        "docker-compose": False,
        "good": True,
    }
    assert codes(found["broken"]) == [("unknown_target", 4)]
    for name in ("ci", "docker-compose"):
        (problem,) = found[name].problems
        assert problem.file == found[name].file
        assert problem.message
        assert problem.mend
    assert "GitHub" in found["ci"].problems[0].message
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths] == before
    assert server.client.runs() == []


def test_what_this_place_lacks_makes_a_definition_visible_as_not_runnable(
    server: GatewayServer, project: Path, definition: str
) -> None:
    server.host.capabilities = (
        ProviderCapability(provider="scripted", version="1", modes=("edit",), resume=True),
        ProviderCapability(
            provider="claude", version=None, modes=(), resume=False, unavailable="not signed in"
        ),
    )
    variants = {
        "able": "{provider: scripted}",
        "unknown": "{provider: scriptd}",
        "away": "{provider: claude}",
        "reviewing": "{provider: scripted, mode: review}",
        "unskilled": "{provider: scripted, skill: careful}",
    }
    for name, agent in variants.items():
        text = definition.replace("id: change", f"id: {name}")
        write(project, f"{name}.yaml", text.replace("{provider: scripted}", agent))
    found = own(server, project)
    line = definition.split("agent: {")[0].count("\n") + 1
    assert {name: codes(row) for name, row in found.items()} == {
        "able": [],
        "unknown": [("provider_unavailable", line)],
        "away": [("provider_unavailable", line)],
        "reviewing": [("provider_mode_unsupported", line)],
        "unskilled": [("skill_missing", line)],
    }
    assert [name for name, row in found.items() if row.runnable] == ["able"]
    assert all(row.problems == [] for row in found.values())
    assert found["unknown"].not_runnable[0].mend == "did you mean 'scripted'?"
    assert "not signed in" in found["away"].not_runnable[0].message
    skill = project / ".agents" / "skills" / "careful"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("Be careful.")
    assert own(server, project)["unskilled"].runnable
    (listed,) = server.client.skills(str(project), "scripted")
    assert (listed.name, listed.source) == ("careful", str(skill))


def test_a_workflow_is_read_by_id_or_file_name_with_its_text_as_it_is(
    server: GatewayServer, project: Path
) -> None:
    text = "\ufeff" + GOOD.format(id="bee").replace("\n", "\r\n") + "# end"
    path = write(project, "b.yaml", text)
    by_id = server.client.workflow(str(project), "bee")
    assert by_id == server.client.workflow(str(project), "b.yaml")
    assert by_id.text == text
    path.write_bytes(b"\xff")
    assert server.client.workflow(str(project), "b").text is None
    example = server.client.workflows(str(project))[-1]
    assert server.client.workflow(str(project), example.id).text
    with pytest.raises(PointsmanError) as refused:
        server.client.workflow(str(project), "bea")
    assert refusal_of(refused) == "definition_unknown"


def test_a_save_keeps_the_authors_text_byte_for_byte(server: GatewayServer, project: Path) -> None:
    text = "\ufeff" + GOOD.format(id="bee").replace("\n", "\r\n") + "# päper, kept  \r\n"
    saved = server.client.save_workflow(str(project), "b.yaml", text, None)
    path = project / ".pointsman" / "workflows" / "b.yaml"
    assert path.read_bytes() == text.encode()
    assert (saved.changed, saved.workflow.runnable) == (True, True)
    read = server.client.workflow(str(project), "bee")
    assert (read.text, read.row) == (text, saved.workflow)
    again = server.client.save_workflow(str(project), "b.yaml", text, None)
    assert not again.changed, "a save whose answer was lost can be sent again"
    assert again.workflow == saved.workflow


def test_a_save_never_overwrites_a_newer_edit(server: GatewayServer, project: Path) -> None:
    path = write(project, "b.yaml", GOOD.format(id="bee"))
    read = server.client.workflow(str(project), "bee")
    colleague = path.read_text() + "# a colleague's\n"
    path.write_text(colleague)
    mine = (read.text or "") + "# mine\n"
    with pytest.raises(PointsmanError) as refused:
        server.client.save_workflow(str(project), "b.yaml", mine, read.row.revision)
    assert refusal_of(refused) == "revision_conflict"
    assert path.read_text() == colleague
    now = server.client.workflow(str(project), "bee").row.revision
    assert refused.value.details["revision"] == now
    assert server.client.save_workflow(str(project), "b.yaml", mine, now).changed
    assert path.read_text() == mine


def test_of_two_savers_at_once_one_saves_and_the_other_is_told(
    server: GatewayServer, project: Path
) -> None:
    path = write(project, "b.yaml", GOOD.format(id="bee"))
    revision = server.client.workflow(str(project), "bee").row.revision
    begin, outcomes = threading.Barrier(2), list[str]()

    def save(text: str) -> None:
        begin.wait()
        try:
            server.client.save_workflow(str(project), "b.yaml", text, revision)
            outcomes.append(text)
        except PointsmanError as error:
            outcomes.append(error.code)

    texts = [GOOD.format(id="bee") + f"# by {name}\n" for name in ("ann", "bob")]
    threads = [threading.Thread(target=save, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("revision_conflict") == 1
    assert path.read_text() in outcomes


def test_an_invalid_text_is_refused_with_every_mistake_and_nothing_is_written(
    server: GatewayServer, project: Path
) -> None:
    path = write(project, "b.yaml", GOOD.format(id="bee"))
    read = server.client.workflow(str(project), "bee")
    broken = GOOD.format(id="bee").replace("entry: a", "entry: b\nnonsense: 1")
    with pytest.raises(PointsmanError) as refused:
        server.client.save_workflow(str(project), "b.yaml", broken, read.row.revision)
    assert refusal_of(refused) == "definition_invalid"
    assert len(refused.value.details["problems"]) == 2
    assert path.read_text() == read.text
    with pytest.raises(PointsmanError) as refused:
        server.client.save_workflow(str(project), "c.yaml", GOOD.format(id="bee"), None)
    assert [each["code"] for each in refused.value.details["problems"]] == ["duplicate_id"]
    assert not path.with_name("c.yaml").exists()


def test_a_definition_that_cannot_run_here_can_be_saved_and_says_so(
    server: GatewayServer, project: Path, definition: str
) -> None:
    text = definition.replace("{provider: scripted}", "{provider: claude}")
    saved = server.client.save_workflow(str(project), "c.yaml", text, None)
    assert saved.changed
    assert not saved.workflow.runnable
    assert saved.workflow.not_runnable[0].code == "provider_unavailable"


def test_no_link_leads_a_reader_or_a_saver_out_of_the_folder(
    server: GatewayServer, project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "secret.yaml"
    outside.write_text("password: hunter2\n")
    link = project / ".pointsman" / "workflows" / "link.yaml"
    link.symlink_to(outside)
    row = own(server, project)["link"]
    assert [each.code for each in row.problems] == ["unreadable_file"]
    assert "leads out" in row.problems[0].message
    assert "hunter2" not in row.model_dump_json()
    assert server.client.workflow(str(project), "link").text is None
    for name in ("link.yaml", "..%2Flink.yaml", "../link.yaml"):
        with pytest.raises(PointsmanError) as refused:
            server.client.save_workflow(str(project), name, GOOD.format(id="x"), row.revision)
        assert refusal_of(refused) in ("workflow_not_written", "not_found", "method_not_allowed")
    assert outside.read_text() == "password: hunter2\n"


def test_a_workflow_folder_that_is_itself_a_link_out_of_the_project_is_told(
    server: GatewayServer, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.yaml").write_text(GOOD.format(id="a"))
    project = tmp_path / "linked"
    (project / ".pointsman").mkdir(parents=True)
    (project / ".pointsman" / "workflows").symlink_to(elsewhere)
    (row,) = own(server, project).values()
    assert (row.file, row.runnable) == (".pointsman/workflows", False)
    assert "leads out" in row.problems[0].message


@pytest.mark.parametrize(
    "repository, code", [("project", "request_invalid"), ("/nowhere", "repository_missing")]
)
def test_a_folder_that_is_none_is_refused(
    server: GatewayServer, repository: str, code: str
) -> None:
    with pytest.raises(PointsmanError) as refused:
        server.client.workflows(repository)
    assert refusal_of(refused) == code


def test_an_edited_definition_does_not_touch_the_run_that_was_started_from_it(
    server: GatewayServer, project: Path, definition: str
) -> None:
    saved = server.client.save_workflow(str(project), "change.yaml", definition, None)
    before = server.client.workflow(str(project), "change")
    assert before.text is not None
    run_id = server.start(before.text, task="greet")
    digest = server.view(run_id).workflow.digest
    agent = server.host.launched("implement.1.1")
    edited = definition.replace("implement.risk, eq: high", "implement.outcome, eq: completed")
    edited = edited.replace("name: Change\n", "name: Edited\nrevision: 2\n")
    server.client.save_workflow(str(project), "change.yaml", edited, saved.workflow.revision)
    server.restart()
    server.report(agent.token, envelope(data={"safe": True}))
    server.host.finish(agent.attempt_id)
    server.until(run_id, "run_suspended")
    view = server.view(run_id)
    assert (view.node, view.workflow.name, view.workflow.revision) == ("approve", "Change", 1)
    assert view.workflow.digest == digest
    later = server.start(edited, "start-2", task="greet")
    assert server.view(later).workflow.revision == 2
    assert server.view(later).workflow.digest != digest
