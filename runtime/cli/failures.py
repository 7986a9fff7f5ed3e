"""How a command tells that it could not do what was asked: never a stack trace.

People get the code, what happened, what is safe and what to do next, on stderr. Programs get
the problem document of the HTTP API on stdout.
"""

import os
import sys
import traceback
from typing import Final

from pointsman.runtime.cli.terminal import Terminal
from pointsman.runtime.exit_codes import ExitCode, of_problem
from pointsman.runtime.problems import PointsmanError, document

DEBUG_VARIABLE: Final = "POINTSMAN_DEBUG"


def tell(error: Exception, terminal: Terminal) -> ExitCode:
    """Tell an error and return what the command ends with."""
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error, file=sys.stderr)
    problem = error if isinstance(error, PointsmanError) else _unforeseen(error)
    if terminal.json:
        terminal.document(document(problem))
    else:
        _show(problem, terminal)
    return of_problem(problem.code)


def tell_usage(message: str, hint: str, terminal: Terminal) -> ExitCode:
    """Tell that the command line itself was wrong."""
    if terminal.json:
        terminal.document(document(PointsmanError("usage_invalid", message)))
    else:
        terminal.say(message, style="red")
        terminal.say(hint)
    return ExitCode.USAGE


def _unforeseen(error: Exception) -> PointsmanError:
    from pointsman.storage.journal_errors import JournalCorruptError

    damaged = isinstance(error, JournalCorruptError)
    return PointsmanError("journal_corrupt", str(error)) if damaged else _defect(error)


def _defect(error: Exception) -> PointsmanError:
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return PointsmanError(
        "internal_error", f"{told}. Set {DEBUG_VARIABLE}=1 to see where it comes from."
    )


def _show(problem: PointsmanError, terminal: Terminal) -> None:
    kind = problem.kind
    terminal.say(f"{kind.number} {problem.code}: {kind.page.title}", style="bold red")
    terminal.say(problem.message)
    terminal.say()
    terminal.say(f"What is safe:  {kind.page.safe}")
    terminal.say(f"What to do:    {kind.page.next}")
