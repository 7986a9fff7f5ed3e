"""What of a valid definition this version cannot run yet.

A start is refused for it before anything is made, so the core never meets such a node.
"""

from typing import Final

from pointsman.graph.definition import JoinNode, ParallelNode, Workflow
from pointsman.graph.problem import Problem

NOT_STARTED: Final = "parallel groups and joins are not run by this version; no start accepts them"


def unsupported(workflow: Workflow) -> tuple[Problem, ...]:
    """Name each node that keeps a valid definition from being started here."""
    return tuple(
        Problem(
            code="kind_not_run",
            where=("nodes", name, "kind"),
            message=f"node '{name}' of kind {node.kind} is not run by this version",
            mend="the definition is valid; start it with a version that runs this kind, "
            "or let agents review one after the other",
        )
        for name, node in workflow.nodes.items()
        if isinstance(node, ParallelNode | JoinNode)
    )
