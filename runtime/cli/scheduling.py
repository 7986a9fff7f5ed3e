"""Commands about schedules. Keeping them needs no server; starting at their times does.

The running server is asked; without one, the journal itself is read and changed.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pointsman.actors.clock import SystemClock
from pointsman.runtime import discovery
from pointsman.runtime.cli import names
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.terminal import table
from pointsman.runtime.definitions import find_definition
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.scheduling.schedule_views import (
    OccurrenceReply,
    OccurrenceView,
    PutSchedule,
    RemoveSchedule,
    RunSchedule,
    ScheduleReply,
    SchedulesPage,
    ScheduleView,
)
from pointsman.runtime.scheduling.schedules import Schedules
from pointsman.storage.journal import Journal
from pointsman.storage.memory_journal import MemoryJournal

_OCCURRENCES_SHOWN = 10


class Keeper(Protocol):
    """Whoever keeps the schedules: a server, or this process on the journal."""

    def page(self) -> SchedulesPage: ...
    def get(self, name: str) -> ScheduleView: ...
    def occurrences(self, name: str, limit: int = 100) -> list[OccurrenceView]: ...
    def put(self, name: str, request: PutSchedule) -> ScheduleReply: ...
    def remove(self, name: str, request: RemoveSchedule) -> ScheduleReply: ...


class _OwnKeeper(Schedules):
    """Keeps schedules in this process; nothing fires them then."""

    def page(self) -> SchedulesPage:
        return SchedulesPage(schedules=self.all(), firing=False, trouble=None)


@contextlib.contextmanager
def keeping(call: Invocation, *, writes: bool = True) -> Iterator[Keeper]:
    """Give the running server to speak to, or else the journal; reading makes no journal."""
    with contextlib.ExitStack() as undo:
        server = discovery.running_server(call.data)
        if server is not None:
            from pointsman.runtime.scheduling.schedule_client import ScheduleClient

            client = ScheduleClient(server.url, server.token)
            undo.callback(client.close)
            yield client
            return
        journal = _own_journal(call, writes=writes)
        undo.callback(journal.close)
        yield _OwnKeeper(journal, SystemClock())


def _own_journal(call: Invocation, *, writes: bool) -> Journal:
    """Open the journal. Several processes may have it open: no server has to be asked first."""
    from pointsman.runtime.journals import make_data_directory, open_journal

    if writes:
        with discovery.usable(call.data):
            make_data_directory(call.data)
    elif not call.data.journal.exists():
        return MemoryJournal()  # as empty as the directory
    return open_journal(call.data.journal, read_only=not writes)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A schedule in the words of the command line."""

    workflow: str
    cron: str
    zone: str
    repository: Path
    assignments: Sequence[str]
    missed: str
    overlap: str


def add(call: Invocation, name: str, wanted: Wanted, *, replace: bool) -> int:
    """Make a schedule, or with ``replace`` take the place of one."""
    repository = wanted.repository.absolute()
    workflow = _absolute_file(wanted.workflow)
    definition = find_definition(workflow, repository)
    with keeping(call) as keeper:
        revision = keeper.get(name).revision if replace else None
        request = {
            "command_id": _command_id(),
            "workflow": workflow,
            "repository": str(repository),
            "inputs": names.read_inputs(definition.workflow, wanted.assignments),
            "cron": wanted.cron,
            "zone": wanted.zone,
            "missed": str(wanted.missed),
            "overlap": str(wanted.overlap),
            "requested_by": names.person(),
            "expected_revision": revision,
        }
        keeper.put(name, PutSchedule.model_validate(request))
        return _tell(call, keeper, name)


def enable(call: Invocation, name: str, *, enabled: bool) -> int:
    """Pause or resume a schedule; one that is so already stays as it is."""
    with keeping(call) as keeper:
        now = keeper.get(name)
        if now.enabled is not enabled:
            request = {
                "command_id": _command_id(),
                "workflow": now.workflow,
                "repository": now.repository,
                "inputs": now.inputs,
                "cron": now.cron,
                "zone": now.zone,
                "missed": now.missed,
                "overlap": now.overlap,
                "enabled": enabled,
                "requested_by": names.person(),
                "expected_revision": now.revision,
            }
            keeper.put(name, PutSchedule.model_validate(request))
        return _tell(call, keeper, name)


def remove(call: Invocation, name: str) -> int:
    """Remove a schedule as it is now."""
    with keeping(call) as keeper:
        request = RemoveSchedule(
            command_id=_command_id(),
            requested_by=names.person(),
            expected_revision=keeper.get(name).revision,
        )
        reply = keeper.remove(name, request)
    if call.terminal.json:
        call.terminal.document(reply)
    else:
        call.terminal.show(f"Removed {name}; the runs it has started are kept.")
    return ExitCode.OK


