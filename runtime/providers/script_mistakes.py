"""What is wrong with an agent's script, in plain words, each mistake with its line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import yaml
from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_KINDS: Final = {
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "model_type": "must be a mapping of keys to values",
    "dict_type": "must be a mapping of keys to values",
    "model_attributes_type": "must be a mapping of keys to values",
    "int_parsing": "must be a whole number",
    "missing": "is missing",
    "extra_forbidden": "is no key that is known here",
}


def mistakes(error: Exception, text: str, steps: Sequence[str]) -> str:
    """Tell every mistake with its line; ``steps`` are the names of the steps there are."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    if not isinstance(error, ValidationError):
        return str(error)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    return "; ".join(
        f"{_placed(mistake['loc'], root)} {_expected(mistake, steps)}"
        for mistake in error.errors(include_url=False)
    )


def _expected(mistake: "ErrorDetails", steps: Sequence[str]) -> str:
    """Say in plain words what was expected."""
    kind, bounds = mistake["type"], mistake.get("ctx", {})
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        written = f"is {bounds['tag']!r}, which is" if "tag" in bounds else "is"
        return f"{written} no step; there are: {', '.join(steps)}"
    if kind in ("less_than_equal", "greater_than_equal"):
        bound = f"most {bounds['le']}" if "le" in bounds else f"least {bounds['ge']}"
        return f"must be at {bound}"
    return _KINDS.get(kind) or f"is wrong: {mistake['msg']}"


def _placed(place: "tuple[int | str, ...]", root: yaml.Node | None) -> str:
    """Name a place and the line that it, or what is around it, begins in."""
    node, line = root, 1
    for part in place:
        inner = _within(node, part)
        # Short steps have no such key, and their kind stands in the place without being one.
        node = inner if inner is not None else node
        line = node.start_mark.line + 1 if node is not None else line
    return (
        f"line {line}: {'.'.join(str(each) for each in place if each != '[key]') or 'the script'}"
    )


def _within(node: yaml.Node | None, part: int | str) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        inner: yaml.Node = node.value[part]
        return inner
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == str(part)), None)
    return None
