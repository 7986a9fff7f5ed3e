"""YAML text as bare nodes with their places: parsed, anchors resolved, bounded; no values yet.

The parser is libyaml's where PyYAML was built with it (twenty times as fast), else PyYAML's own;
both give the same events with the same marks. Nothing is ever constructed from tags.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, TypeAlias

import yaml
from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import (
    AliasEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

DEPTH_MAX: Final = 100
NODES_MAX: Final = 20_000
LINE_END: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
TAG: Final = "tag:yaml.org,2002:"


class Position(NamedTuple):
    """A place in the text, counted from 1, in characters."""

    line: int
    column: int


class Scalar(NamedTuple):
    """One text as it stands. ``plain``: without quotes, so that it may mean another type."""

    text: str
    tag: str | None
    plain: bool
    at: Position


@dataclass(slots=True)
class Sequence:
    """A list of nodes."""

    tag: str | None
    at: Position
    items: list["Node"] = field(default_factory=list)


@dataclass(slots=True)
class Mapping:
    """Pairs of nodes in their order; keys may stand more than once."""

    tag: str | None
    at: Position
    pairs: list[tuple["Node", "Node"]] = field(default_factory=list)


Node: TypeAlias = Scalar | Sequence | Mapping


class TextError(Exception):
    """The text cannot be read any further than ``at``."""

    def __init__(self, code: str, at: Position, message: str, mend: str) -> None:
        super().__init__(code, at, message, mend)
        self.code = code
        self.at = at
        self.message = message
        self.mend = mend


def too_complex(at: Position, message: str) -> TextError:
    """Return the refusal of a text that is nested too deeply or holds too many values."""
    mend = "flatten or split it; aliases count as often as they are used"
    return TextError("too_complex", at, message, mend)


class Events(Protocol):
    """What both parsers offer."""

    def get_event(self) -> Event | None: ...


class PlainParser(Reader, Scanner, Parser):
    """PyYAML's own parser, in Python."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


def fast_parser(text: str) -> Events:
    """Return libyaml's parser where there is one."""
    if not yaml.__with_libyaml__:
        return PlainParser(text)
    from yaml._yaml import CParser  # without libyaml there is no such module

    return CParser(text)


def compose(text: str, parser: Events) -> Node:
    """Return the only document of a text; raise ``TextError`` at the first place that has none."""
    composer = _Composer(_events(text, parser))
    event = composer.next()
    if isinstance(event, StreamEndEvent):
        raise TextError("empty_file", Position(1, 1), "the file is empty", "write a workflow")
    node = composer.node(composer.next(), 1)
    composer.next()
    after = composer.next()
    if not isinstance(after, StreamEndEvent):
        message, mend = "a second document begins here", "write one workflow a file, without '---'"
        raise TextError("several_documents", _at(after), message, mend)
    return node


class _Composer:
    """Builds the nodes of one document from its events."""

    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self._anchors: dict[str, Node] = {}
        self._count = 0

    def next(self) -> Event:
        return next(self._events)

    def node(self, event: Event, depth: int) -> Node:
        at = _at(event)
        self._count += 1
        if depth > DEPTH_MAX:
            raise too_complex(at, f"nested more than {DEPTH_MAX} levels deep")
        if self._count > NODES_MAX:
            raise too_complex(at, f"more than {NODES_MAX} values in one file")
        if isinstance(event, ScalarEvent):
            plain = event.implicit[0] and event.tag != "!"
            scalar = Scalar(event.value, _known(event.tag), plain, at)
            return self._named(event.anchor, scalar)
        if isinstance(event, MappingStartEvent):
            mapping = Mapping(_known(event.tag), at)
            self._named(event.anchor, mapping)
            while not isinstance(event := self.next(), MappingEndEvent):
                key = self.node(event, depth + 1)
                mapping.pairs.append((key, self.node(self.next(), depth + 1)))
            return mapping
        if isinstance(event, SequenceStartEvent):
            sequence = Sequence(_known(event.tag), at)
            self._named(event.anchor, sequence)
            while not isinstance(event := self.next(), SequenceEndEvent):
                sequence.items.append(self.node(event, depth + 1))
            return sequence
        assert isinstance(event, AliasEvent), f"no node begins with {event!r}"
        return self._aliased(str(event.anchor), at)

    def _aliased(self, anchor: str, at: Position) -> Node:
        if anchor not in self._anchors:
            message = f"there is no anchor &{anchor[:80]} before this"
            raise TextError("unknown_alias", at, message, "write the value out once, after &name")
        return self._anchors[anchor]

    def _named(self, anchor: str | None, node: Node) -> Node:
        if anchor is not None:
            if anchor in self._anchors:
                first = self._anchors[anchor].at.line
                message = f"the anchor &{anchor[:80]} stands here again, after line {first}"
                raise TextError("duplicate_anchor", node.at, message, "name it differently")
            self._anchors[anchor] = node
        return node


def _known(tag: str | None) -> str | None:
    return None if tag in (None, "!") else str(tag)


def _at(event: Event) -> Position:
    mark = event.start_mark
    assert mark is not None, "both parsers mark every event of a text"
    return Position(mark.line + 1, mark.column + 1)


_MEND: Final = "look for wrong indentation, or a quote or bracket that is not closed"


def _events(text: str, parser: Events) -> Iterator[Event]:
    """Yield the events after the stream's start; every failure becomes a ``TextError``."""
    try:
        parser.get_event()
        while (event := parser.get_event()) is not None:
            yield event
    except MarkedYAMLError as error:
        raise _syntax_error(text, error) from error
    except YAMLError as error:  # a character; the caller has looked for those, but not this parser
        message = "a character that cannot stand in YAML"
        raise TextError("bad_character", Position(1, 1), message, "leave it out") from error
    except (ValueError, OverflowError) as error:  # PyYAML on escapes that name no character
        raise _bad_escape(_reached(parser)) from error


def _reached(parser: Events) -> Position:
    return Position(getattr(parser, "line", 0) + 1, getattr(parser, "column", 0) + 1)


def _bad_escape(at: Position) -> TextError:
    message = "this escape names no character that can be stored"
    return TextError("bad_text", at, message, "leave the character out")


def _syntax_error(text: str, error: MarkedYAMLError) -> TextError:
    mark = error.problem_mark or error.context_mark
    assert mark is not None, "PyYAML marks every problem of a text"
    at = Position(mark.line + 1, mark.column + 1)
    what = error.problem or error.context or "this is no YAML"
    lines = LINE_END.split(text)
    if at.line <= len(lines) and lines[at.line - 1][at.column - 1 : at.column] == "\t":
        return TextError("tab", at, "a tab cannot stand here", "indent with spaces")
    if "Unicode character escape" in what:
        return _bad_escape(at)
    context = f" ({error.context})" if error.context and error.problem else ""
    quotes = "mapping values are not allowed" in what
    mend = "put a text that holds ': ' in quotes, or check the indentation" if quotes else _MEND
    return TextError("yaml_syntax", at, f"{what}{context}"[:300], mend)
