"""The parts that several node kinds of the workflow format share: shapes only.

Declared fields and report contracts, routes with their bounds, input bindings, and the choice
of an agent. The nodes themselves are ``definition``'s and ``reviews``'.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from pointsman.graph import limits
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.value_types import FieldName, Name


class FieldType(StrEnum):
    """The types a declared field or input may have (spec, *Typed reports*)."""

    BOOLEAN = "boolean"
    STRING = "string"
    NUMBER = "number"
    ENUM = "enum"


class FieldDeclaration(Model):
    """One declared, routable value: of a report, or of the run's input."""

    type: FieldType
    values: tuple[str, ...] | None = None
    required: bool = False
    description: str | None = None

    @model_validator(mode="after")
    def _values_belong_to_enums(self) -> Self:
        if self.type is FieldType.ENUM:
            if not self.values:
                raise PydanticCustomError("enum_values", "an enum needs 'values', at least one")
            if len(set(self.values)) != len(self.values):
                raise PydanticCustomError("enum_values", "the values of an enum must differ")
        elif self.values is not None:
            raise PydanticCustomError("enum_values", "'values' belongs to type enum only")
        return self


class ReportContract(Model):
    """The data fields an agent must or may report, beside the envelope's own."""

    fields: dict[FieldName, FieldDeclaration] = Field(
        default_factory=dict, max_length=limits.REPORT_FIELDS_MAX
    )


class Repeat(Model):
    """A bound on one route: at most ``max`` passes, then ``at_limit`` (a gate or an end)."""

    max: int = Field(ge=limits.REPEATS_MIN, le=limits.REPEATS_MAX)
    at_limit: Name


def _route(value: object) -> object:
    return {"to": value} if isinstance(value, str) else value


class RouteTarget(Model):
    """Where a declared route leads, and how often it may be taken in a run."""

    to: Name
    repeat: Repeat | None = None


Route = Annotated[RouteTarget, BeforeValidator(_route, json_schema_input_type=Name | RouteTarget)]


class InputBinding(Model):
    """One typed input of a node, taken from the run's input or an earlier result."""

    from_: str = Field(alias="from")
    optional: bool = False


def _binding(value: object) -> object:
    return {"from": value} if isinstance(value, str) else value


Binding = Annotated[
    InputBinding, BeforeValidator(_binding, json_schema_input_type=str | InputBinding)
]


class AgentMode(StrEnum):
    """What the agent may do to its workspace."""

    EDIT = "edit"
    REVIEW = "review"


class AgentResume(Model):
    """How often a session whose process was lost goes on by itself, where it provably can.

    A lost process is one that nobody stopped: the machine or the process was killed.
    """

    max: int = Field(ge=1, le=limits.AGENT_RESUMES_MAX)


class AgentChoice(Model):
    """Which native harness does the work, and how."""

    provider: Name
    mode: AgentMode = AgentMode.EDIT
    skill: str | None = Field(default=None, min_length=1, max_length=limits.NAME_CHARS_MAX)
    model: str | None = Field(default=None, min_length=1, max_length=limits.TITLE_CHARS_MAX)
    options: dict[str, JsonScalar] = Field(default_factory=dict)
