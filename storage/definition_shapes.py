"""Pydantic's errors about a definition, told as problems with stable codes and places."""

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, TypeGuard, Union, get_args, get_origin

from pydantic import Discriminator, Tag, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from pointsman.graph import conditions, limits
from pointsman.graph.definition import Workflow
from pointsman.graph.model import Model
from pointsman.graph.problem import Problem, Where, listed, meant

_KEY: Final = "[key]"


def shape_problems(error: ValidationError, root: type[Model] = Workflow) -> list[Problem]:
    """Return one problem a place; of several errors at one place the first speaks for all.

    ``root`` is the model that was validated.
    """
    found: dict[Where, Problem] = {}
    types_at: dict[Where, set[str]] = {}
    inputs_at: dict[Where, object] = {}
    for detail in error.errors(include_url=False)[: limits.PROBLEMS_MAX]:
        where, keys = _Walk().follow(root, detail["loc"])
        types_at.setdefault(where, set()).add(detail["type"])
        inputs_at[where] = detail["input"]
        if detail["type"] == "too_short" and detail["input"]:
            continue  # a list of which no member was right counts as too short
        if where not in found:
            found[where] = _problem(detail, where, keys)
    for where, kinds in types_at.items():
        if {"string_type", "bool_type"} <= kinds:
            found[where] = _wrong(where, inputs_at[where], "a text, a number, true or false")
    return list(found.values())


class _Walk:
    """Follows an error's location along the models, which tells its keys from Pydantic's tags."""

    def __init__(self) -> None:
        self._where: list[str | int] = []
        self._keys: tuple[str, ...] = ()

    def follow(
        self, root: type[Model], loc: tuple[str | int, ...]
    ) -> tuple[Where, tuple[str, ...]]:
        """Return the place in the document, and the keys of the innermost model."""
        self._step(root, loc)
        return tuple(self._where), self._keys

    def _step(self, annotation: object, rest: tuple[str | int, ...]) -> None:
        annotation, tagged, _ = _unwrapped(annotation)
        if get_origin(annotation) in (Union, types.UnionType):
            self._union(get_args(annotation), tagged, rest)
        elif _is_model(annotation):
            fields = {info.alias or name: info for name, info in annotation.model_fields.items()}
            self._keys = tuple(fields)
            if rest:
                self._descend(fields.get(str(rest[0])), rest)
        elif get_origin(annotation) is dict and rest:
            self._descend(get_args(annotation)[1], rest)
        elif get_origin(annotation) is tuple and rest and isinstance(rest[0], int):
            self._descend(get_args(annotation)[0], rest)

    def _descend(self, annotation: object, rest: tuple[str | int, ...]) -> None:
        self._where.append(rest[0])
        if annotation is not None and rest[1:] != (_KEY,):
            self._step(annotation, rest[1:])

    def _union(
        self, members: tuple[object, ...], tagged: bool, rest: tuple[str | int, ...]
    ) -> None:
        """Go on in the member the location names by tag, or in the only one with an inside."""
        for member in members:
            inner, _, _ = _unwrapped(member)
            if tagged and rest and rest[0] in tuple(_tags(member)):
                self._step(member, rest[1:])
            elif not tagged and (_is_model(inner) or get_origin(inner) is tuple):
                self._step(member, rest)


def _is_model(annotation: object) -> TypeGuard[type[Model]]:
    return isinstance(annotation, type) and issubclass(annotation, Model)


def _unwrapped(annotation: object) -> tuple[object, bool, str | None]:
    """Take off metadata; say whether it is a tagged union, and which tag a member has."""
    tagged, tag = False, None
    while True:
        if isinstance(annotation, FieldInfo):
            tagged |= annotation.discriminator is not None
            tagged |= any(isinstance(item, Discriminator) for item in annotation.metadata)
            annotation = annotation.annotation
        elif isinstance(annotation, str):
            annotation = getattr(conditions, annotation)
        elif get_origin(annotation) is Annotated:
            annotation, *metadata = get_args(annotation)
            for item in metadata:
                tagged |= isinstance(item, Discriminator)
                tagged |= isinstance(item, FieldInfo) and item.discriminator is not None
                tag = item.tag if isinstance(item, Tag) else tag
        else:
            return annotation, tagged, tag


def _tags(member: object) -> Iterator[str]:
    annotation, _, tag = _unwrapped(member)
    if tag is not None:
        yield tag
    elif _is_model(annotation):
        kind = annotation.model_fields["kind"].annotation
        if get_origin(kind) is Literal:
            yield from get_args(kind)


def _problem(detail: ErrorDetails, where: Where, keys: tuple[str, ...]) -> Problem:
    context: Mapping[str, Any] = detail.get("ctx", {})
    value = detail["input"]
    match detail["type"]:
        case "missing":
            return _missing(where)
        case "extra_forbidden":
            key = str(where[-1])
            return _of("unknown_key", where, f"unknown key {_quoted(key)}", meant(key, keys))
        case "union_tag_not_found":
            return _missing((*where, "kind"))
        case "union_tag_invalid":
            return _kind((*where, "kind"), str(context["tag"]))
        case "string_pattern_mismatch":
            return _bad_name(where, detail, str(context["pattern"]))
        case "enum" | "literal_error":
            return _unknown_value(where, value, str(context["expected"]))
        case "model_type" | "model_attributes_type" | "dict_type":
            return _wrong(where, value, _MAPPINGS.get(str(context.get("class_name")), _MAPPING))
        case "tuple_type" | "list_type":
            return _wrong(where, value, "a list")
        case "string_type" | "int_type" | "float_type" | "bool_type" | "int_from_float" as kind:
            return _wrong(where, value, _scalar_wanted(kind, where))
        case other if other in _SIZES:
            return _size(other, where, value, context)
        case other:
            return _of(_CUSTOM.get(other, "invalid_value"), where, detail["msg"], _mends(other))


