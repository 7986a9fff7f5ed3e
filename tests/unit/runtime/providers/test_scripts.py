"""Goal: scripts are read strictly, chosen by visit, try and cause, and found where they may lie."""

from pathlib import Path
from typing import Any

import pytest

from pointsman.runtime.providers.base import ProviderRefusedError
from pointsman.runtime.providers.scripted import place_in_run
from pointsman.runtime.providers.scripts import (
    STEPS,
    Say,
    Script,
    Steps,
    find_script,
    parse_script,
)

PACKAGED = Path(__file__).parents[4] / "examples" / "scripts"


def steps(text: str) -> list[dict[str, Any]]:
    parsed: list[dict[str, Any]] = STEPS.dump_python(parse_script("x", text).steps or ())
    return [{name: value for name, value in step.items() if value is not None} for step in parsed]


@pytest.mark.parametrize(
    "short, long",
    [
        ("say: hello", "{do: say, text: hello}"),
        ("say: {text: hello}", "{do: say, text: hello}"),
        ("crash: 3", "{do: crash, exit_code: 3}"),
        ("crash: SIGKILL", "{do: crash, signal: SIGKILL}"),
        ("run: make", "{do: run, command: make}"),
        ("run: [make, all]", "{do: run, command: [make, all]}"),
        ("report_raw: {outcome: 7}", "{do: report_raw, arguments: {outcome: 7}}"),
        ("hang: true", "{do: hang}"),
    ],
)
def test_a_short_step_is_the_long_one(short: str, long: str) -> None:
    assert steps(f"steps: [{{{short}}}]") == steps(f"steps: [{long}]")


def test_a_step_without_values_is_its_bare_name() -> None:
    assert steps("steps: [hang, report_again]") == [{"do": "hang"}, {"do": "report_again"}]


@pytest.mark.parametrize(
    "text, told",
    [
        ("steps: [{sing: la}]", "sing"),
        ("steps: [{write: {path: a}}]", "steps.0.write.text"),
        ("stepz: []", "stepz"),
        ("steps: [{sleep: soon}]", "steps.0.sleep.seconds"),
        ("steps: [{say: [}]", "expected"),
        ("visits: {first: []}", "visits"),
        ("- a list", "mapping"),
    ],
)
def test_a_mistake_is_named(text: str, told: str) -> None:
    with pytest.raises(ProviderRefusedError, match=told) as refusal:
        parse_script("x", text)
    assert refusal.value.code == "script_invalid"


def test_every_packaged_script_is_valid() -> None:
    for path in PACKAGED.glob("*.yaml"):
        assert isinstance(parse_script(path.name, path.read_text()), Script)


def test_the_workspace_comes_before_the_repository_and_the_packaged(tmp_path: Path) -> None:
    workspace, repository = tmp_path / "workspace", tmp_path / "repository"
    for folder in (workspace, repository):
        (folder / ".pointsman" / "scripts").mkdir(parents=True)
    (repository / ".pointsman" / "scripts" / "mine.yaml").write_text("repository")
    assert find_script("mine", workspace, repository) == "repository"
    (workspace / ".pointsman" / "scripts" / "mine.yaml").write_text("workspace")
    assert find_script("mine", workspace, repository) == "workspace"
    (workspace / "mine.yaml").write_text("root")
    assert find_script("mine.yaml", workspace, repository) == "root"
    assert find_script(str(workspace / "mine"), workspace, repository) == "root"


def test_a_packaged_script_is_found_by_its_name(tmp_path: Path) -> None:
    assert find_script("pointsman:timetable", tmp_path, tmp_path) != ""
    with pytest.raises(ProviderRefusedError) as refusal:
        find_script("pointsman:no-such", tmp_path, tmp_path)
    assert refusal.value.code == "script_missing"


@pytest.mark.parametrize(
    "attempt, place",
    [
        ("r0-x.implement.2.3", (2, 3, None)),
        ("r0-x.review.1.1", (1, 1, None)),
        ("r0-x.review.2.security.3", (2, 3, "security")),
        ("odd", (1, 1, None)),
        ("", (1, 1, None)),
    ],
)
def test_the_place_in_the_run_is_read_from_the_attempt(
    attempt: str, place: tuple[int, int, str | None]
) -> None:
    assert place_in_run(attempt) == place


def _said(steps: Steps) -> list[str]:
    return [step.text for step in steps if isinstance(step, Say)]


def test_a_branch_has_steps_of_its_own_by_visit_and_try() -> None:
    script = parse_script(
        "s",
        "{steps: [{say: a}], tries: {2: [{say: b}]}, on_reminder: [{say: c}], branches: {"
        "security: [{say: d}], "
        "style: {visits: {2: [{say: e}]}, tries: {3: [{say: f}]}, on_reminder: []}}}",
    )

    def said(visit: int, try_number: int, branch: str | None) -> list[str]:
        return _said(script.for_work(visit, try_number, branch))

    assert said(1, 1, None) == said(1, 1, "other") == ["a"]
    assert said(1, 2, "security") == said(2, 1, "security") == ["d"]
    assert [said(1, 1, "style"), said(2, 1, "style")] == [["a"], ["e"]]
    assert [said(2, 3, "style"), said(1, 2, "style")] == [["f"], ["b"]]
    assert _said(script.for_reminder("security")) == ["c"]
    assert script.for_reminder("style") == ()


@pytest.mark.parametrize(
    "text, told",
    [
        ("steps:\n- say: hi\n- write: {path: a}", "line 3: steps.1.write.text is missing"),
        (
            "steps:\n- sing: la",
            "line 2: steps.0 is 'sing', which is no step; there are: write, append",
        ),
        ("steps:\n- sleep: 99999", "line 2: steps.0.sleep.seconds must be at most 3600"),
        ("steps: []\nstepz: []", "line 2: stepz is no key that is known here"),
        ("steps:\n- say: [", "line 2, column 9: "),
    ],
)
def test_a_mistake_is_told_in_plain_words_with_the_script_and_the_line(
    text: str, told: str
) -> None:
    with pytest.raises(ProviderRefusedError) as refusal:
        parse_script("mine", text)
    assert str(refusal.value).startswith(f"the script mine: {told}")
