"""The models of parallel reviews in the workflow format: groups of branches, and their joins.

Shapes only, like ``definition``; what a group and its join must say of each other is
``validate_groups``'s.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from pointsman.graph import limits
from pointsman.graph.declarations import AgentChoice, Binding, ReportContract, Route
from pointsman.graph.model import Model
from pointsman.graph.value_types import FieldName, Instructions, Name, Seconds, Title


class FrozenInput(Model):
    """The reviewed commit comes from a run input that names a change: a branch, or a PR's ref."""

    input: FieldName


def _freeze_shape(value: object) -> str:
    return "input" if isinstance(value, (dict, FrozenInput)) else "workspace"


Freeze = Annotated[
    Annotated[Literal["workspace"], Tag("workspace")] | Annotated[FrozenInput, Tag("input")],
    Discriminator(_freeze_shape),
]


class Uncommitted(StrEnum):
    """What becomes of uncommitted changes when the workspace's head is frozen (§10.24)."""

    REFUSE = "refuse"
    IGNORE = "ignore"
    COMMIT = "commit"


class Branch(Model):
    """One required reviewer; its key in the group is its identity, whatever skill it uses.

    ``deadline`` is absolute: it runs from the launch, also while a person is being asked.
    """

    title: Title | None = None
    agent: AgentChoice
    instructions: Instructions | None = None
    focus: Title | None = None
    inputs: dict[FieldName, Binding] = Field(default_factory=dict)
    report: ReportContract = ReportContract()
    deadline: Seconds = limits.REVIEW_DEADLINE_DEFAULT_S


class ParallelNode(Model):
    """A group of reviewers who look at one frozen commit, each in a worktree of its own.

    ``unresolved`` is taken when nothing could be frozen; how reviewers end is the join's.
    """

    kind: Literal["parallel"]
    title: Title | None = None
    freeze: Freeze
    uncommitted: Uncommitted = Uncommitted.REFUSE
    branches: dict[Name, Branch] = Field(min_length=1, max_length=limits.BRANCHES_MAX)
    join: Name
    unresolved: Route | None = None


class JoinNode(Model):
    """Waits for every branch of its group; only ``all_completed`` takes ``next``.

    Without ``incomplete`` the run waits unresolved when a branch failed, was canceled or stayed
    unresolved, or when the head changed.
    """

    kind: Literal["join"]
    title: Title | None = None
    of: Name
    next: Route
    incomplete: Route | None = None
