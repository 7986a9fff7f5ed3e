"""The models of parallel reviews in the workflow format: groups of branches, and their joins.

Shapes only, like ``definition``; what a group and its join must say of each other is
``validate_groups``'s.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from pointsman.graph import limits
from pointsman.graph.declarations import AgentChoice, AgentResume, Binding, ReportContract, Route
from pointsman.graph.model import Model
from pointsman.graph.value_types import (
    FieldName,
    Instructions,
    Name,
    RemoteName,
    Seconds,
    Title,
)


class FrozenInput(Model):
    """The reviewed commit comes from a run input that names a change: a branch, or a PR's ref.

    ``remote`` is where it lies: the name of one of the repository's remotes, or ``.`` for the
    repository itself. Without it: ``origin``, or the repository itself if it has no such remote.
    """

    input: FieldName
    remote: RemoteName | None = None


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
    ``timeout``, ``answer_within`` and ``resume`` are those of every agent.
    """

    title: Title | None = None
    agent: AgentChoice
    instructions: Instructions | None = None
    focus: Title | None = None
    inputs: dict[FieldName, Binding] = Field(default_factory=dict)
    report: ReportContract = ReportContract()
    timeout: Seconds = limits.EXECUTION_TIMEOUT_DEFAULT_S
    answer_within: Seconds | None = None
    deadline: Seconds = limits.REVIEW_DEADLINE_DEFAULT_S
    resume: AgentResume | None = None


class ParallelNode(Model):
    """A group of reviewers who look at one frozen commit, each in a worktree of its own.

    ``unresolved`` is taken when nothing could be frozen; how reviewers end is the join's.
    With ``setup`` the workspace's own set-up is run in each reviewer's worktree too.
    """

    kind: Literal["parallel"]
    title: Title | None = None
    freeze: Freeze
    uncommitted: Uncommitted = Uncommitted.REFUSE
    setup: bool = False
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
