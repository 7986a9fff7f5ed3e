"""Commands that act on a run: start it, wait for it, decide, cancel, let it go on.

Each asks the server in reach once (under one command id, so a lost answer does it no second
time), then tells the progress until the run has ended or waits for a person again.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman.graph.allowed import Action, AllowedAction
from pointsman.graph.problem import listed
from pointsman.graph.results import GateComment
from pointsman.runtime.cli import names, rendering
from pointsman.runtime.cli.background import ensure_server
from pointsman.runtime.cli.exit_codes import ExitCode, of_state
from pointsman.runtime.cli.following import Follower, rests
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.reach import Reach, reading
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.queries import RunView
from pointsman.runtime.repositories import inspect_repository

if TYPE_CHECKING:
    from pointsman.runtime.client import Client

_CANCEL_WAIT_S = 60.0


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
            return _detached(call, reach.client.run(run_id))
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


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decides at a gate, and as whom; without a name, as the system knows them."""

    action: Action
    note: str | None = None
    comments: tuple[GateComment, ...] = ()
    person: str | None = None
    roles: tuple[str, ...] = ()


def decide(call: Invocation, name: str, decision: Decision, *, detach: bool) -> int:
    """Approve the gate the run waits at, or request changes."""

    def ask(client: "Client", view: RunView, allowed: AllowedAction, command_id: str) -> None:
        client.decide_gate(
            view.run_id,
            gate_id=allowed.target,
            revision=revision_of(allowed),
            decision=decision.action.value,
            decided_by=decision.person or names.person(),
            roles=decision.roles,
            command_id=command_id,
            note=decision.note,
            comments=decision.comments,
        )

    return _act(call, name, decision.action, ask, detach=detach)


def resume(call: Invocation, name: str, *, detach: bool) -> int:
    """Let the interrupted native session go on."""

    def ask(client: "Client", view: RunView, allowed: AllowedAction, command_id: str) -> None:
        client.resume(
            view.run_id,
            attempt_id=allowed.target,
            revision=revision_of(allowed),
            requested_by=names.person(),
            command_id=command_id,
        )

    return _act(call, name, Action.RESUME, ask, detach=detach)


def retry(call: Invocation, name: str, *, detach: bool) -> int:
    """Have the unresolved visit tried again."""

    def ask(client: "Client", view: RunView, allowed: AllowedAction, command_id: str) -> None:
        client.retry(
            view.run_id,
            visit_id=allowed.target,
            revision=revision_of(allowed),
            requested_by=names.person(),
            command_id=command_id,
        )

    return _act(call, name, Action.RETRY, ask, detach=detach)


def answer(call: Invocation, name: str, *, allow: bool, text: str | None, detach: bool) -> int:
    """Answer what the agent asks a person; the first open question, if there are several."""

    def ask(client: "Client", view: RunView, allowed: AllowedAction, command_id: str) -> None:
        assert allowed.request_id is not None, f"{view.run_id} offers an answer to nothing"
        client.answer(
            view.run_id,
            attempt_id=allowed.target,
            request_id=allowed.request_id,
            allow=allow,
            answered_by=names.person(),
            command_id=command_id,
            text=text,
        )

    return _act(call, name, Action.ANSWER, ask, detach=detach)


def cancel(call: Invocation, name: str, reason: str | None) -> int:
    """End a run; answers when its processes are gone, or tells which are not."""
    with reading(call.data) as reader:
        run_id = names.resolve_run(name, reader)
        allowed_action(reader.run(run_id), Action.CANCEL)
    with in_reach(call) as reach:
        from pointsman.runtime.client import new_command_id

        command_id = new_command_id()
        reply = reach.ask(
            lambda client: client.cancel(
                run_id,
                requested_by=names.person(),
                command_id=command_id,
                reason=reason,
                wait_s=_CANCEL_WAIT_S,
            )
        )
        view = reach.client.run(run_id)
    left = {**dict.fromkeys(reply.still_ending, -1), **reply.processes_left}
    if call.terminal.json:
        call.terminal.document(rendering.outcome(call, view) | {"still_ending": sorted(left)})
    elif left:
        call.terminal.show(f"Canceled; processes of {listed(left)} could not be ended yet.")
    else:
        call.terminal.show("Canceled: nothing of it runs any more. Its branch is kept.")
    return ExitCode.NEEDS_PERSON if left else ExitCode.OK


_Ask = Callable[["Client", RunView, AllowedAction, str], None]


def _act(call: Invocation, name: str, action: Action, ask: _Ask, *, detach: bool) -> int:
    # Looked at before a server is started: a refusal should take no seconds.
    with reading(call.data) as reader:
        run_id = names.resolve_run(name, reader)
        view = reader.run(run_id)
        allowed = allowed_action(view, action)
    if detach:
        ensure_server(call.data, call.terminal)
    with in_reach(call) as reach:
        from pointsman.runtime.client import new_command_id

        command_id = new_command_id()
        follower = follow_on(call, reach, run_id)
        reach.ask(lambda client: ask(client, view, allowed, command_id))
        if detach:
            return _detached(call, reach.client.run(run_id))
        with resumable(call, run_id):
            view = follower.until_rest()
    return rested(call, view)


def allowed_action(view: RunView, action: Action) -> AllowedAction:
    """Return the action as the run's state offers it; raises ``not_allowed`` or ``run_ended``."""
    for each in view.allowed_actions:
        if each.action is action:
            return each
    if view.ended_at is not None:
        raise PointsmanError("run_ended", f"run {view.run_id} has ended: it is {view.state}")
    offered = listed(each.action.value for each in view.allowed_actions)
    raise PointsmanError(
        "not_allowed",
        f"run {view.run_id} is {view.state}; it allows: {offered}",
        {"state": view.state, "allowed": [each.action.value for each in view.allowed_actions]},
    )


def revision_of(allowed: AllowedAction) -> int:
    assert allowed.revision is not None, f"{allowed.action} needs a revision"
    return allowed.revision


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


def _detached(call: Invocation, view: RunView) -> int:
    if call.terminal.json:
        call.terminal.document(rendering.outcome(call, view))
    else:
        call.terminal.show(view.run_id)
        follow = call.next_command("wait", names.short(view.run_id))
        call.terminal.say(f"Durable and under way. Follow it with:  {follow}")
    return ExitCode.OK
