"""The models of the workflow format (version 1): shapes only, no cross-checks.

A definition is a graph of named nodes. What a single value may look like is said here (parts
that kinds share in ``declarations``, parallel groups and joins in ``reviews``); what nodes may
say about each other (targets, cycles, operand types) is ``validate``'s.
Unknown keys are errors everywhere, and nothing is coerced: ``"true"`` is a string.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator
from pydantic_core import PydanticCustomError

from pointsman.graph import limits
from pointsman.graph.conditions import Condition
from pointsman.graph.declarations import (
    AgentChoice,
    AgentMode,
    AgentResume,
    Binding,
    FieldDeclaration,
    FieldType,
    InputBinding,
    Repeat,
    ReportContract,
    Route,
    RouteTarget,
)
from pointsman.graph.model import Model
from pointsman.graph.reviews import JoinNode, ParallelNode
from pointsman.graph.value_types import (
    EnvironmentName,
    FieldName,
    FormatVersion,
    Instructions,
    Name,
    RelativePath,
    Seconds,
    Title,
)

__all__ = [
    "AUTOMATED_KINDS",
    "FORMAT_VERSION",
    "AgentChoice",
    "AgentMode",
    "AgentNode",
    "AgentResume",
    "Argv",
    "Binding",
    "CheckNode",
    "CheckRetry",
    "CommandLine",
    "DecisionNode",
    "EndNode",
    "EndResult",
    "FieldDeclaration",
    "FieldType",
    "GateDeciders",
    "GateDecisions",
    "GateNode",
    "InputBinding",
    "JoinNode",
    "Node",
    "ParallelNode",
    "Repeat",
    "ReportContract",
    "Route",
    "RouteTarget",
    "Rule",
    "SetupCommand",
    "ShellLine",
    "VisitBound",
    "Workflow",
    "WorkspaceSetup",
]

FORMAT_VERSION: Final = 1


class Rule(Model):
    """One ordered rule of a decision: the first whose condition holds is taken."""

    name: Title
    when: Condition
    to: Name
    repeat: Repeat | None = None

    @property
    def route(self) -> RouteTarget:
        return RouteTarget(to=self.to, repeat=self.repeat)


class AgentNode(Model):
    """A visit of this node is one agent's work, ended by settlement and a typed report.

    With ``review``, as in the other kinds, the visit consumes what that join found: the head
    is compared with the frozen commit once more before it (§10.27 of the design).
    ``answer_within`` bounds how long a question of the agent may wait for a person; without it
    there is no bound, and the execution timeout stands still meanwhile.
    """

    kind: Literal["agent"]
    title: Title | None = None
    agent: AgentChoice
    instructions: Instructions
    inputs: dict[FieldName, Binding] = Field(default_factory=dict)
    report: ReportContract = ReportContract()
    timeout: Seconds = limits.EXECUTION_TIMEOUT_DEFAULT_S
    answer_within: Seconds | None = None
    resume: AgentResume | None = None
    review: Name | None = None
    next: Route
    unresolved: Route | None = None


class CheckRetry(Model):
    """How often, and after which interruptions, a check may be started again by itself."""

    max: int = Field(ge=1, le=limits.CHECK_RETRIES_MAX)
    after: tuple[Literal["timeout", "interrupted"], ...] = Field(min_length=1)


def _command_shape(value: object) -> str:
    """Tell a program with its arguments from a line for the shell."""
    return "argv" if isinstance(value, (list, tuple)) else "shell"


Argv = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
ShellLine = Annotated[str, StringConstraints(min_length=1)]
CommandLine = Annotated[
    Annotated[Argv, Tag("argv")] | Annotated[ShellLine, Tag("shell")],
    Discriminator(_command_shape),
]


class CheckNode(Model):
    """A command run in the workspace; any exit code is data (§10.18 of the design)."""

    kind: Literal["check"]
    title: Title | None = None
    run: CommandLine
    env: dict[EnvironmentName, str] = Field(default_factory=dict)
    folder: RelativePath | None = None
    timeout: Seconds = limits.CHECK_TIMEOUT_DEFAULT_S
    retry: CheckRetry | None = None
    review: Name | None = None
    next: Route
    unresolved: Route | None = None


class DecisionNode(Model):
    """Ordered rules over typed results; the first that holds, else ``otherwise``."""

    kind: Literal["decision"]
    title: Title | None = None
    rules: tuple[Rule, ...] = ()
    review: Name | None = None
    otherwise: Route


class GateDecisions(Model):
    """What a person may decide; without ``approve`` an approval completes the run."""

    approve: Route | None = None
    request_changes: Route | None = None


class GateDeciders(Model):
    """Who may decide at a gate: anyone of a role, and the people named."""

    roles: tuple[Name, ...] = Field(default=(), max_length=limits.DECIDERS_MAX)
    people: tuple[Title, ...] = Field(default=(), max_length=limits.DECIDERS_MAX)

    @model_validator(mode="after")
    def _somebody_may_decide(self) -> Self:
        if not self.roles and not self.people:
            raise PydanticCustomError("deciders", "nobody could decide here")
        for words in (self.roles, self.people):
            if len(set(words)) != len(words):
                raise PydanticCustomError("deciders", "the same name stands here twice")
        return self


class GateNode(Model):
    """The run waits here for a person's explicit decision.

    ``review`` names the join whose frozen commit is decided upon; without ``decide`` everyone
    who may act on the run may decide.
    """

    kind: Literal["gate"]
    title: Title
    description: str | None = None
    review: Name | None = None
    decide: GateDeciders | None = None
    decisions: GateDecisions = GateDecisions()


class EndResult(StrEnum):
    """How an end node ends the run."""

    COMPLETED = "completed"
    FAILED = "failed"


class EndNode(Model):
    """The run ends here."""

    kind: Literal["end"]
    title: Title | None = None
    result: EndResult = EndResult.COMPLETED


Node = Annotated[
    AgentNode | CheckNode | DecisionNode | ParallelNode | JoinNode | GateNode | EndNode,
    Field(discriminator="kind"),
]

# What an exhausted whole-run bound refuses; gates, ends and a committed group's join are entered.
AUTOMATED_KINDS: Final = frozenset({"agent", "check", "decision", "parallel"})


class VisitBound(Model):
    """The whole-run bound on admitted visits, and where it leads (a gate or an end)."""

    max: int = Field(default=limits.VISITS_DEFAULT, ge=limits.VISITS_MIN, le=limits.VISITS_MAX)
    at_limit: Name | None = None


class SetupCommand(Model):
    """One recorded command that makes a fresh workspace usable."""

    run: CommandLine
    timeout: Seconds = limits.SETUP_TIMEOUT_DEFAULT_S


class WorkspaceSetup(Model):
    """How the run's own worktree is made ready before the first agent.

    ``copy`` names files of the repository folder that git does not carry (such as ``.env``);
    ``setup`` commands run once, in order; ``checks`` must then exit with 0.
    ``env`` is given to set-up, checks and agents alike.
    """

    copy_: tuple[RelativePath, ...] = Field(default=(), alias="copy")
    setup: tuple[SetupCommand, ...] = ()
    checks: tuple[SetupCommand, ...] = ()
    env: dict[EnvironmentName, str] = Field(default_factory=dict)


class Workflow(Model):
    """One authored process: a whole, self-contained definition."""

    pointsman: FormatVersion
    id: Name
    revision: int = Field(default=1, ge=1)
    name: Title
    description: str | None = None
    inputs: dict[FieldName, FieldDeclaration] = Field(default_factory=dict)
    workspace: WorkspaceSetup = WorkspaceSetup()
    entry: Name
    visits: VisitBound = VisitBound()
    nodes: dict[Name, Node] = Field(min_length=1, max_length=limits.NODES_MAX)
