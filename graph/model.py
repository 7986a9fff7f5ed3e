"""The base of every value the core knows: immutable, closed, and never coerced.

Values come from JSON (``model_validate_json``), where strictness keeps ``1``, ``1.0``, ``true``
and ``"true"`` apart while lists still become tuples.
"""

from typing import TypeAlias

from pydantic import BaseModel, ConfigDict

JsonScalar: TypeAlias = bool | int | float | str


class Model(BaseModel):
    """An immutable value with a closed set of fields."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        allow_inf_nan=False,
    )
