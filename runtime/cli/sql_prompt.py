"""``sql`` without a statement, in a terminal: one after the other, until its end."""

import contextlib
from collections.abc import Callable
from typing import Final

from pointsman.runtime.cli import asking, failures
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.problems import PointsmanError

_FIRST: Final = "sql> "
_FURTHER: Final = "...> "
_HELP: Final = (
    r"One SELECT, ended with a semicolon. \d lists the tables, \d TABLE its columns, \q ends."
)


def prompt(call: Invocation, rows_max: int, read: Callable[[str], str] = input) -> int:
    """Answer statements as they are typed; one that fails says why, and the next is asked."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - gives ``input`` its history and its editing keys
    call.terminal.say(_HELP, style="dim")
    while (words := _read(read)) is not None:
        try:
            _answer(call, words, rows_max)
        except PointsmanError as error:
            failures.tell(error, call.terminal)
        except KeyboardInterrupt:
            call.terminal.say("Interrupted; nothing has changed.")
    return ExitCode.OK


def _read(read: Callable[[str], str]) -> str | None:
    """Return the next statement or command, ``None`` at the end; Ctrl-C begins a line anew."""
    typed = ""
    while not typed.rstrip().endswith(";"):
        try:
            typed += f"{read(_FURTHER if typed.strip() else _FIRST)}\n"
        except KeyboardInterrupt:
            typed = ""
        except EOFError:
            return None
        if (command := typed.strip()).startswith("\\"):
            return None if command == r"\q" else command
    return typed.strip().rstrip(";")


def _answer(call: Invocation, words: str, rows_max: int) -> None:
    command, _, name = words.partition(" ")
    if command == r"\d":
        asking.tell_schema(call, name.strip() or "all")
    elif command.startswith("\\"):
        call.terminal.say(_HELP)
    elif words:
        asking.ask(call, words, rows_max, None)
