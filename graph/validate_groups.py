"""Parallel groups and their joins: paired one to one, entered at the right end, and frozen well."""

from collections.abc import Iterator

from pointsman.graph.declarations import AgentMode, FieldType
from pointsman.graph.definition import JoinNode, ParallelNode, Workflow
from pointsman.graph.edges import Graph
from pointsman.graph.problem import Problem, Where, meant
from pointsman.graph.reviews import FrozenInput, Uncommitted


def _groups(workflow: Workflow) -> dict[str, ParallelNode]:
    return {name: node for name, node in workflow.nodes.items() if isinstance(node, ParallelNode)}


def _joins(workflow: Workflow) -> dict[str, JoinNode]:
    return {name: node for name, node in workflow.nodes.items() if isinstance(node, JoinNode)}


def pairing_problems(graph: Graph) -> Iterator[Problem]:
    """Each group has a join of its own, and each join is over its own group.

    A pair that does not fit is told once, at the group if one leads to the join.
    """
    workflow = graph.workflow
    groups, joins = _groups(workflow), _joins(workflow)
    for name, group in groups.items():
        where = ("nodes", name, "join")
        if group.join not in joins:
            yield _no_such(workflow, group.join, "join", where, list(joins))
        elif joins[group.join].of != name:
            of = joins[group.join].of
            message = f"join '{group.join}' waits for group '{of}', so these branches dangle"
            mend = f"give '{name}' a join of its own, with of: {name}"
            yield Problem(code="join_mismatch", where=where, message=message, mend=mend)
    led_to = {group.join for group in groups.values()}
    for name, join in joins.items():
        where = ("nodes", name, "of")
        if join.of not in groups:
            yield _no_such(workflow, join.of, "group", where, list(groups))
        elif name not in led_to and groups[join.of].join in joins:
            message = f"group '{join.of}' leads to '{groups[join.of].join}', not to this join"
            mend = f"write join: {name} in '{join.of}', or leave this join out"
            yield Problem(code="join_mismatch", where=where, message=message, mend=mend)


def _no_such(workflow: Workflow, name: str, what: str, where: Where, known: list[str]) -> Problem:
    node = workflow.nodes.get(name)
    mend = meant(name, known)
    if node is None:
        message = f"there is no node '{name}'"
        return Problem(code="unknown_target", where=where, message=message, mend=mend)
    noun = "a join" if what == "join" else "a parallel group"
    message = f"node '{name}' of kind {node.kind} is not {noun}"
    return Problem(code=f"not_a_{what}", where=where, message=message, mend=mend)


def entry_problems(graph: Graph) -> Iterator[Problem]:
    """A join is entered from its group only (§10.35 of the design)."""
    joins = _joins(graph.workflow)
    entries: list[tuple[str, Where]] = [(graph.workflow.entry, ("entry",))]
    entries += [(route.target.to, (*route.where, "to")) for route in graph.routes]
    for name, where in entries:
        if name in joins:
            yield Problem(
                code="join_entered",
                where=where,
                message=f"join '{name}' is entered from its group only",
                mend=f"lead to '{joins[name].of}', whose branches then come to '{name}'",
            )


def inside_problems(graph: Graph) -> Iterator[Problem]:
    """A group is entered again only after it was left, never from inside itself."""
    for name, group in _groups(graph.workflow).items():
        if group.unresolved is not None and group.unresolved.to == name:
            yield Problem(
                code="group_inside_itself",
                where=("nodes", name, "unresolved", "to"),
                message=f"group '{name}' would be entered from inside itself",
                mend="lead to a gate, whose request for changes may come back with a bound",
            )


def freeze_problems(graph: Graph) -> Iterator[Problem]:
    """A frozen input is a text that every run has, and has nothing uncommitted."""
    for name, group in _groups(graph.workflow).items():
        if not isinstance(group.freeze, FrozenInput):
            continue
        given, where = group.freeze.input, ("nodes", name, "freeze", "input")
        declared = graph.workflow.inputs.get(given)
        if declared is None:
            message, mend = f"the run has no input '{given}'", meant(given, graph.workflow.inputs)
            yield Problem(code="freeze_input", where=where, message=message, mend=mend)
        elif declared.type is not FieldType.STRING or not declared.required:
            message = f"input '{given}' must name a change in every run"
            mend = f"declare {given}: {{type: string, required: true}}"
            yield Problem(code="freeze_input", where=where, message=message, mend=mend)
        if group.uncommitted is not Uncommitted.REFUSE:
            yield Problem(
                code="uncommitted_of_input",
                where=("nodes", name, "uncommitted"),
                message="a change named by an input has nothing uncommitted",
                mend="leave 'uncommitted' out, or write freeze: workspace",
            )


def mode_problems(graph: Graph) -> Iterator[Problem]:
    """Reviewers do not edit: each works in a read-only copy of the frozen commit."""
    for name, group in _groups(graph.workflow).items():
        for key, branch in group.branches.items():
            if branch.agent.mode is not AgentMode.REVIEW:
                yield Problem(
                    code="branch_edits",
                    where=("nodes", name, "branches", key, "agent", "mode"),
                    message=f"branch '{key}' would edit; reviewers work on a frozen commit",
                    mend="write mode: review",
                )


def work_problems(graph: Graph) -> Iterator[Problem]:
    """Each reviewer is told what to do, by at least one of three keys."""
    for name, group in _groups(graph.workflow).items():
        for key, branch in group.branches.items():
            if not (branch.instructions or branch.focus or branch.agent.skill):
                yield Problem(
                    code="branch_without_work",
                    where=("nodes", name, "branches", key),
                    message=f"branch '{key}' says nothing of what to review",
                    mend="add instructions, a focus, or a skill of the agent",
                )
