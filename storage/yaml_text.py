"""YAML text as plain JSON values, each with its place in the file; never raises.

Read is YAML 1.2 with JSON's scalars: ``true``, ``false`` and ``null`` (also capitalised, and
``~``), and numbers as JSON writes them. All else is text: ``yes``, ``on``, ``0123``, ``0x1f``,
``1:30``, ``1_000``, ``.inf`` and dates. Duplicate keys, tags of other types and more than one
document are problems; aliases and merge keys are read, but bounded in what they expand to.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pointsman.graph.canonical import INTEGER_MAX
from pointsman.graph.problem import Problem, Where
from pointsman.storage.yaml_nodes import (
    DEPTH_MAX,
    NODES_MAX,
    TAG,
    Events,
    Mapping,
    Node,
    Position,
    Scalar,
    Sequence,
    TextError,
    compose,
    fast_parser,
    too_complex,
)

_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_NOT_STORED: Final = re.compile("[\0\ud800-\udfff]")
_WORDS: Final = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}


class Place(NamedTuple):
    """Where a value stands, and its key, if it has one."""

    key: Position | None
    value: Position
    scalar: bool


class YamlProblem(NamedTuple):
    """A problem of the text itself, at its position."""

    problem: Problem
    position: Position


@dataclass
class YamlText:
    """What was read: ``value`` is ``None`` when nothing usable was, and then there are problems."""

    value: object = None
    places: dict[Where, Place] = field(default_factory=dict)
    problems: list[YamlProblem] = field(default_factory=list)

    def add(self, code: str, where: Where, at: Position, message: str, mend: str) -> None:
        """Note a problem at its place."""
        problem = Problem(code=code, where=where, message=message, mend=mend)
        self.problems.append(YamlProblem(problem, at))

    def position(self, where: Where, *, of_key: bool = False) -> Position:
        """Return the position of a place, or of the nearest place around it.

        A single value is shown itself, a mapping or list by its key.
        """
        known = where
        while known not in self.places:
            if not known:
                return Position(1, 1)
            known = known[:-1]
        place = self.places[known]
        if place.scalar and not of_key:
            return place.value
        return place.key or place.value


def read_yaml(text: str, parser: Callable[[str], Events] = fast_parser) -> YamlText:
    """Read a text of printable characters (the caller has seen to that)."""
    found = YamlText()
    try:
        found.value = _Conversion(found).convert(compose(text, parser(text)), (), None)
    except TextError as error:
        found.value = None
        found.add(error.code, (), error.at, error.message, error.mend)
    return found


class _Conversion:
    """Turns composed nodes into values; problems of single values do not stop it."""

    def __init__(self, found: YamlText) -> None:
        self._found = found
        self._count = 0

    def convert(self, node: Node, where: Where, key: Position | None) -> object:
        self._counted(node)
        if len(where) > DEPTH_MAX:
            raise too_complex(node.at, f"nested more than {DEPTH_MAX} levels deep")
        self._found.places[where] = Place(key, node.at, isinstance(node, Scalar))
        if isinstance(node, Scalar):
            return self._scalar(node, where)
        if isinstance(node, Mapping) and node.tag in (None, f"{TAG}map"):
            return self._mapping(node, where)
        if isinstance(node, Sequence) and node.tag in (None, f"{TAG}seq"):
            return [self.convert(item, (*where, i), None) for i, item in enumerate(node.items)]
        self._bad_tag(node, where)
        return None

    def _counted(self, node: Node) -> None:
        self._count += 1
        if self._count > NODES_MAX:
            raise too_complex(node.at, f"aliases expand to more than {NODES_MAX} values")

    def _bad_tag(self, node: Node, where: Where) -> None:
        written = node.tag if node.tag is not None else "this"
        message = f"values of type {written[:80]!r} are not read, or not written so"
        self._found.add("bad_tag", where, node.at, message, "leave the tag out")

    def _mapping(self, node: Mapping, where: Where) -> dict[str, object]:
        """Convert the pairs written here, then those merged in whose keys are not among them."""
        values: dict[str, object] = {}
        first: dict[str, Position] = {}
        merged: list[Node] = []
        for key_node, value_node in node.pairs:
            merge = _is_merge(key_node)
            key = "<<" if merge else self._key(key_node, where)
            if key is None:
                continue
            if key in first:
                self._twice(key, key_node.at, first[key], where)
                continue
            first[key] = key_node.at
            if merge:
                merged.append(value_node)
            else:
                values[key] = self.convert(value_node, (*where, key), key_node.at)
        for source in merged:
            for key_node, value_node in self._merged(source, where, 1, in_list=False):
                key = self._key(key_node, where)
                if key is not None and key not in values:
                    values[key] = self.convert(value_node, (*where, key), key_node.at)
        return values

    def _twice(self, key: str, at: Position, first: Position, where: Where) -> None:
        message = f"'{key[:80]}' stands here a second time, after line {first.line}"
        mend = "write one list: <<: [*a, *b]" if key == "<<" else "keep one of the two"
        self._found.add("duplicate_key", (*where, key), at, message, mend)

    def _merged(
        self, source: Node, where: Where, depth: int, *, in_list: bool
    ) -> Iterator[tuple[Node, Node]]:
        """Yield the pairs a merge key brings, those that count first."""
        self._counted(source)
        if depth > DEPTH_MAX:
            raise too_complex(source.at, f"merged more than {DEPTH_MAX} levels deep")
        match source:
            case Mapping(tag=None, pairs=pairs):
                for key_node, value_node in pairs:
                    if not _is_merge(key_node):
                        yield key_node, value_node
                for key_node, value_node in pairs:
                    if _is_merge(key_node):
                        yield from self._merged(value_node, where, depth + 1, in_list=False)
            case Sequence(tag=None, items=items) if not in_list:
                for item in items:
                    yield from self._merged(item, where, depth + 1, in_list=True)
            case _:
                mend = "write <<: *name, or <<: [*first, *second], of mappings"
                self._found.add(
                    "bad_merge", where, source.at, "only mappings can be merged in", mend
                )

    def _key(self, node: Node, where: Where) -> str | None:
        if isinstance(node, Scalar) and _type_of(node) == "str":
            return self._text(node, where)
        written = node.text[:40] if isinstance(node, Scalar) else "this"
        message = f"a key must be a text, which {written!r} is not"
        self._found.add("bad_key", where, node.at, message, "put the key in quotes")
        return None

    def _text(self, node: Scalar, where: Where) -> str | None:
        text = node.text
        if _NOT_STORED.search(text):
            message = "this text holds a character that cannot be stored (NUL or half a pair)"
            self._found.add("bad_text", where, node.at, message, "leave the character out")
            return None
        return text

    def _scalar(self, node: Scalar, where: Where) -> object:
        text = node.text
        match _type_of(node):
            case "str":
                return self._text(node, where)
            case "null" | "bool" if text in _WORDS:
                return _WORDS[text]
            case "int" if _INTEGER.fullmatch(text):
                if len(text) <= 17 and abs(int(text)) <= INTEGER_MAX:
                    return int(text)
                self._out_of_range(node, where)
                return 0
            case "float" if _FLOAT.fullmatch(text):
                if math.isfinite(float(text)):
                    return float(text)
                self._out_of_range(node, where)
                return 0
            case _:
                self._bad_tag(node, where)
                return None

    def _out_of_range(self, node: Scalar, where: Where) -> None:
        message = "this number is too large to be kept exactly"
        mend = f"integers go up to {INTEGER_MAX}; put it in quotes if it is a text"
        self._found.add("out_of_range", where, node.at, message, mend)


def _is_merge(node: Node) -> bool:
    return isinstance(node, Scalar) and node.plain and node.tag is None and node.text == "<<"


def _type_of(node: Scalar) -> str:
    """Return the type a tag names, or the one a plain text has."""
    if node.tag is not None:
        return node.tag.removeprefix(TAG)
    text = node.text
    if not node.plain or (text and text[0] not in "-0123456789~nNtTfF"):
        return "str"
    if text in _WORDS:
        return "null" if _WORDS[text] is None else "bool"
    if _INTEGER.fullmatch(text):
        return "int"
    return "float" if _FLOAT.fullmatch(text) else "str"
