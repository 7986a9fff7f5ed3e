"""Commands that only look: runs, one run, its trace, its output, and what needs a person.

None of them starts anything. Without a server they read the journal and the host's log files.
"""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pointsman.actors.clock import SystemClock
from pointsman.runtime import discovery
from pointsman.runtime.cli import names, rendering, trace_lines
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.reach import Reader, reading
from pointsman.runtime.cli.review_tables import show_reviews
from pointsman.runtime.cli.terminal import table
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.views.attention import AttentionView
from pointsman.runtime.views.queries import RunView
from pointsman.runtime.views.review_words import commit_in_short

# The scripted agent's own line; the receipt in it stands in the trace, too.
_ACCEPTED: Final = re.compile(r'report: \{"ok": true, .*"receipt.*\}')


def runs(call: Invocation, states: tuple[str, ...], limit: int) -> int:
    """List runs, newest first."""
    with reading(call.data) as reader:
        rows = reader.runs(states, limit)
    if call.terminal.json:
        call.terminal.document({"runs": rows})
        return ExitCode.OK
    if not rows:
        what = "no such run" if states else "no run yet"
        call.terminal.say(f"There is {what} in {call.data.path}.")
        return ExitCode.OK
    shown = [
        (
            names.short(row.run_id),
            row.state,
            row.node or "",
            row.workflow_id,
            ago(row.updated_at),
            Path(row.repository).name,
        )
        for row in rows
    ]
    columns = {"run": "bold", "state": "", "at": "", "workflow": "", "changed": "", "in": "dim"}
    call.terminal.show(table(columns, shown))
    return ExitCode.OK


