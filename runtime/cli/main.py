"""The command line's entry: reads the arguments, calls the command, ends with its exit code.

Everything heavy is loaded by the commands that need it, so ``pointsman --help`` answers at
once. Exit codes and what they mean stand in ``exit_codes``.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

from pointsman import refuse_optimized_python

if TYPE_CHECKING:
    import typer

_FIRST_GUESSES: Final = {
    "status": "'show RUN', or 'runs'",
    "list": "'runs', or 'workflows'",
    "ls": "'runs'",
    "log": "'logs RUN', or 'trace RUN'",
    "start": "'run WORKFLOW'",
    "reject": "'request-changes RUN'",
    "stop": "'cancel RUN'",
}


def main() -> None:
    """Run the command line of this process and end it."""
    refuse_optimized_python()
    for stream in (sys.stdout, sys.stderr):
        # A terminal without UTF-8 shows a question mark rather than an error.
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
    sys.exit(code)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """End in order, as with Ctrl-C: a server in this process takes its own processes along."""
    raise KeyboardInterrupt


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; no exception comes out of it."""
    import typer

    from pointsman.runtime.cli.sql_commands import app
    from pointsman.runtime.exit_codes import ExitCode

    # Also for a command line that cannot be read any further.
    json = "--json" in arguments
    try:
        command = typer.main.get_command(app)
        code = command.main(list(arguments), "pointsman", standalone_mode=False)
        return int(code or ExitCode.OK)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return ExitCode.OK
    except typer.TyperException as error:
        from pointsman.runtime.cli import failures
        from pointsman.runtime.cli.terminal import Terminal

        return failures.tell_usage(_message(error), _hint(error), Terminal(json=json))
    except Exception as error:  # noqa: BLE001 - the last one: whatever it is, people get words
        from pointsman.runtime.cli import failures
        from pointsman.runtime.cli.terminal import Terminal

        return failures.tell(error, Terminal(json=json))


def _message(error: "typer.TyperException") -> str:
    """Say what is wrong; of a command that people try first, which one does it here."""
    said: str = error.format_message()
    guess = next((each for each in _FIRST_GUESSES if f"command '{each}'." in said), None)
    if guess is None:
        return said
    return f"No such command '{guess}'. Did you mean {_FIRST_GUESSES[guess]}?"


def _hint(error: Exception) -> str:
    """Say where the right usage stands."""
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "pointsman")
    return f"See: {path} --help"


def _forget_stdout() -> None:
    """Whoever read our output has gone; the interpreter must not complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
