"""What an agent is told: its task, its inputs, and how to report (spec, *Tool binding*)."""

import json

from pointsman.graph.contract import launch_text
from pointsman.graph.definition import AgentMode, AgentNode
from pointsman.graph.events import SkillSnapshot
from pointsman.graph.run import Run, Visit


def launch_prompt(run: Run, visit: Visit, node: AgentNode) -> str:
    """Return the launch instructions: a function of the snapshot and the visit's inputs only."""
    parts = [node.instructions.strip()]
    if node.agent.skill is not None:
        parts.append(_skill(node.agent.skill, run.skill_for(node.agent)))
    if visit.inputs:
        shown = json.dumps(visit.inputs, indent=2, ensure_ascii=False, sort_keys=True)
        parts.append(f"Inputs of this step:\n{shown}")
    if node.agent.mode is AgentMode.REVIEW:
        parts.append("This is a review: do not change files.")
    else:
        parts.append(
            f"Work in the current folder, on branch {run.workspace.branch}. "
            "Commit what you want to keep."
        )
    parts.append(launch_text(node.report))
    return "\n\n".join(parts)


def _skill(name: str, found: SkillSnapshot | None) -> str:
    """Name the skill and where it lies, so that no other of its name is taken for it."""
    if found is None:
        return f"Use the skill {name!r}."
    return f"Use the skill {name!r}: read {found.source}/SKILL.md first and do as it says."


def reminder_text(run: Run, visit: Visit) -> str:
    """Return the one reminder an attempt gets when it went quiet without a report."""
    node = run.workflow.nodes[visit.node]
    assert isinstance(node, AgentNode), f"{visit.visit_id} is no agent's"
    return (
        "Your work has gone quiet, but no report was accepted for it. "
        "Report now; this is the only reminder.\n\n" + launch_text(node.report)
    )
