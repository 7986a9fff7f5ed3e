"""``pointsman workspaces``: the worktrees that are on disk, and removing those nobody needs."""

import asyncio
from collections.abc import Sequence

from pointsman.runtime import discovery
from pointsman.runtime.cli import acting, names
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.reach import reading
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.gateway.workspaces import Workspaces
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.review_words import commit_in_short
from pointsman.runtime.wire.workspaces import WorkspaceView


def workspaces(call: Invocation, runs: Sequence[str], *, prune: bool) -> int:
    """List the worktrees of all runs or of those named; with ``prune`` remove what is removable."""
    with reading(call.data) as reader:
        run_ids = [names.resolve_run(name, reader) for name in runs]
        for run_id in run_ids:
            reader.run(run_id)
    return _prune(call, run_ids) if prune else _list(call, run_ids)


def _list(call: Invocation, run_ids: Sequence[str]) -> int:
    found = [each for each in _found(call) if not run_ids or each.run_id in run_ids]
    if call.terminal.json:
        call.terminal.document({"workspaces": found})
        return ExitCode.OK
    if not found:
        call.terminal.say("There is no worktree.")
        return ExitCode.OK
    _show(call, found)
    if any(each.removable for each in found):
        again = call.next_command("workspaces", "--prune", *map(names.short, run_ids))
        call.terminal.say(f"Remove what is removable with:  {again}")
    return ExitCode.OK


def _found(call: Invocation) -> list[WorkspaceView]:
    server = discovery.running_server(call.data)
    if server is not None:
        from pointsman.runtime.client import Client

        with Client(server.url, server.token) as client:
            return client.workspaces()
    return asyncio.run(_found_here(call))


async def _found_here(call: Invocation) -> list[WorkspaceView]:
    """Look at this machine's worktrees without a server; nothing is started or made."""
    from pointsman.actors.host import HostUnavailableError
    from pointsman.runtime.hosts.assembly import local_host
    from pointsman.runtime.journals import open_journal_read_only

    journal = open_journal_read_only(call.data)
    if journal is None:
        return []
    try:
        host = local_host(call.data, lambda subject: None)
        try:
            return (await Workspaces(journal, host).page()).workspaces
        finally:
            await host.close()
    except HostUnavailableError as error:
        raise PointsmanError("host_unavailable", str(error)) from error
    finally:
        journal.close()


def _prune(call: Invocation, run_ids: Sequence[str]) -> int:
    with acting.in_reach(call) as reach:
        reply = reach.ask(lambda client: client.prune_workspaces(run_ids))
    if call.terminal.json:
        call.terminal.document(reply)
        return ExitCode.OK
    if not reply.removed:
        call.terminal.say("Nothing was removed.")
    for each in reply.removed:
        call.terminal.show(f"removed  {names.short(each.run_id)}  {each.role}  {each.path}")
    for each in reply.kept:
        call.terminal.show(
            f"kept     {names.short(each.run_id)}  {each.role}  {each.path}: {each.why}"
        )
    return ExitCode.OK


def _show(call: Invocation, found: Sequence[WorkspaceView]) -> None:
    for each in found:
        at = f" at {commit_in_short(each.commit)}" if each.commit is not None else ""
        kept = "removable" if each.removable else "kept"
        call.terminal.show(f"{names.short(each.run_id)}  {each.role}{at}  {kept}: {each.why}")
        call.terminal.show(f"  {each.path}")
