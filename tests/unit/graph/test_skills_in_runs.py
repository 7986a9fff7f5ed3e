"""A run uses the skills it was started with: each launch names one, or says what is wrong."""

import pytest

from pointsman.graph import commands as cmd
from pointsman.graph.allowed import allowed_actions
from pointsman.graph.events import SkillSnapshot
from pointsman.graph.intents import LaunchExecution
from tests.harness.core import RUN_ID, Process, agent, workflow


def skill(provider: str | None, source: str) -> SkillSnapshot:
    return SkillSnapshot(
        name="careful", source=source, fingerprint=f"sha256:{source}", provider=provider
    )


def with_skills(*skills: SkillSnapshot) -> Process:
    """Return a run at its agent, which uses the skill ``careful`` of the scripted provider."""
    choice = {"provider": "scripted", "skill": "careful"}
    nodes = {"implement": agent("done", agent=choice), "done": {"kind": "end"}}
    process = Process(workflow(nodes=nodes))
    assert process.run is not None
    process.run = process.run.model_copy(update={"skills": skills})
    process.take("prepare_workspace", path="/w", branch="b", head_commit="1" * 40)
    return process


def launch_of(process: Process) -> LaunchExecution:
    intent = process.intent("launch_execution")
    assert isinstance(intent, LaunchExecution)
    return intent


def test_a_launch_carries_the_snapshot_of_its_providers_skill_and_says_where_it_lies() -> None:
    own = skill("scripted", "/repo/.agents/skills/careful")
    launch = launch_of(with_skills(skill("claude", "/repo/.claude/skills/careful"), own))
    assert launch.skill == own
    told = "Use the skill 'careful': read /repo/.agents/skills/careful/SKILL.md first"
    assert told in launch.prompt


@pytest.mark.parametrize("reason", ["skill_changed", "skill_missing"])
def test_a_skill_that_is_not_as_it_was_leaves_the_visit_unresolved_until_a_retry(
    reason: str,
) -> None:
    process = with_skills(skill("scripted", "/s"))
    process.refuse("launch_execution", reason)
    why = process.visit.unresolved
    assert why is not None
    assert (why.reason.value, why.detail) == (reason, reason)
    assert [each.action.value for each in allowed_actions(process.state)] == ["retry", "cancel"]
    retry = cmd.RetryVisit(
        visit_id=process.visit.visit_id, revision=why.revision, requested_by="ann"
    )
    process.send(retry)
    launch = launch_of(process)
    assert launch.attempt_id == f"{RUN_ID}.implement.1.2"
    assert launch.skill == skill("scripted", "/s"), "the snapshot stays what the start found"
