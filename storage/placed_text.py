"""A YAML text with problems at their places in it, whatever format it is in.

``PlacedText`` reads; what is wrong with the values is told to it and comes back with line,
column and the offending text.
"""

from collections.abc import Iterable
from typing import Final

from yaml.reader import Reader

from pointsman.graph import limits
from pointsman.graph.problem import Problem, Where
from pointsman.storage.yaml_nodes import LINE_END, Position
from pointsman.storage.yaml_text import YamlText, read_yaml

SOURCE_CHARS_MAX: Final = 160


class PlacedProblem(Problem):
    """A problem at its place; ``source`` is (a part of) the line, ``caret`` counts in it from 1."""

    file: str
    line: int
    column: int
    source: str
    caret: int


class PlacedText:
    """One text. ``value`` is ``None`` when nothing usable was read: then there are ``flaws``."""

    def __init__(self, text: str | bytes, name: str) -> None:
        self._name = name
        decoded, refusal = _decoded(text)
        self._lines = LINE_END.split(decoded)
        self._found = YamlText() if refusal is not None else read_yaml(decoded)
        if refusal is not None:
            self._found.add(*refusal)

    @property
    def value(self) -> object:
        """The plain value of the document."""
        return self._found.value

    @property
    def flaws(self) -> tuple[Problem, ...]:
        """What is wrong with the text itself."""
        return tuple(each.problem for each in self._found.problems)

    def with_flaws(self, problems: Iterable[Problem]) -> tuple[PlacedProblem, ...]:
        """Return these problems and the text's own, in the order of the text.

        Where a value could not be read at all, what follows from that is left out.
        """
        at = [(each.problem, each.position) for each in self._found.problems]
        unread = {problem.where for problem in self.flaws if problem.code in _OF_VALUES}
        at += [
            (problem, _position(self._found, problem))
            for problem in problems
            if problem.where not in unread
        ]
        at.sort(key=lambda pair: pair[1])
        return tuple(_placed(problem, self._name, where, self._lines) for problem, where in at)

    def placed(self, problem: Problem) -> PlacedProblem:
        """Return one problem at its place."""
        return _placed(problem, self._name, _position(self._found, problem), self._lines)


_Refusal = tuple[str, Where, Position, str, str]


def _decoded(text: str | bytes) -> tuple[str, _Refusal | None]:
    """Return the characters, without a byte order mark, or why they are not read."""
    size = len(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    if size > limits.DEFINITION_FILE_BYTES_MAX:
        message = f"the file has more than {limits.DEFINITION_FILE_BYTES_MAX} bytes"
        return "", ("file_too_large", (), Position(1, 1), message, "split the workflow")
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            encoded = error.object
            at = _position_after(encoded[: error.start].decode())
            message = f"byte {encoded[error.start]:#04x} is no UTF-8"
            shown = encoded.decode("utf-8", "replace")
            return shown, ("not_utf8", (), at, message, "save the file as UTF-8")
    text = text.removeprefix("\ufeff")
    bad = Reader.NON_PRINTABLE.search(text)
    if bad is not None:
        at = _position_after(text[: bad.start()])
        message = f"the character U+{ord(bad[0]):04X} cannot stand in YAML"
        return text, ("bad_character", (), at, message, "leave it out, or write it as an escape")
    return text, None


def _position_after(text: str) -> Position:
    lines = LINE_END.split(text)
    return Position(len(lines), len(lines[-1]) + 1)


_OF_VALUES: Final = frozenset({"bad_tag", "bad_text", "out_of_range"})
_ABOUT_KEYS: Final = frozenset({"unknown_key", "bad_key", "reserved_field"})


def _position(found: YamlText, problem: Problem) -> Position:
    return found.position(problem.where, of_key=problem.code in _ABOUT_KEYS)


def _placed(problem: Problem, name: str, at: Position, lines: list[str]) -> PlacedProblem:
    line = lines[at.line - 1] if at.line <= len(lines) else ""
    start = max(0, at.column - 1 - SOURCE_CHARS_MAX // 2) if len(line) > SOURCE_CHARS_MAX else 0
    source = "".join(
        character if character.isprintable() else " "
        for character in line[start : start + SOURCE_CHARS_MAX]
    )
    return PlacedProblem(
        **problem.model_dump(),
        file=name,
        line=at.line,
        column=at.column,
        source=source,
        caret=at.column - start,
    )


def unplaced(problem: Problem, name: str) -> PlacedProblem:
    """Return a problem of a whole file that has no text to point into."""
    return _placed(problem, name, Position(1, 1), [])


def place(problem: Problem, text: bytes, name: str) -> PlacedProblem:
    """Return a problem found elsewhere at its place in a text that reads well."""
    return PlacedText(text, name).placed(problem)


def render(problems: tuple[PlacedProblem, ...]) -> str:
    """Return the problems in the style of a compiler, one after the other."""
    return "\n".join(_rendered(problem) for problem in problems)


def _rendered(problem: PlacedProblem) -> str:
    head = f"{problem.code}: {problem.message}\n"
    if not problem.source:
        # About the file as a whole, which may not even be there.
        at = "" if problem.line == 1 else f":{problem.line}"
        return f"{problem.file}{at}: {head}    {problem.mend}\n"
    return (
        f"{problem.file}:{problem.line}:{problem.column}: {head}"
        f"    {problem.source}\n"
        f"    {' ' * (problem.caret - 1)}^\n"
        f"    {problem.mend}\n"
    )