_CUSTOM: Final = {
    code: code
    for code in (
        *("wrong_type", "enum_values", "one_operator", "path_leaves_folder", "deciders"),
        "nothing_expected",
    )
}
_MENDS: Final = {
    "deciders": "write decide: {roles: [maintainer]} or {people: [ann]}, each name once",
    "nothing_expected": "write for example expect: {end: completed}",
    "enum_values": "write values: [first, second], with type: enum",
    "one_operator": "write for example {field: check.tests.exit_code, ne: 0}",
    "path_leaves_folder": "name a path below the repository's folder",
    "wrong_type": "write it as shown in the documentation of the format",
}
_MAPPING: Final = "keys and values, such as {key: value}"
_MAPPINGS: Final = {
    "RouteTarget": "a node's name, or {to: …, repeat: {max: …, at_limit: …}}",
    "InputBinding": "a path, or {from: …, optional: true}",
    "FieldTest": "a condition, such as {field: check.tests.exit_code, ne: 0}",
    "GateDeciders": "keys and values, such as {roles: [maintainer], people: [ann]}",
    "FrozenInput": "workspace, or {input: …} with an input that names a change",
    "AgentAnswer": "an answer, such as report: completed, 0, timed_out or approve",
    "AgentChoice": "keys and values, such as {provider: claude, mode: edit}",
}


def _mends(kind: str) -> str:
    return _MENDS.get(kind, "see the documentation of the format")


def _of(code: str, where: Where, message: str, mend: str) -> Problem:
    return Problem(code=code, where=where, message=message[:600], mend=mend[:600])


def _quoted(key: str | int) -> str:
    return f"'{str(key)[:80]}'"


def _missing(where: Where) -> Problem:
    key = where[-1]
    return _of("missing_key", where, f"'{key}' is missing", f"add '{key}: …' here")


def _kind(where: Where, kind: str) -> Problem:
    kinds = ("agent", "check", "decision", "parallel", "join", "gate", "end")
    message = f"there is no node kind '{kind[:80]}'"
    return _of("unknown_kind", where, message, meant(kind, kinds))


_PATTERN_WORDS: Final = {
    "^[a-z][a-z0-9-]*$": "a small letter first, then small letters, digits and '-'",
    "^[a-z][a-z0-9_]*$": "a small letter first, then small letters, digits and '_'",
}


def _bad_name(where: Where, detail: ErrorDetails, pattern: str) -> Problem:
    words = _PATTERN_WORDS.get(pattern, "letters, digits and '_', no digit first")
    code = "bad_key" if detail["loc"][-1] == _KEY else "bad_name"
    return _of(code, where, f"{_quoted(str(detail['input']))} is no name", f"write {words}")


def _unknown_value(where: Where, value: object, expected: str) -> Problem:
    if where == ("pointsman",):
        message = "this version reads format 1 only"
        return _of("unsupported_format", where, message, "write pointsman: 1")
    if where[-1] == "freeze":
        message = "only 'workspace' or an input can be frozen"
        return _of("unknown_value", where, message, f"write {_MAPPINGS['FrozenInput']}")
    allowed = [part.strip("'") for part in expected.replace(" or ", ", ").split(", ")]
    shown = _quoted(value) if isinstance(value, str) else "this"
    mend = meant(value, allowed) if isinstance(value, str) else f"there are: {listed(allowed)}"
    return _of("unknown_value", where, f"{shown} cannot stand here", mend)


def _wrong(where: Where, value: object, wanted: str) -> Problem:
    key = next((part for part in reversed(where) if isinstance(part, str)), "the file")
    subject = _quoted(key) if where[-1:] == (key,) else f"an entry of {_quoted(key)}"
    return _of("wrong_type", where, f"{subject} is {_what(value)}", f"write {wanted}")


def _what(value: object) -> str:
    """Say what a value is, in the words an author knows."""
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value!r}"
        case str():
            return f"the text {_quoted(value)}"
        case list():
            return "a list"
        case _:
            return "a mapping"


_DURATIONS: Final = frozenset({("timeout",), ("deadline",)})


def _scalar_wanted(kind: str, where: Where) -> str:
    if where[-1:] in _DURATIONS:
        return "a duration, such as 90s, 10m or 2h"
    return {
        "string_type": "a text; put it in quotes if it looks like a number, true or false",
        "int_type": "a whole number, without quotes",
        "int_from_float": "a whole number, without quotes",
        "float_type": "a number, without quotes",
        "bool_type": "true or false, without quotes",
    }[kind]


_SIZES: Final = {
    "string_too_long": "too_long",
    "string_too_short": "too_short",
    "too_long": "too_many",
    "too_short": "too_few",
    "greater_than_equal": "out_of_range",
    "less_than_equal": "out_of_range",
}


def _size(kind: str, where: Where, value: object, context: Mapping[str, Any]) -> Problem:
    match kind:
        case "string_too_long" | "string_too_short":
            unit, bound = "characters", context.get("max_length", context.get("min_length"))
            shown = f"this text has {len(value) if isinstance(value, str) else '?'} characters"
        case "too_long" | "too_short":
            unit, bound = "entries", context.get("max_length", context.get("min_length"))
            shown = f"there are {len(value) if isinstance(value, (list, dict)) else '?'} entries"
        case _:
            unit, bound = "", context.get("ge", context.get("le"))
            shown = f"{value!r} is out of range"
            unit = "seconds" if where[-1:] in _DURATIONS else ""
    side = "at most" if kind in ("string_too_long", "too_long", "less_than_equal") else "at least"
    return _of(_SIZES[kind], where, shown, f"{side} {bound} {unit}".rstrip())
