"""YAML text as plain JSON values, each with its place in the file; never raises.

Read is YAML 1.2 with JSON's scalars: ``true``, ``false`` and ``null`` (also capitalised, and
``~``), and numbers as JSON writes them. All else is text: ``yes``, ``on``, ``0123``, ``0x1f``,
``1:30``, ``1_000``, ``.inf`` and dates. Duplicate keys, merge keys, tags of other types and more
than one document are problems; aliases are read, but bounded in what they expand to.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from yaml.composer import Composer
from yaml.error import MarkedYAMLError
from yaml.events import Event, StreamEndEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from pointsman.graph.canonical import INTEGER_MAX
from pointsman.graph.problem import Problem, Where

DEPTH_MAX: Final = 100
NODES_MAX: Final = 20_000

_TAG: Final = "tag:yaml.org,2002:"
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORDS: Final = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}


class Position(NamedTuple):
    """A place in the text, counted from 1, in characters."""

    line: int
    column: int


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


class _Excess(Exception):
    """The text is nested too deeply, or holds too many values."""

    def __init__(self, at: Position, message: str) -> None:
        super().__init__(message)
        self.at = at
        self.message = message


class _Resolver(BaseResolver):
    """Says which plain scalars are no texts."""


for _tag, _pattern, _first in (
    ("null", r"(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", rf"(?:{_INTEGER.pattern})$", list("-0123456789")),
    ("float", rf"(?:{_FLOAT.pattern})$", list("-0123456789")),
):
    _Resolver.add_implicit_resolver(_TAG + _tag, re.compile(_pattern), _first)


class _Loader(Reader, Scanner, Parser, Composer, _Resolver):
    """PyYAML's stages up to composed nodes; nothing is ever constructed from tags."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        _Resolver.__init__(self)
        self._depth = 0
        self._count = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        self._depth += 1
        self._count += 1
        if self._depth > DEPTH_MAX:
            raise _Excess(self.next_event(), f"nested more than {DEPTH_MAX} levels deep")
        if self._count > NODES_MAX:
            raise _Excess(self.next_event(), f"more than {NODES_MAX} values in one file")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def next_event(self) -> Position:
        """Return where the next piece of the text begins."""
        return _at(self.peek_event())  # type: ignore[no-untyped-call]

    def here(self) -> Position:
        """Return how far the text has been read."""
        return Position(self.line + 1, self.column + 1)


def _at(marked: Node | Event) -> Position:
    mark = marked.start_mark
    assert mark is not None, "PyYAML marks every node and event of a text"
    return Position(mark.line + 1, mark.column + 1)


def read_yaml(text: str) -> YamlText:
    """Read a text of printable characters (the caller has seen to that)."""
    found = YamlText()
    loader = _Loader(text)
    try:
        root = _single_document(loader, found)
        if root is not None:
            found.value = _Conversion(found).convert(root, (), None)
    except MarkedYAMLError as error:
        _add_syntax_problem(found, error)
    except _Excess as excess:
        mend = "flatten or split it; aliases count as often as they are used"
        found.add("too_complex", (), excess.at, excess.message, mend)
    except (ValueError, OverflowError):  # PyYAML on escapes that name no character
        found.add("yaml_syntax", (), loader.here(), "a character code that does not exist", _MEND)
    return found


_MEND: Final = "look for wrong indentation, or a quote or bracket that is not closed"


def _add_syntax_problem(found: YamlText, error: MarkedYAMLError) -> None:
    mark = error.problem_mark or error.context_mark
    assert mark is not None, "PyYAML marks every problem of a text"
    at = Position(mark.line + 1, mark.column + 1)
    what = error.problem or error.context or "this is no YAML"
    if "'\\t'" in what:
        found.add("tab", (), at, "a tab cannot stand here", "indent with spaces")
        return
    context = f" ({error.context})" if error.context and error.problem else ""
    quotes = "mapping values are not allowed" in what
    mend = "put a text that holds ': ' in quotes, or check the indentation" if quotes else _MEND
    found.add("yaml_syntax", (), at, f"{what}{context}"[:300], mend)


