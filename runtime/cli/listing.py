"""The list of workflows: what a repository can run here, and why something of it cannot be run.

The running server is asked, as it knows its host; without one, the files and the providers of
this machine are looked at directly.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from pointsman.runtime import discovery
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.terminal import table
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.workflows import Surroundings, WorkflowRow, rows
from pointsman.runtime.worktrees.repositories import inspect_repository
from pointsman.storage.placed_text import PlacedProblem


def workflows(call: Invocation, repository: Path) -> int:
    """List what a run can be started of; broken and not runnable files with their reasons."""
    if not repository.is_dir():
        raise PointsmanError("repository_missing", f"there is no folder {repository}")
    found = _found(call, repository.absolute())
    if call.terminal.json:
        call.terminal.document({"workflows": found})
        return ExitCode.OK
    shown = [
        (
            each.id,
            each.file if each.origin == "project" else "example",
            _state(each),
            each.name or "",
        )
        for each in found
    ]
    columns = {"workflow": "bold", "from": "", "state": "", "name": ""}
    call.terminal.show(table(columns, shown))
    for each in found:
        for line in _reasons(each):
            call.terminal.show(line)
    return ExitCode.OK


def _found(call: Invocation, repository: Path) -> list[WorkflowRow]:
    server = discovery.running_server(call.data)
    if server is not None:
        from pointsman.runtime.client import Client

        with Client(server.url, server.token) as client:
            return client.workflows(str(repository))
    from pointsman.runtime.hosts.assembly import capabilities

    # A start looks for skills in the repository's top folder, so this does too.
    top = Path(getattr(inspect_repository(str(repository)), "path", repository))
    around = Surroundings(asyncio.run(capabilities()), top, Path.home())
    return rows(repository, around)


def _state(row: WorkflowRow) -> str:
    if row.problems:
        return "broken"
    return "runnable" if row.runnable else "not runnable"


def _reasons(row: WorkflowRow) -> Iterator[str]:
    if row.origin == "example" and {each.code for each in row.not_runnable} == {"skill_missing"}:
        yield f"{row.id}: needs the demonstration's sample project (pointsman demo)"
        return
    reasons = row.problems or row.not_runnable
    for problem in reasons[:3]:
        yield _reason(problem)
    if row.problem_count > 3:
        yield f"{row.file}: {row.problem_count - 3} more; see validate"


def _reason(problem: PlacedProblem) -> str:
    at = f"{problem.file}:{problem.line}:{problem.column}"
    return f"{at}: {problem.code}: {problem.message}; {problem.mend}"
