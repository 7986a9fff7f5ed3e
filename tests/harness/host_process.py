"""A local host in a process of its own that kills itself at a named point.

Run as a program it takes a data folder, a point and orders (JSON lines on standard input), and
carries the orders out one after the other; at the point it dies by SIGKILL, as a machine might.
``die_at`` is how a test uses it.
"""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from pointsman.actors.crash_points import arm
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
from pointsman.runtime.hosts.local import LocalHost
from pointsman.runtime.providers.scripted import ScriptedProvider

ROOT: Final = Path(__file__).parents[2]
_INTENT: Final[TypeAdapter[Any]] = TypeAdapter(Intent)
_NOWHERE: Final = ReportingAccess(url="http://127.0.0.1:9/mcp", token="token-of-the-first-host")

# The host is killed by something else.
NEVER: Final = "never"
# The places of ``crash_points`` as tests of one effect call them.
POINTS: Final = {
    "before the claim": "before_claim",
    "after the claim": "after_claim",
    "before the start": "before_start",
    "after the start": "after_start",
    "before the receipt": "before_receipt",
    "after the receipt": "after_receipt",
    "after the order is kept": "after_record:1",
    "after the worktree": "after_record:3",
    "before the worktree is begun": "before_record:2",
    "after the worktree is begun": "before_worktree",
    "after git has added it": "after_worktree",
    "before the commit": "before_own_commit",
    "after the commit": "after_own_commit",
    "after the freezing": "after_freeze",
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
    if point != NEVER:
        arm(POINTS[point])
    await _carry_out(host, orders[-1])
    await host.close()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), sys.argv[2]))