def ago(moment: str) -> str:
    """Say how long ago a moment of the journal was."""
    now = datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC)
    seconds = max(0, int((now - datetime.fromisoformat(moment)).total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit} ago"
    return f"{seconds} s ago"


def show(call: Invocation, name: str) -> int:
    """Show one run as it is now."""
    with reading(call.data) as reader:
        view = reader.run(names.resolve_run(name, reader))
    if call.terminal.json:
        steps = [command for _, command in rendering.next_steps(call, view)]
        call.terminal.document(view.model_dump(mode="json") | {"next": steps})
        return ExitCode.OK
    rendering.show_rest(call, view)
    call.terminal.show(
        f"  {'workflow':<11}{view.workflow.name} (revision {view.workflow.revision})"
    )
    for key, value in view.inputs.items():
        call.terminal.show(f"  {'input':<11}{key} = {value}")
    call.terminal.show(f"  {'visits':<11}{view.visits_used} of {view.visits_max}")
    _show_results(call, view)
    show_reviews(call, view)
    _show_comments(call, view)
    return ExitCode.OK


def _show_results(call: Invocation, view: RunView) -> None:
    rows = [
        (node, str(view.visits.get(node, 0)), _result(view.results[node]))
        for node in view.visits
        if node in view.results
    ]
    if rows:
        call.terminal.show()
        call.terminal.show(table({"node": "bold", "visits": "", "latest result": ""}, rows))


def _show_comments(call: Invocation, view: RunView) -> None:
    for heading, lines in rendering.comments(view):
        call.terminal.show()
        call.terminal.show(heading, style="bold")
        for line in lines:
            call.terminal.show(f"  {line}")


def _result(result: dict[str, object]) -> str:
    match result:
        case {"kind": "check", "exit_code": code, "duration_s": duration}:
            return f"exit {code} after {duration:.1f} s"
        case {"kind": "report", "outcome": outcome, "summary": summary}:
            return f"claims {outcome}: {summary}"
        case {"kind": "join", "frozen_commit": str(commit), "reports": dict(reports)}:
            return f"{len(reports)} reviews of {commit_in_short(commit)}"
        case {"kind": "gate", "decision": decision, "decided_by": person, "comments": comments}:
            said = f" ({len(comments)} comments)" if isinstance(comments, list) and comments else ""
            return f"{decision} by {person}{said}"
        case _:
            return str(result.get("kind"))


def trace(call: Invocation, name: str, *, full: bool) -> int:
    """Tell everything that happened in a run, with the conditions each route was chosen by."""
    with reading(call.data) as reader:
        entries = reader.trace(names.resolve_run(name, reader))
    if call.terminal.json:
        for entry in entries:
            call.terminal.row(entry)
        return ExitCode.OK
    for line in trace_lines.lines(entries, full=full):
        call.terminal.show(line)
    return ExitCode.OK


def attention(call: Invocation, limit: int) -> int:
    """List what waits for a person, the longest waiting first, each with what to do."""
    with reading(call.data) as reader:
        items = reader.attention(limit)
        others = {
            item.item_id: rendering.other_steps(call, reader.run(item.run_id))
            if item.kind == "awaiting_review" and item.run_id is not None
            else []
            for item in items
        }
        steps = {item.item_id: _first_step(call, reader, item) for item in items}
    if call.terminal.json:
        shown = [item.model_dump(mode="json") | {"next": steps[item.item_id]} for item in items]
        call.terminal.document({"items": shown})
        return ExitCode.OK
    if not items:
        call.terminal.say("Nothing waits for a person.")
    for item in items:
        place = f"{item.node} {item.branch}" if item.branch is not None else item.node
        place = place or item.run_id or item.item_id
        call.terminal.show(f"{item.title}  ({place}, {ago(item.since)})", style="bold")
        call.terminal.show(f"  {' '.join(item.detail.split())}")
        if steps[item.item_id] is not None:
            call.terminal.show(f"  {steps[item.item_id]}")
        for step in others[item.item_id]:
            call.terminal.show(f"  {step}")
    return ExitCode.OK


def _first_step(call: Invocation, reader: Reader, item: AttentionView) -> str | None:
    """Return the command that a person would begin with."""
    if item.schedule_id is not None:
        return call.next_command("schedule", "show", item.schedule_id)
    # A run in trouble may not even be readable; its item says all there is to do.
    if item.run_id is None or item.kind == "run_in_trouble":
        return None
    return rendering.first_step(call, reader.run(item.run_id), item.branch)


def logs(call: Invocation, name: str, *, follow: bool) -> int:
    """Print what a run's agents and checks have printed; with ``follow``, until the run ends."""
    with reading(call.data) as reader:
        run_id = names.resolve_run(name, reader)
        ended = reader.run(run_id).ended_at is not None
    server = discovery.running_server(call.data)
    if follow and not ended and server is not None:
        return _follow_logs(call, run_id, server)
    # Reading log files needs the host's layout, not a host.
    from pointsman.runtime.hosts.assembly import output_logs

    logs = output_logs(call.data, run_id)
    for subject, path in logs:
        _print_log(call, subject, path)
    if not any(path.stat().st_size for _, path in logs):
        call.terminal.say("There is no output: no agent or check of this run has printed anything.")
    if follow and not ended:
        again = call.next_command("wait", names.short(run_id))
        call.terminal.say(
            f"No server is running, so nothing follows; the run goes on with:  {again}"
        )
    return ExitCode.OK


def _follow_logs(call: Invocation, run_id: str, server: discovery.ServerAddress) -> int:
    from pointsman.runtime.client import Client

    with Client(server.url, server.token) as client:
        for event in client.output(run_id):
            if event.event == "output":
                _print_line(call, event.data["subject"], event.data["line"])
    return ExitCode.OK


def _print_log(call: Invocation, subject: str, path: Path) -> None:
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            _print_line(call, subject, line.rstrip("\r\n"))


def _print_line(call: Invocation, subject: str, line: str) -> None:
    if call.terminal.json:
        call.terminal.row({"subject": subject, "line": line})
    else:
        call.terminal.show(f"{subject.partition('.')[2]} | {readable(line)}")


def readable(line: str) -> str:
    """Shorten what the scripted agent prints of an accepted report; --json has the receipt."""
    return "reported: accepted" if _ACCEPTED.fullmatch(line) else line
