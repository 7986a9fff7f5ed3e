"""Goal: one wish to start makes one run, and a refused one makes nothing.

Method: the product's own client against a real server; only the host is fake.
"""

import threading
from pathlib import Path

import pytest

from pointsman.actors.host import ProviderCapability, RepositoryRefused, RepositoryState
from pointsman.runtime.problems import PointsmanError
from tests.harness.fake_host import HEAD
from tests.harness.gateway import GatewayServer
from tests.integration.gateway.steps import both_journals, refusal_of


@both_journals
def test_the_same_start_makes_one_run_also_after_a_restart(
    server: GatewayServer, definition: str
) -> None:
    first = server.start(definition, task="greet")
    again = server.start(definition, task="greet")
    server.restart()
    later = server.start(definition, task="greet")
    assert {first, again, later} == {first}
    assert [row.run_id for row in server.client.runs()] == [first]


def test_a_repeated_start_is_answered_though_the_repository_has_moved_on_or_gone(
    server: GatewayServer, definition: str
) -> None:
    first = server.start(definition, task="greet")
    server.host.repository = RepositoryState(
        path="/repo", head_commit="2" * 40, branch="other", uncommitted_paths=("a",)
    )
    assert server.start(definition, task="greet") == first
    server.host.repository = RepositoryRefused(
        code="repository_missing", message="Gone.", mend="Look."
    )
    assert server.start(definition, task="greet") == first
    assert server.view(first).base_commit == HEAD


def test_a_repeated_start_is_recognised_though_the_host_names_the_repository_by_its_top_folder(
    server: GatewayServer, definition: str
) -> None:
    server.host.repository = RepositoryState(
        path="/top", head_commit=HEAD, branch="main", uncommitted_paths=()
    )
    first = server.start(definition, task="greet")
    assert server.view(first).repository == "/top"
    assert server.start(definition, task="greet") == first


def test_the_same_start_id_with_other_inputs_is_refused(
    server: GatewayServer, definition: str
) -> None:
    first = server.start(definition, task="greet")
    with pytest.raises(PointsmanError) as refused:
        server.start(definition, task="something else")
    assert refusal_of(refused) == "command_id_reused"
    assert [row.run_id for row in server.client.runs()] == [first]


@both_journals
def test_two_starts_with_one_id_at_the_same_time_make_one_run(
    server: GatewayServer, definition: str
) -> None:
    begin, made = threading.Barrier(4), list[str]()

    def start() -> None:
        begin.wait()
        made.append(server.start(definition, task="greet"))

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    assert len(set(made)) == 1
    assert len(server.client.runs()) == 1


def test_a_start_is_told_every_mistake_of_its_definition_and_makes_nothing(
    server: GatewayServer, definition: str
) -> None:
    broken = definition.replace("otherwise: approve", "otherwise: aprove").replace(
        "risk, eq: high", "rsk, eq: high"
    )
    with pytest.raises(PointsmanError) as refused:
        server.start(broken, task="greet")
    assert refusal_of(refused) == "definition_invalid"
    problems = refused.value.details["problems"]
    assert len(problems) == 2
    assert all(each["line"] > 1 and each["mend"] for each in problems)
    assert server.client.runs() == []


def test_a_start_is_told_every_mistake_of_its_inputs(
    server: GatewayServer, definition: str
) -> None:
    with pytest.raises(PointsmanError) as refused:
        server.start(definition, tasks="greet")
    assert refusal_of(refused) == "input_invalid"
    assert [each["path"] for each in refused.value.details["fields"]] == ["tasks", "task"]
    assert server.client.runs() == []


@pytest.mark.parametrize(
    "capability, code",
    [
        (None, "provider_unavailable"),
        (
            ProviderCapability(
                provider="scripted", version="1", modes=("edit",), resume=True, unavailable="broken"
            ),
            "provider_unavailable",
        ),
        (
            ProviderCapability(provider="scripted", version="1", modes=("review",), resume=True),
            "provider_mode_unsupported",
        ),
    ],
)
def test_a_provider_that_cannot_report_is_refused_at_the_start(
    server: GatewayServer, definition: str, capability: ProviderCapability | None, code: str
) -> None:
    server.host.capabilities = (capability,) if capability is not None else ()
    with pytest.raises(PointsmanError) as refused:
        server.start(definition, task="greet")
    assert refusal_of(refused) == code
    assert refused.value.details["problems"][0]["node"] == "implement"
    assert server.client.runs() == []
    assert server.host.calls == {}


