"""A local host in a process of its own that kills itself at a named point.

Run as a program it takes a data folder, a point and orders (JSON lines on standard input), and
carries the orders out one after the other; at the point it dies by SIGKILL, as a machine might.
``die_at`` is how a test uses it.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from pointsman.actors.host import ReportingAccess
from pointsman.graph.intents import (
    FreezeChange,
    Intent,
    InterruptExecution,
    LaunchExecution,
    PrepareWorkspace,
    SendReminder,
    StartCheck,
)
from pointsman.runtime import frozen, own_commits, workspaces
from pointsman.runtime.hosts import attempts, changes, effects
from pointsman.runtime.hosts.local import LocalHost
from pointsman.runtime.hosts.supervised import SupervisedCommand
from pointsman.runtime.providers.scripted import ScriptedProvider
from pointsman.runtime.workspaces import Worktrees

ROOT: Final = Path(__file__).parents[2]
_INTENT: Final[TypeAdapter[Any]] = TypeAdapter(Intent)
_NOWHERE: Final = ReportingAccess(url="http://127.0.0.1:9/mcp", token="token-of-the-first-host")

# The host is killed by something else.
NEVER: Final = "never"
POINTS: Final[dict[str, tuple[object, str, bool]]] = {
    "before the claim": (effects.Effects, "claim", False),
    "after the claim": (effects.Effects, "claim", True),
    "before the start": (SupervisedCommand, "start", False),
    "after the start": (SupervisedCommand, "start", True),
    "before the receipt": (effects.Effects, "settle", False),
    "after the receipt": (effects.Effects, "settle", True),
    "after the order is kept": (attempts.AttemptFolder, "keep", True),
    "after the worktree": (Worktrees, "make", True),
    "before the worktree is begun": (Worktrees, "mark", False),
    "after the worktree is begun": (Worktrees, "mark", True),
    "after git has added it": (workspaces, "add_worktree", True),
    "before the commit": (own_commits, "git", False),
    "after the commit": (frozen, "commit_all", True),
    "after the freezing": (changes, "freeze", True),
}


def die_at(data: Path, point: str, *orders: Intent) -> None:
    """Carry out orders in a host that dies at a point; fail if it came through."""
    lines = "".join(f"{_INTENT.dump_json(order).decode()}\n" for order in orders)
    done = subprocess.run(
        [sys.executable, "-m", "tests.harness.host_process", str(data), point],
        cwd=ROOT,
        input=lines.encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def _arm(point: str) -> None:
    if point == NEVER:
        return
    owner, name, after = POINTS[point]
    original: Callable[..., Any] = getattr(owner, name)

    def dying(*arguments: Any, **named: Any) -> Any:
        if after:
            original(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, dying)


async def _carry_out(host: LocalHost, order: object) -> None:
    match order:
        case PrepareWorkspace():
            await host.prepare_workspace(order)
        case FreezeChange():
            await host.freeze_change(order)
        case LaunchExecution():
            await host.launch(order, _NOWHERE)
        case SendReminder():
            await host.send(order, _NOWHERE)
        case InterruptExecution():
            await host.interrupt(order)
        case StartCheck():
            await host.start_check(order)
        case _:
            raise AssertionError(f"nobody carries out {order!r}")


async def _main(data: Path, point: str) -> None:
    orders = [_INTENT.validate_json(line) for line in sys.stdin.buffer.read().splitlines()]
    host = LocalHost(data, lambda _: None, {"scripted": ScriptedProvider()})
    await host.start()
    for order in orders[:-1]:
        await _carry_out(host, order)
    _arm(point)
    await _carry_out(host, orders[-1])
    await host.close()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), sys.argv[2]))