def run(call: Invocation, name: str, *, detach: bool) -> int:
    """Start a schedule's workflow now and follow the run; with ``detach`` only start it."""
    from pointsman.runtime.cli import acting
    from pointsman.runtime.cli.background import ensure_server
    from pointsman.runtime.cli.following import Follower

    with keeping(call, writes=False) as keeper:
        keeper.get(name)  # a wrong name should start no server
    ensure_server(call.data, call.terminal)
    with keeping(call) as keeper, acting.in_reach(call) as reach:
        from pointsman.runtime.scheduling.schedule_client import ScheduleClient

        assert isinstance(keeper, ScheduleClient), "the server went away as soon as it came up"
        request = RunSchedule(command_id=_command_id(), requested_by=names.person())
        reply = keeper.run(name, request)
        run_id = reply.occurrence.run_id
        if run_id is None:
            return _told_waiting(call, reply)
        if detach and call.terminal.json:
            call.terminal.document(reply)
            return ExitCode.OK
        if detach:
            return acting.detached(call, reach.client.run(run_id))
        with acting.resumable(call, run_id):
            view = Follower(reach, call.terminal, run_id).until_rest()
    return acting.rested(call, view, {"occurrence_id": reply.occurrence.occurrence_id})


def _told_waiting(call: Invocation, reply: OccurrenceReply) -> int:
    if call.terminal.json:
        call.terminal.document(reply)
    else:
        told = f"{reply.occurrence.occurrence_id} is durable, but its start could not be judged yet"
        call.terminal.show(f"{told}; the server tries it again (see server.log).")
    return ExitCode.OK


def schedules(call: Invocation) -> int:
    """List schedules with their next times and what came of the last one."""
    with keeping(call, writes=False) as keeper:
        page = keeper.page()
    if call.terminal.json:
        call.terminal.document(page)
        return ExitCode.OK
    if not page.schedules:
        call.terminal.say(f"There is no schedule in {call.data.path}.")
        return ExitCode.OK
    shown = [
        (
            each.schedule_id,
            each.next[0] if each.next else "paused" if not each.enabled else "never",
            f"{each.cron} {each.zone}",
            each.workflow if "/" not in each.workflow else Path(each.workflow).name,
            _when(each.last) if each.last is not None else "",
            _came_of(each.last) if each.last is not None else "not yet",
        )
        for each in page.schedules
    ]
    columns = {"schedule": "bold", "next": "", "at": "", "workflow": "", "last": "", "which": ""}
    call.terminal.show(table(columns, shown))
    for each in page.schedules:
        if each.last is not None and each.last.state == "refused" and each.last.reason is not None:
            reason = each.last.reason
            call.terminal.show(f"{each.schedule_id}: {reason.code}: {reason.message}")
    _tell_firing(call, page)
    return ExitCode.OK


def show(call: Invocation, name: str) -> int:
    """Show one schedule and its latest occurrences."""
    with keeping(call, writes=False) as keeper:
        return _tell(call, keeper, name)


def _tell(call: Invocation, keeper: Keeper, name: str) -> int:
    view, page = keeper.get(name), keeper.page()
    occurrences = keeper.occurrences(name, _OCCURRENCES_SHOWN)
    if call.terminal.json:
        told = {"occurrences": occurrences, "firing": page.firing, "trouble": page.trouble}
        call.terminal.document(view.model_dump(mode="json") | told)
        return ExitCode.OK
    state = "on" if view.enabled else "paused"
    call.terminal.show(f"{view.schedule_id} is {state} (revision {view.revision})", style="bold")
    rows = {
        "workflow": view.workflow,
        "in": view.repository,
        "at": f"{view.cron} in {view.zone}",
        "next": ", ".join(view.next) or "nothing",
        "missed": f"start {view.missed}; {view.passed_over} passed over so far",
        "overlap": view.overlap,
        **{f"input {key}": str(value) for key, value in view.inputs.items()},
    }
    for key, value in rows.items():
        call.terminal.show(f"  {key:<11}{value}")
    if occurrences:
        shown = [
            (_when(each), each.trigger, _came_of(each), names.short(each.run_id or ""))
            for each in occurrences
        ]
        columns = {"when": "", "by": "", "what came of it": "", "run": "bold"}
        call.terminal.show()
        call.terminal.show(table(columns, shown))
    for each in occurrences[:1]:
        if each.reason is not None:
            call.terminal.show(f"{each.reason.code}: {each.reason.message}")
    _tell_firing(call, page)
    return ExitCode.OK


def _tell_firing(call: Invocation, page: SchedulesPage) -> None:
    """Say what keeps schedules from starting, if anything does."""
    if page.trouble is not None:
        call.terminal.say(f"The scheduler is in trouble: {page.trouble}", style="bold red")
    elif not page.firing:
        serve = call.next_command("serve")
        call.terminal.say(
            f"Nothing starts now: schedules fire only while a server runs:  {serve}",
            style="bold yellow",
        )


def _when(occurrence: OccurrenceView) -> str:
    return (occurrence.slot or occurrence.created_at)[:16] + "Z"


def _came_of(occurrence: OccurrenceView) -> str:
    """Say what came of an occurrence: its run's state, or why there is no run."""
    if occurrence.run_state is not None:
        return f"run {occurrence.run_state}"
    if occurrence.reason is not None:
        return f"{occurrence.state}: {occurrence.reason.code}"
    return occurrence.state


def _absolute_file(workflow: str) -> str:
    """Return a file's path as an absolute one: here it is meant from the current folder."""
    is_file = workflow.endswith((".yaml", ".yml")) or "/" in workflow
    return str(Path(workflow).absolute()) if is_file else workflow


def _command_id() -> str:
    from pointsman.runtime.client import new_command_id

    return new_command_id()