def _single_document(loader: _Loader, found: YamlText) -> Node | None:
    loader.get_event()  # type: ignore[no-untyped-call] # the stream's start
    if loader.check_event(StreamEndEvent):
        found.add("empty_file", (), Position(1, 1), "the file is empty", "write a workflow")
        return None
    root = loader.compose_document()
    if not loader.check_event(StreamEndEvent):
        message = "a second document begins here"
        mend = "write one workflow a file, without a '---' between"
        found.add("several_documents", (), loader.next_event(), message, mend)
        return None
    assert root is None or isinstance(root, Node), "a document is a node"
    return root


class _Conversion:
    """Turns composed nodes into values; problems of single values do not stop it."""

    def __init__(self, found: YamlText) -> None:
        self._found = found
        self._count = 0

    def convert(self, node: Node, where: Where, key: Position | None) -> object:
        self._count += 1
        if self._count > NODES_MAX:
            raise _Excess(_at(node), f"aliases expand to more than {NODES_MAX} values")
        if len(where) > DEPTH_MAX:
            raise _Excess(_at(node), f"nested more than {DEPTH_MAX} levels deep")
        scalar = isinstance(node, ScalarNode)
        self._found.places[where] = Place(key, _at(node), scalar)
        match node:
            case MappingNode(tag=tag) if tag == f"{_TAG}map":
                return self._mapping(node, where)
            case SequenceNode(tag=tag, value=items) if tag == f"{_TAG}seq":
                return [self.convert(item, (*where, i), None) for i, item in enumerate(items)]
            case ScalarNode():
                return self._scalar(node, where)
            case _:
                self._bad_tag(node, where)
                return None

    def _bad_tag(self, node: Node, where: Where) -> None:
        message = f"values of type {str(node.tag)[:80]!r} are not read, or not written so"
        self._found.add("bad_tag", where, _at(node), message, "leave the tag out")

    def _mapping(self, node: MappingNode, where: Where) -> dict[str, object]:
        values: dict[str, object] = {}
        first: dict[str, Position] = {}
        for key_node, value_node in node.value:
            at = _at(key_node)
            key = self._key(key_node, where)
            if key is None:
                continue
            if key in first:
                message = f"'{key[:80]}' stands here a second time, after line {first[key].line}"
                mend = "keep one of the two"
                self._found.add("duplicate_key", (*where, key), at, message, mend)
                continue
            first[key] = at
            values[key] = self.convert(value_node, (*where, key), at)
        return values

    def _key(self, node: Node, where: Where) -> str | None:
        at = _at(node)
        if not isinstance(node, ScalarNode) or node.tag != f"{_TAG}str":
            written = str(node.value)[:40] if isinstance(node, ScalarNode) else "this"
            message = f"a key must be a text, which {written!r} is not"
            self._found.add("bad_key", where, at, message, "put the key in quotes")
            return None
        if node.value == "<<":
            mend = "write the keys out, or use an alias for a whole value"
            self._found.add("bad_key", where, at, "merge keys (<<) are not read", mend)
            return None
        return self._text(node, where)

    def _text(self, node: ScalarNode, where: Where) -> str | None:
        text = str(node.value)
        if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
            message = "this text holds a character that cannot be stored (NUL or half a pair)"
            self._found.add("bad_text", where, _at(node), message, "leave the character out")
            return None
        return text

    def _scalar(self, node: ScalarNode, where: Where) -> object:
        text = str(node.value)
        match str(node.tag).removeprefix(_TAG):
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

    def _out_of_range(self, node: ScalarNode, where: Where) -> None:
        message = "this number is too large to be kept exactly"
        mend = f"integers go up to {INTEGER_MAX}; put it in quotes if it is a text"
        self._found.add("out_of_range", where, _at(node), message, mend)
