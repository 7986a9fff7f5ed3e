"""The shape of a condition: typed tests of paths, combined by All and Any.

No expression language: what an author can say is what these models admit (spec, *Decision
semantics*). ``predicate`` evaluates them.
"""

from typing import Annotated, Any, Final, Self, TypeAlias

from pydantic import Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from pointsman.graph import limits
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.value_types import OnlyTrue

OPERATORS: Final = ("eq", "ne", "in", "lt", "le", "gt", "ge", "present", "absent")


def _attribute(operator: str) -> str:
    """Python keeps ``in`` for itself."""
    return "in_" if operator == "in" else operator


class FieldTest(Model):
    """One typed comparison of a path with an operand; exactly one operator."""

    field: str
    eq: JsonScalar | None = None
    ne: JsonScalar | None = None
    in_: tuple[JsonScalar, ...] | None = Field(
        default=None, alias="in", min_length=1, max_length=limits.MEMBERS_MAX
    )
    lt: int | float | None = None
    le: int | float | None = None
    gt: int | float | None = None
    ge: int | float | None = None
    present: OnlyTrue = None
    absent: OnlyTrue = None

    @model_validator(mode="after")
    def _exactly_one_operator(self) -> Self:
        if len(self._given()) != 1:
            raise PydanticCustomError(
                "one_operator",
                "a condition on a field needs exactly one of eq, ne, in, lt, le, gt, ge, "
                "present, absent",
            )
        return self

    def _given(self) -> list[str]:
        return [name for name in OPERATORS if getattr(self, _attribute(name)) is not None]

    @property
    def operator(self) -> str:
        """The operator's name as an author writes it."""
        return self._given()[0]

    @property
    def operand(self) -> JsonScalar | tuple[JsonScalar, ...]:
        """The value the field is compared with."""
        value: JsonScalar | tuple[JsonScalar, ...] = getattr(self, _attribute(self.operator))
        return value


class AllOf(Model):
    """True when every term is; nested up to the published depth."""

    all: tuple["Condition", ...] = Field(min_length=1)


class AnyOf(Model):
    """True when at least one term is; nested up to the published depth."""

    any: tuple["Condition", ...] = Field(min_length=1)


def _condition_shape(value: Any) -> str:
    """Tell a test from a group by its key, so that mistakes are explained for one shape only."""
    if isinstance(value, AllOf) or (isinstance(value, dict) and "all" in value):
        return "all"
    if isinstance(value, AnyOf) or (isinstance(value, dict) and "any" in value):
        return "any"
    return "field"


Condition: TypeAlias = Annotated[
    Annotated[FieldTest, Tag("field")]
    | Annotated[AllOf, Tag("all")]
    | Annotated[AnyOf, Tag("any")],
    Discriminator(_condition_shape),
]
