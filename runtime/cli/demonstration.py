"""``pointsman demo``: a whole run on a sample project, from its start to a person's approval.

The demonstration is an ordinary run of a packaged workflow; a scripted agent stands in for the
model, and everything else is real. One that was cut off, however hard, is gone on with.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any, Final

from pointsman.graph import ids
from pointsman.graph.allowed import Action
from pointsman.graph.problem import listed
from pointsman.runtime.cli import acting, names, rendering, steering
from pointsman.runtime.cli.demo_project import (
    TASK,
    WORKFLOW,
    make_project,
    remove_projects,
)
from pointsman.runtime.cli.following import Follower, rests
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.reach import Reach, Reader, reading
from pointsman.runtime.exit_codes import of_state
from pointsman.runtime.views.queries import RunRow, RunView, TraceEntry
from pointsman.runtime.worktrees.git import GitError, git

_ENDED: Final = frozenset({"completed", "failed", "canceled"})


def demo(call: Invocation, *, approve: bool, keep: bool) -> int:
    """Run the demonstration, or go on with the one that was cut off."""
    _put_python_on_path()
    with reading(call.data) as reader:
        mine = _demo_runs(call, reader)
        unfinished = next((row for row in mine if row.state not in _ENDED), None)
        if unfinished is not None:
            _tell_unfinished(call, unfinished)
            view = reader.run(unfinished.run_id)
            if rests(view) and not approve:
                return _show(call, view, reader.trace(view.run_id), went_on=True)
    if not keep:
        kept = {Path(row.repository) for row in mine if row.state not in _ENDED}
        remove_projects(call.data.demo, frozenset(kept))
    with acting.in_reach(call) as reach:
        run_id = unfinished.run_id if unfinished is not None else _start(call, reach)
        follower = Follower(reach, call.terminal, run_id)
        with acting.resumable(call, run_id):
            view = follower.until_rest()
            if approve and view.state == "awaiting_review":
                _approve(call, reach, view)
                view = follower.until_rest()
        entries = reach.client.trace(run_id)
    return _show(call, view, entries, went_on=unfinished is not None)


def _put_python_on_path() -> None:
    """Let the sample's tests find a ``python3``, also where the environment is empty."""
    if shutil.which("python3") is None:
        folder = str(Path(sys.executable).parent)
        os.environ["PATH"] = os.pathsep.join((folder, os.environ.get("PATH", os.defpath)))


def _demo_runs(call: Invocation, reader: Reader) -> list[RunRow]:
    folder = call.data.demo.resolve()
    rows = reader.runs(limit=names.SEARCHED_RUNS_MAX)
    return [row for row in rows if folder in Path(row.repository).resolve().parents]


def _tell_unfinished(call: Invocation, row: RunRow) -> None:
    short = names.short(row.run_id)
    said = "waits for you" if row.state == "awaiting_review" else "is not finished"
    call.terminal.say(
        f"An earlier demonstration ({short}) {said}; going on with it from its journal."
    )


def _start(call: Invocation, reach: Reach) -> str:
    from pointsman.runtime.client import new_command_id

    project = make_project(call.data.demo)
    definition = names.find_definition(WORKFLOW, project)
    call.terminal.say(f"A sample project with one failing test is in {project}.")
    call.terminal.say(f"Task: {TASK}")
    command_id = new_command_id()
    reply = reach.ask(
        lambda client: client.start(
            definition=definition.text,
            source=definition.source,
            repository=str(project),
            inputs={"task": TASK},
            started_by=names.person(),
            command_id=command_id,
        )
    )
    return reply.run_id


def _approve(call: Invocation, reach: Reach, view: RunView) -> None:
    """Approve at the gate, as the person at the terminal asked for beforehand."""
    from pointsman.runtime.client import new_command_id

    asked = steering.decision("Approved by pointsman demo --approve")
    gate = steering.offered(call, view, Action.APPROVE)
    request = asked(gate, names.person(), new_command_id())
    reach.ask(lambda client: client.act(view.run_id, request))


def _show(call: Invocation, view: RunView, entries: list[TraceEntry], *, went_on: bool) -> int:
    stat = _diff_stat(view)
    routes = [_route(entry) for entry in entries if entry.kind == "route_taken"]
    if call.terminal.json:
        more = {
            "routes": routes,
            "checks": _checks(entries),
            "reviews": _reviews(entries),
            "diff_stat": stat,
            "went_on": went_on,
        }
        call.terminal.document(rendering.outcome(call, view) | more)
        return of_state(view.state)
    call.terminal.say()
    call.terminal.show(rendering.headline(view), style=rendering.STATE_STYLES[view.state])
    call.terminal.show()
    for line in (stat or "").splitlines():
        call.terminal.show(f"  {line.strip()}")
    if stat:
        call.terminal.show()
    exits = [f"visit {each['visit']} exit {each['exit_code']}" for each in _checks(entries)]
    call.terminal.show(f"  unit-tests  {listed(exits)}")
    for review in _reviews(entries):
        verdicts = [f"{name} {said['verdict']}" for name, said in review["branches"].items()]
        call.terminal.show(f"  review      {review['frozen_commit'][:10]}: {listed(verdicts)}")
    call.terminal.show(f"  branch      {view.branch} in {view.repository}")
    _show_next(call, view)
    return of_state(view.state)


def _show_next(call: Invocation, view: RunView) -> None:
    if view.state == "awaiting_review":
        call.terminal.show()
        call.terminal.show(f"Next:  {call.next_command('approve', names.LAST)}", style="bold")
    elif view.state == "completed":
        call.terminal.show()
        call.terminal.show(f"All of it:  {call.next_command('trace', names.LAST)}")
    else:
        for purpose, command in rendering.next_steps(call, view):
            call.terminal.show(f"  {purpose:<12}{command}")


def _diff_stat(view: RunView) -> str | None:
    if view.branch is None:
        return None
    try:
        changed = f"{view.base_commit}...{view.branch}"
        return git(Path(view.repository), "diff", "--stat", changed).rstrip("\n")
    except GitError:
        return None


def _route(entry: TraceEntry) -> dict[str, Any]:
    kept = ("from_node", "to", "reason", "rule", "counted")
    return {name: entry.data[name] for name in kept}


def _reviews(entries: list[TraceEntry]) -> list[dict[str, Any]]:
    """Return each join's result, with what its branches reported on the frozen commit."""
    reports = {
        entry.data["attempt_id"]: entry.data for entry in entries if entry.kind == "report_accepted"
    }
    found = []
    for entry in entries:
        if entry.kind == "join_committed":
            branches = {
                each["branch"]: {
                    "outcome": each["outcome"],
                    "attempt_id": each["attempt_id"],
                    "verdict": reports.get(each["attempt_id"], {}).get("data", {}).get("verdict"),
                }
                for each in entry.data["branches"]
            }
            kept = ("review_set_id", "frozen_commit", "outcome")
            found.append({name: entry.data[name] for name in kept} | {"branches": branches})
    return found


def _checks(entries: list[TraceEntry]) -> list[dict[str, Any]]:
    """Return how each start of a check ended."""
    found = []
    for entry in entries:
        if entry.kind == "check_ended":
            check = entry.data["check_id"]
            place, try_number = ids.place_of(check), check.rpartition(".")[2]
            state = entry.data["state"]
            found.append(
                {
                    "node": place.node,
                    "visit": int(place.visit.rpartition(".")[2]),
                    "try": int(try_number),
                    "exit_code": state.get("exit_code"),
                }
            )
    return found
