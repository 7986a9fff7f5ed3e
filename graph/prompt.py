"""What an agent is told: its task, its inputs, and how to report (spec, *Tool binding*)."""

import json
from typing import Any

from pointsman.graph.attempt import Tried
from pointsman.graph.changes import in_words
from pointsman.graph.contract import launch_text
from pointsman.graph.declarations import ReportContract
from pointsman.graph.definition import AgentMode, AgentNode
from pointsman.graph.events import SkillSnapshot
from pointsman.graph.review_set import ReviewBranch, ReviewSet
from pointsman.graph.reviews import Branch
from pointsman.graph.run import Run


def launch_prompt(run: Run, tried: Tried, work: AgentNode | Branch) -> str:
    """Return the launch instructions: a function of the snapshot and of the bound inputs."""
    parts = [work.instructions.strip()] if work.instructions is not None else []
    if isinstance(work, Branch) and work.focus is not None:
        parts.append(f"Your focus: {work.focus.strip()}")
    if work.agent.skill is not None:
        parts.append(_skill(work.agent.skill, run.skill_for(work.agent)))
    if tried.inputs:
        parts.append(f"Inputs of this step:\n{_shown(tried.inputs)}")
    if isinstance(tried, ReviewBranch):
        assert run.review_underway is not None, f"{tried.branch_id} is of no review under way"
        parts.append(_frozen(run.review_underway, tried))
    if work.agent.mode is AgentMode.REVIEW:
        parts.append("This is a review: do not change files.")
    else:
        parts.append(
            f"Work in the current folder, on branch {run.workspace.branch}. "
            "Commit what you want to keep."
        )
    parts.append(launch_text(work.report))
    return "\n\n".join(parts)


def _shown(inputs: dict[str, Any]) -> str:
    return json.dumps(inputs, indent=2, ensure_ascii=False, sort_keys=True)


def _frozen(review: ReviewSet, branch: ReviewBranch) -> str:
    """Name exactly what is reviewed, and where; nothing of it is to be looked up elsewhere."""
    told = (
        f"Review {in_words(review.change)} as it was frozen at commit {review.frozen_commit}: "
        f"the change is {review.base_commit}..{review.frozen_commit}.\n"
        f"It is checked out in {branch.workspace.path}, for you alone. Work there only; other "
        "folders may show another state of the code."
    )
    return f"{told}\n\n{review.diff_stat.rstrip()}" if review.diff_stat.strip() else told


def _skill(name: str, found: SkillSnapshot | None) -> str:
    """Name the skill and where it lies, so that no other of its name is taken for it."""
    if found is None:
        return f"Use the skill {name!r}."
    return f"Use the skill {name!r}: read {found.source}/SKILL.md first and do as it says."


def reminder_text(report: ReportContract) -> str:
    """Return the one reminder an attempt gets when it went quiet without a report."""
    return (
        "Your work has gone quiet, but no report was accepted for it. "
        "Report now; this is the only reminder.\n\n" + launch_text(report)
    )