def test_everything_a_run_is_judged_by_is_durable_before_any_work_outside(
    server: GatewayServer, definition: str, tmp_path: Path
) -> None:
    folder = tmp_path / ".agents" / "skills" / "careful"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("Be careful.")
    definition = definition.replace("{provider: scripted}", "{provider: scripted, skill: careful}")
    preparing = server.host.block("prepare_workspace")
    run_id = server.start(definition, task="greet")
    started = server.client.trace(run_id)[0].data
    assert server.host.calls == {}
    preparing.set()
    validation = server.client.validate(definition)
    assert validation.workflow is not None
    assert started["definition_digest"] == validation.workflow.digest
    assert started["workflow"] == {"id": "change", "name": "Change", "revision": 1}
    assert started["inputs"] == {"task": "greet"}
    assert (started["repository"], started["base_commit"], started["base_branch"]) == (
        "/repo",
        HEAD,
        "main",
    )
    assert [skill["source"] for skill in started["skills"]] == [str(folder)]


def test_a_missing_skill_is_refused_and_a_found_one_is_kept_with_its_fingerprint(
    server: GatewayServer, definition: str, tmp_path: Path
) -> None:
    definition = definition.replace("{provider: scripted}", "{provider: scripted, skill: careful}")
    with pytest.raises(PointsmanError) as refused:
        server.start(definition, task="greet")
    assert refusal_of(refused) == "skill_missing"
    assert server.client.runs() == []
    folder = tmp_path / ".claude" / "skills" / "careful"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("Be careful.")
    run_id = server.start(definition, task="greet")
    (skill,) = server.client.trace(run_id)[0].data["skills"]
    assert skill["source"] == str(folder)
    assert skill["fingerprint"].startswith("sha256:")
    assert skill["provider"] == "scripted"


def test_a_skill_that_changed_before_the_launch_leaves_the_visit_unresolved_with_that_reason(
    server: GatewayServer, definition: str
) -> None:
    server.host.refuse("launch_execution", "skill_changed")
    run_id = server.start(definition, task="greet")
    server.until(run_id, "node_unresolved")
    view = server.view(run_id)
    assert view.state == "unresolved"
    assert view.unresolved is not None
    assert view.unresolved.reason == "skill_changed"
    assert [each.action.value for each in view.allowed_actions] == ["retry", "cancel"]


@pytest.mark.parametrize(
    "code, seen",
    [("repository_empty", "repository_empty"), ("haunted", "repository_refused")],
)
def test_a_repository_that_no_run_can_start_from_is_refused_with_the_hosts_advice(
    server: GatewayServer, definition: str, code: str, seen: str
) -> None:
    server.host.repository = RepositoryRefused(code=code, message="No.", mend="Do this.")
    with pytest.raises(PointsmanError) as refused:
        server.start(definition, task="greet")
    assert refusal_of(refused) == seen
    assert "Do this." in refused.value.message
    assert server.client.runs() == []


def test_a_relative_repository_is_refused(server: GatewayServer, definition: str) -> None:
    with pytest.raises(PointsmanError) as refused:
        server.client.start(
            definition=definition,
            source="test",
            repository="repo",
            inputs={"task": "greet"},
            started_by="ann",
            command_id="c",
        )
    assert refusal_of(refused) == "request_invalid"


def test_a_host_that_cannot_be_reached_is_no_reason_to_half_start(
    server: GatewayServer, definition: str
) -> None:
    server.host.reachable = False
    with pytest.raises(PointsmanError) as refused:
        server.start(definition, task="greet")
    assert refusal_of(refused) == "host_unavailable"
    server.host.reachable = True
    assert server.start(definition, task="greet")


def test_validation_tells_the_digest_that_the_run_will_have(
    server: GatewayServer, definition: str
) -> None:
    validation = server.client.validate(definition)
    assert validation.workflow is not None
    run_id = server.start(definition, task="greet")
    assert server.view(run_id).workflow.digest == validation.workflow.digest
    assert not server.client.validate("nodes: [").valid
