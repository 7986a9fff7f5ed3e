"""Where the command line writes: data on stdout, everything else on stderr.

For programs (``--json``) stdout holds exactly one JSON document, or JSON lines for streams.
There are no spinners and no cursor tricks, so a log file reads like a terminal.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

if TYPE_CHECKING:  # loading rich takes as long as reading the journal
    from rich.console import Console, RenderableType

    from pointsman.runtime.cli.progress import Line

_WIDTH_ELSEWHERE: Final = 1_000
_STYLES: Final = {"plain": "", "good": "green", "bad": "red", "person": "bold yellow"}


class Terminal:
    """The two streams of one command. ``json`` says that a program reads stdout."""

    def __init__(self, *, json: bool) -> None:
        self.json = json

    @cached_property
    def _out(self) -> "Console":
        return _console(stderr=False)

    @cached_property
    def _err(self) -> "Console":
        return _console(stderr=True)

    def document(self, value: Any) -> None:
        """Write the command's data for a program."""
        option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        _write(orjson.dumps(value, default=_plain, option=option))

    def row(self, value: Any) -> None:
        """Write one line of a stream for a program, at once."""
        _write(orjson.dumps(value, default=_plain, option=orjson.OPT_APPEND_NEWLINE))

    def raw(self, pieces: Iterable[bytes]) -> None:
        """Write data that is in its own form already."""
        for piece in pieces:
            _write(piece)

    def show(self, shown: "RenderableType" = "", *, style: str | None = None) -> None:
        """Write data for people; nothing is written when a program reads."""
        if not self.json:
            self._out.print(shown, markup=False, style=style)

    def say(self, text: str = "", *, style: str | None = None) -> None:
        """Write a remark on the side."""
        self._err.print(text, markup=False, style=style)

    def progress(self, line: "Line") -> None:
        """Write one line of a run's progress on the side."""
        from rich.text import Text

        shown = Text(f"{line.elapsed_s:6.1f} s  ", style="dim")
        if line.subject is not None:
            shown.append(line.subject, style="bold").append(" · ")
        shown.append(line.text, style=_STYLES[line.tone])
        self._err.print(shown)


def _console(*, stderr: bool) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # What goes into a file or a pipe is not cut to the width of some terminal.
    width = None if stream.isatty() else _WIDTH_ELSEWHERE
    return Console(stderr=stderr, highlight=False, soft_wrap=True, width=width)


def _write(encoded: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(encoded)
    sys.stdout.buffer.flush()


def _plain(value: Any) -> Any:
    """Tell orjson what a model or a path is."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no data")


def own_command(argv: Sequence[str] | None = None, path: str | None = None) -> str:
    """Return how this program was called, so that a suggested command can be copied."""
    called = Path((argv or sys.argv)[0])
    if called.name == "__main__.py":
        return f"{sys.executable} -m pointsman"
    found = shutil.which(called.name, path=path)
    if found is not None and Path(found).resolve() == called.resolve():
        return called.name
    try:
        relative = str(called.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(called)
    return relative if os.sep in relative else f".{os.sep}{relative}"


def table(columns: Mapping[str, str], rows: Sequence[Sequence[str]]) -> "RenderableType":
    """Return rows under their headings; a column's value is its style.

    In a narrow terminal all but the first column are wrapped: nothing is ever cut.
    """
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for index, (name, style) in enumerate(columns.items()):
        made.add_column(name, style=style or None, no_wrap=index == 0, overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made
