"""Commands that start a run or wait for it, and what all commands that act on runs share.

Each asks the server in reach once (under one command id, so a lost answer does it no second
time), then tells the progress until the run has ended or waits for a person again.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman.runtime.cli import names, rendering
from pointsman.runtime.cli.background import ensure_server
from pointsman.runtime.cli.following import Follower, rests
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.reach import Reach, reading
from pointsman.runtime.exit_codes import ExitCode, of_state
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.queries import RunView
from pointsman.runtime.worktrees.repositories import inspect_repository

if TYPE_CHECKING:
    from pointsman.runtime.client import Client


def run(
    call: Invocation, wanted: str, repository: Path, assignments: Sequence[str], *, detach: bool
) -> int:
    """Start a run and follow it; with ``detach`` answer as soon as it is durable."""
    definition = names.find_definition(wanted, repository)
    inputs = names.read_inputs(definition.workflow, assignments)
    refuse_repository(repository)
    if detach:
        ensure_server(call.data, call.terminal)

    def start(client: "Client") -> str:
        reply = client.start(
            definition=definition.text,
            source=definition.source,
            repository=str(repository.absolute()),
            inputs=inputs,
            started_by=names.person(),
            command_id=command_id,
        )
        return reply.run_id

    with in_reach(call) as reach:
        from pointsman.runtime.client import new_command_id

        command_id = new_command_id()
        run_id = reach.ask(start)
        if detach:
            return detached(call, reach.client.run(run_id))
        with resumable(call, run_id):
            view = Follower(reach, call.terminal, run_id).until_rest()
    return rested(call, view)


def refuse_repository(repository: Path) -> None:
    """Refuse what git cannot work on before anything is started: the server would refuse it too."""
    found = inspect_repository(str(repository.absolute()))
    mend = getattr(found, "mend", None)
    if mend is not None:
        raise PointsmanError(found.code, f"{found.message} {mend}")  # type: ignore[union-attr]


def wait(call: Invocation, name: str) -> int:
    """Wait until a run has ended or waits for a person; without a server, be its server."""
    with reading(call.data) as reader:
        run_id = names.resolve_run(name, reader)
        view = reader.run(run_id)
    if not rests(view):
        with in_reach(call) as reach, resumable(call, run_id):
            view = follow_on(call, reach, run_id).until_rest()
    return rested(call, view)


def follow_on(call: Invocation, reach: Reach, run_id: str) -> Follower:
    """Follow a run from now on."""
    follower = Follower(reach, call.terminal, run_id)
    follower.skip(reach.client.trace(run_id))
    return follower


@contextlib.contextmanager
def in_reach(call: Invocation) -> Iterator[Reach]:
    """Have a server in reach, telling why it takes a moment when one has to be started."""
    from pointsman.runtime.discovery import running_server

    if running_server(call.data) is None:
        call.terminal.say("Starting Pointsman in this process …", style="dim")
    with Reach(call.data, call.terminal) as reach:
        yield reach


@contextlib.contextmanager
def resumable(call: Invocation, run_id: str) -> Iterator[None]:
    """Tell whoever presses Ctrl-C how the run goes on; nothing of it is lost."""
    try:
        yield
    except KeyboardInterrupt:
        again = call.next_command("wait", names.short(run_id))
        call.terminal.say()
        call.terminal.say(f"Stopped. The run is durable; it goes on with:  {again}", style="bold")
        raise


def rested(call: Invocation, view: RunView, more: dict[str, Any] | None = None) -> int:
    """Tell how a run rests and what to do next; return the exit code of its state."""
    if call.terminal.json:
        call.terminal.document(rendering.outcome(call, view) | (more or {}))
    else:
        rendering.show_rest(call, view)
    return of_state(view.state)


def detached(call: Invocation, view: RunView) -> int:
    """Tell that what was asked is durable and under way."""
    if call.terminal.json:
        call.terminal.document(rendering.outcome(call, view))
    else:
        call.terminal.show(view.run_id)
        follow = call.next_command("wait", names.short(view.run_id))
        call.terminal.say(f"Durable and under way. Follow it with:  {follow}")
    return ExitCode.OK
