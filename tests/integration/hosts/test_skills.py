"""Goal: an agent is started, and goes on, only with the skill that the run was started with."""

import os
import signal
from pathlib import Path

from pointsman.graph.events import SkillSnapshot
from pointsman.graph.work import Receipt, ReceiptStatus
from pointsman.runtime.skills import find_skill
from tests.harness.hosts import ATTEMPT, NOWHERE, LocalBench

DONE = "steps: [{touch: begun}]"
HANG = "steps: [{touch: up}, hang]"


def install(bench: LocalBench) -> tuple[Path, SkillSnapshot]:
    """Put a skill into the repository and return its folder and snapshot."""
    folder = bench.repository / ".agents" / "skills" / "careful"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("Be careful.")
    found = find_skill("careful", "scripted", bench.repository, bench.data)
    assert found is not None
    return folder, found


def launch(bench: LocalBench, script: str, skill: SkillSnapshot, attempt: str = ATTEMPT) -> Receipt:
    order = bench.launch_order(bench.script(script), attempt)
    return bench.call(bench.host.launch(order.model_copy(update={"skill": skill}), NOWHERE))


def test_an_agent_is_launched_while_its_skill_is_as_it_was(ready: LocalBench) -> None:
    _, skill = install(ready)
    assert launch(ready, DONE, skill).status is ReceiptStatus.ACCEPTED
    ready.until_quiet()
    assert (ready.workspace / "begun").exists()


def test_a_changed_skill_refuses_the_launch_and_says_so_again(ready: LocalBench) -> None:
    folder, skill = install(ready)
    (folder / "SKILL.md").write_text("Be careless.")
    refused = launch(ready, DONE, skill)
    assert (refused.status, refused.reason) == (ReceiptStatus.REJECTED, "skill_changed")
    assert refused.message is not None
    assert str(folder) in refused.message
    (folder / "SKILL.md").write_text("Be careful.")
    assert launch(ready, DONE, skill) == refused, "a key keeps its first answer"
    assert not (ready.workspace / "begun").exists()
    retried = launch(ready, DONE, skill, attempt=ATTEMPT[:-1] + "2")
    assert retried.status is ReceiptStatus.ACCEPTED


def test_a_missing_skill_refuses_the_launch_though_another_has_its_name(ready: LocalBench) -> None:
    folder, skill = install(ready)
    elsewhere = ready.repository / ".claude" / "skills"
    elsewhere.mkdir(parents=True)
    folder.rename(elsewhere / "careful")
    assert launch(ready, DONE, skill).reason == "skill_missing"
    assert not (ready.workspace / "begun").exists()


def test_a_session_does_not_go_on_with_another_skill_than_it_began_with(ready: LocalBench) -> None:
    folder, skill = install(ready)
    launch(ready, HANG, skill)
    ready.until((ready.workspace / "up").exists)
    (task, _), *_ = ready.turn_command().background()
    os.kill(int(task.partition("-")[0]), signal.SIGTERM)
    ready.until_quiet()
    (folder / "more.md").write_text("And more.")
    refused = ready.resume()
    assert (refused.status, refused.reason) == (ReceiptStatus.REJECTED, "skill_changed")
    assert not ready.turn_command(2).exit_record(), "nothing was started"
