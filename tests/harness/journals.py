"""Made-up transitions for tests of the journal: small, self-consistent, and told apart by numbers.

They need not be legal histories: the journal stores runs and does not judge them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from pointsman.graph import ids
from pointsman.graph.definition import Workflow
from pointsman.graph.events import Event, RecordedEvent, RouteReason, RouteTaken, RunStarted
from pointsman.graph.intents import Intent, SendReminder
from pointsman.graph.project import project
from pointsman.graph.projection import (
    AttentionItem,
    AttentionKind,
    Deadline,
    DeadlineKind,
    Projection,
    RunSummary,
)
from pointsman.graph.run import Run, RunState
from pointsman.storage.journal import Journal, TokenBinding, Transition
from pointsman.storage.lmdb_journal import LmdbJournal
from pointsman.storage.memory_journal import MemoryDisk, MemoryJournal
from pointsman.storage.receipts import CommandReceipt
from tests.harness.core import Process

WORKFLOW: Final = Workflow.model_validate_json(
    """{"pointsman": 1, "id": "gated", "name": "One gate", "entry": "approve", "nodes": {
        "approve": {"kind": "gate", "title": "Approve", "decisions": {"approve": "done"}},
        "done": {"kind": "end"}}}"""
)

Json: TypeAlias = dict[str, bool | int | float | str]


class DumpingJournal(Journal, Protocol):
    """What both journals are to tests: the port, and all their rows."""

    def dump(self) -> Mapping[Any, Mapping[bytes, bytes]]: ...


# Opens the journal again that was closed before, as a restarted process would.
OpenJournal: TypeAlias = Callable[[], DumpingJournal]


def memory_opener(_folder: Path) -> OpenJournal:
    disk = MemoryDisk()
    return lambda: MemoryJournal(disk)


def lmdb_opener(folder: Path) -> OpenJournal:
    return lambda: LmdbJournal.open(folder / "journal")


def run_id(number: int) -> str:
    """Name the run that was started ``number``-th."""
    return ids.run_id(0, f"{number:026d}")


def started(run: str, inputs: Json | None = None) -> RunStarted:
    return RunStarted(
        run_id=run,
        workflow=WORKFLOW,
        definition_digest="0" * 64,
        definition_source="test",
        inputs=inputs or {},
        repository="/repository",
        base_commit="c0ffee",
        base_branch=None,
        left_out=(),
        started_by="tester",
    )


def recorded(run: str, first: int, count: int) -> tuple[RecordedEvent, ...]:
    """Return ``count`` events of a run from a sequence on; the first of all starts the run."""
    return tuple(
        RecordedEvent(run_id=run, sequence=sequence, at_ms=1_000 + sequence, event=event)
        for sequence in range(first, first + count)
        for event in (_event(run, sequence),)
    )


def _event(run: str, sequence: int) -> Event:
    if sequence == 0:
        return started(run)
    return RouteTaken(
        from_node=None,
        from_visit_id=None,
        route=f"route {sequence}",
        reason=RouteReason.NEXT,
        to="approve",
    )


def folded(run: str, version: int, inputs: Json) -> Run:
    """Return a checkpoint of a run at a version."""
    event = started(run, inputs)
    fields = {name: getattr(event, name) for name in RunStarted.model_fields if name != "kind"}
    return Run(version=version, started_at_ms=1_000, updated_at_ms=1_000 + version, **fields)


def an_intent(run: str, number: int, text: str = "remember the report") -> Intent:
    return SendReminder(
        intent_id=f"wf:{run}.{number}:remind", run_id=run, attempt_id=f"{run}.{number}", text=text
    )


def a_deadline(run: str, due_at_ms: int, number: int = 1) -> Deadline:
    return Deadline(
        deadline_id=f"{run}.{number}:timeout",
        run_id=run,
        kind=DeadlineKind.EXECUTION_TIMEOUT,
        due_at_ms=due_at_ms,
    )


def an_item(run: str, since_ms: int, number: int = 1, title: str = "Approve") -> AttentionItem:
    return AttentionItem(
        item_id=f"{run}.{number}:review",
        run_id=run,
        kind=AttentionKind.AWAITING_REVIEW,
        node="approve",
        title=title,
        detail="decide",
        since_ms=since_ms,
    )


def a_receipt(run: str, command_id: str, scope: str | None = None) -> CommandReceipt:
    reply = b'{"run_id": "' + run.encode() + b'"}'
    return CommandReceipt(scope or run, command_id, "digest of " + command_id, run, reply)


def a_transition(
    run: str,
    first: int = 0,
    *,
    token: int = 1,
    count: int = 1,
    state: RunState = RunState.RUNNING,
    open_work: Iterable[str] = (),
    outbox: Iterable[Intent] = (),
    deadlines: Iterable[Deadline] = (),
    attention: Iterable[AttentionItem] = (),
    receipt: CommandReceipt | None = None,
    tokens: tuple[TokenBinding, ...] = (),
    inputs: Json | None = None,
) -> Transition:
    """Return ``count`` events from sequence ``first`` on, with what is owed after them."""
    version = first + count
    summary = RunSummary(
        run_id=run,
        workflow_id=WORKFLOW.id,
        workflow_name=WORKFLOW.name,
        state=state,
        node="approve",
        repository="/repository",
        started_at_ms=1_000,
        updated_at_ms=1_000 + version,
        version=version,
        open_work=tuple(open_work),
    )
    return Transition(
        run_id=run,
        expected_sequence=first,
        fencing_token=token,
        events=recorded(run, first, count),
        run=folded(run, version, inputs or {}),
        projection=Projection(
            summary=summary,
            outbox=tuple(outbox),
            deadlines=tuple(deadlines),
            attention=tuple(attention),
        ),
        receipt=receipt,
        tokens=tokens,
    )


def start(journal: Journal, run: str, **owed: Any) -> int:
    """Lease a run and commit its first transition; return the fencing token."""
    token = journal.lease(run)
    journal.commit(a_transition(run, token=token, **owed))
    return token


def nth_transition(run: str, number: int, token: int, filling: int = 0) -> Transition:
    """Return one of an endless row of transitions of a run, each of them full of rows to replace.

    It depends on its arguments alone, so that another process can tell what must be there.
    ``filling`` is the size of a text in the checkpoint, and of one in the receipt, which stays.
    """
    turns, rest = divmod(number, 4)
    first = 10 * turns + sum(range(rest + 1))
    return a_transition(
        run,
        first,
        token=token,
        count=1 + number % 4,
        state=(RunState.RUNNING, RunState.AWAITING_REVIEW, RunState.UNRESOLVED)[number % 3],
        open_work=[f"attempt {number}"] if number % 2 else (),
        outbox=[an_intent(run, each) for each in range(number % 4)],
        deadlines=[a_deadline(run, number + each, each) for each in range(number % 3)],
        attention=[an_item(run, number, each) for each in range(number % 2)],
        receipt=replace(a_receipt(run, f"command {number}"), reply=b"x" * filling),
        tokens=(TokenBinding(f"token {number} of {run}", f"{run}.{number}"),),
        inputs={"filling": "x" * filling, "number": number},
    )


def committed(journal: Journal, process: Process) -> int:
    """Commit what a real run of the core has been through since the last time; return its token."""
    run = process.state
    before = journal.summary(run.run_id)
    first = before.version if before is not None else 0
    token = journal.lease(run.run_id)
    journal.commit(
        Transition(
            run_id=run.run_id,
            expected_sequence=first,
            fencing_token=token,
            events=tuple(process.recorded[first:]),
            run=run,
            projection=project(run),
        )
    )
    return token
