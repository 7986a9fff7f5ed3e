"""The single values of the workflow format: names, texts, durations and paths, with their bounds.

Nothing is coerced, except that a duration may be written with its unit.
"""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from pointsman.graph import limits

Name = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", max_length=limits.NAME_CHARS_MAX)
]
FieldName = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=limits.NAME_CHARS_MAX)
]
Title = Annotated[str, StringConstraints(min_length=1, max_length=limits.TITLE_CHARS_MAX)]
Instructions = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.INSTRUCTIONS_CHARS_MAX)
]

EnvironmentName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=limits.TITLE_CHARS_MAX),
]

# Never an option of git's, and never a path or an address: those would leave the repository's
# own configuration.
RemoteName = Annotated[
    str,
    StringConstraints(
        pattern=r"^(\.|[A-Za-z0-9_][A-Za-z0-9_.-]*)$", max_length=limits.NAME_CHARS_MAX
    ),
]


def _exact_version(value: object) -> object:
    """Keep ``1``, ``1.0`` and ``true`` apart, which a literal alone would take for each other."""
    if isinstance(value, (bool, float)):
        raise PydanticCustomError("wrong_type", "the version of the format is a whole number")
    return value


def _exact_true(value: object) -> object:
    if value is not None and value is not True:
        raise PydanticCustomError("wrong_type", "only true can stand here")
    return value


FormatVersion = Annotated[
    Literal[1], BeforeValidator(_exact_version, json_schema_input_type=Literal[1])
]
OnlyTrue = Annotated[
    Literal[True] | None, BeforeValidator(_exact_true, json_schema_input_type=Literal[True] | None)
]


def _below(value: str) -> str:
    """Accept a relative path that cannot lead out of the folder it is relative to."""
    if value.startswith("/") or ".." in value.split("/"):
        raise PydanticCustomError(
            "path_leaves_folder", "this path leads out of the repository's folder"
        )
    return value


RelativePath = Annotated[str, StringConstraints(min_length=1), AfterValidator(_below)]

_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600}


def _seconds(value: object) -> object:
    """Read ``90s``, ``10m`` or ``2h`` as seconds; leave all else for the type to refuse."""
    if isinstance(value, str) and value[-1:] in _UNITS_S and value[:-1].isascii():
        digits = value[:-1]
        if digits.isdigit() and len(digits) <= 6:
            return int(digits) * _UNITS_S[value[-1]]
    return value


_DURATION_AS_WRITTEN = (
    Annotated[str, StringConstraints(pattern=r"^[0-9]{1,6}[smh]$")]
    | Annotated[int, Field(ge=limits.TIMEOUT_MIN_S, le=limits.TIMEOUT_MAX_S)]
)
Seconds = Annotated[
    int,
    BeforeValidator(_seconds, json_schema_input_type=_DURATION_AS_WRITTEN),
    Field(ge=limits.TIMEOUT_MIN_S, le=limits.TIMEOUT_MAX_S, strict=True),
]
