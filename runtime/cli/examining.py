"""``doctor``: one line a check, and what to do where something is not as it should be."""

from dataclasses import asdict
from typing import Final

from pointsman.actors.clock import SystemClock
from pointsman.runtime.care.doctor import Level, examine
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.exit_codes import ExitCode

_STYLES: Final = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "bold red"}


def doctor(call: Invocation, *, with_ray: bool) -> int:
    """Examine the machine and the data directory; warnings alone are no failure."""
    results = examine(call.data, SystemClock(), with_ray=with_ray)
    if call.terminal.json:
        call.terminal.document({"checks": [asdict(each) for each in results]})
    for each in results:
        next_ = f"; {each.next}" if each.next is not None else ""
        line = f"{each.level.value:<8} {each.check}: {each.found}{next_}"
        call.terminal.show(line, style=_STYLES[each.level])
    sick = any(each.level is Level.PROBLEM for each in results)
    return ExitCode.UNAVAILABLE if sick else ExitCode.OK
