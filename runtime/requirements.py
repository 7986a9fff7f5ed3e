"""What a definition needs of the environment it is to run in: providers, modes and skills.

The same judgement stands behind a start, which is refused, and the catalogue, which shows the
definition as not runnable. Each lack is a problem at its place in the definition.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pointsman.actors.host import ProviderCapability
from pointsman.graph.declarations import AgentChoice
from pointsman.graph.definition import AgentNode, ParallelNode, Workflow
from pointsman.graph.events import SkillSnapshot
from pointsman.graph.problem import Problem, Where, listed, meant
from pointsman.runtime.skills import places


class Wanted(NamedTuple):
    """One agent of a definition: ``where`` it stands, and how people call it."""

    where: Where
    name: str
    agent: AgentChoice


def wanted(workflow: Workflow) -> Iterator[Wanted]:
    """Return every agent of a definition, reviewers included."""
    for name, node in workflow.nodes.items():
        if isinstance(node, AgentNode):
            yield Wanted(("nodes", name, "agent"), name, node.agent)
        if isinstance(node, ParallelNode):
            for branch, each in node.branches.items():
                where = ("nodes", name, "branches", branch, "agent")
                yield Wanted(where, f"{name}.{branch}", each.agent)


def lacking_providers(
    workflow: Workflow, capabilities: Iterable[ProviderCapability]
) -> tuple[Problem, ...]:
    """Name each agent whose provider, or whose mode of it, is not there."""
    able = {each.provider: each for each in capabilities}
    return tuple(
        problem
        for each in wanted(workflow)
        if (problem := _provider_problem(each, able)) is not None
    )


def _provider_problem(each: Wanted, able: dict[str, ProviderCapability]) -> Problem | None:
    provider, mode = each.agent.provider, each.agent.mode
    found = able.get(provider)
    if found is None or found.unavailable is not None:
        why = f"the host has: {listed(sorted(able))}" if found is None else found.unavailable
        return Problem(
            code="provider_unavailable",
            where=(*each.where, "provider"),
            message=f"{each.name} needs the provider {provider} ({why})",
            mend=meant(provider, sorted(able)) if found is None else f"make {provider} available",
        )
    if mode in found.modes:
        return None
    proven = listed(found.modes)
    return Problem(
        code="provider_mode_unsupported",
        where=(*each.where, "mode"),
        message=f"{each.name} needs {provider} in mode {mode.value} (proven modes: {proven})",
        mend="use a proven mode, or another provider",
    )


def found_skills(
    workflow: Workflow, find: Callable[[str, str], SkillSnapshot | None]
) -> tuple[tuple[SkillSnapshot, ...], tuple[Problem, ...]]:
    """Return the skills a definition names, and each agent whose skill is not there.

    ``find`` looks up a skill by its name and provider.
    """
    found: dict[tuple[str, str], SkillSnapshot | None] = {}
    missing: list[Problem] = []
    for each in wanted(workflow):
        provider, skill = each.agent.provider, each.agent.skill
        if skill is None:
            continue
        key = (provider, skill)
        if key not in found:
            found[key] = find(skill, provider)
        if found[key] is None:
            missing.append(
                Problem(
                    code="skill_missing",
                    where=(*each.where, "skill"),
                    message=f"{each.name} needs the skill {skill!r}, which is not installed",
                    mend=f"put its folder into one of {listed(places(provider))}, "
                    "of the repository or of your home",
                )
            )
    return tuple(skill for skill in found.values() if skill is not None), tuple(missing)
