"""Histories for tests of the SQL tables: told runs in a journal, and a fold to compare with."""

from typing import Any, TypeAlias

from pointsman.graph import commands as cmd
from pointsman.graph.definition import Workflow
from pointsman.graph.events import RecordedEvent
from pointsman.graph.evolve import fold
from pointsman.graph.owed import owed_intents
from pointsman.graph.project import project
from pointsman.graph.replies import Accepted, Verdict
from pointsman.graph.run import Run
from pointsman.graph.work import ReceiptStatus
from pointsman.storage.history.history import History
from pointsman.storage.history.tables import TABLES
from pointsman.storage.journal import Journal, Transition
from tests.harness.core import RUN_ID, Process
from tests.harness.reviews import ReviewProcess

Transitions: TypeAlias = list[tuple[RecordedEvent, ...]]
Rows: TypeAlias = list[tuple[Any, ...]]


class _Told(Process):
    """A run that keeps what each command committed, and what the host answered to each order.

    Some time passes before each command.
    """

    def __init__(self, definition: Workflow | None = None) -> None:
        self.transitions: Transitions = []
        self.answered: dict[str, ReceiptStatus] = {}
        super().__init__(definition)

    def send(self, command: cmd.Command) -> Verdict:
        before = len(self.recorded)
        owed = {each.intent_id for each in owed_intents(self.run)} if self.run else set()
        self.now_ms += 7
        verdict = super().send(command)
        if isinstance(verdict, Accepted) and len(self.recorded) > before:
            self.transitions.append(tuple(self.recorded[before:]))
            match command:
                case cmd.RecordReceipt(intent_id=key) if key in owed:
                    self.answered[key] = command.receipt.status
                case cmd.RecordUnknown(intent_id=key) if key in owed:
                    self.answered[key] = ReceiptStatus.REJECTED
        return verdict


class ToldProcess(_Told):
    """A run without reviewers."""


class ToldReview(_Told, ReviewProcess):
    """A run with reviewers."""


def renamed(transitions: Transitions, run_id: str) -> Transitions:
    """Return the same story as another run's."""

    def other(each: RecordedEvent) -> RecordedEvent:
        return RecordedEvent.model_validate_json(each.model_dump_json().replace(RUN_ID, run_id))

    return [tuple(map(other, events)) for events in transitions]


def commit(journal: Journal, run: Run | None, events: tuple[RecordedEvent, ...]) -> Run:
    """Commit one transition of a run, and return the run after it."""
    after = fold(events, run)
    assert after is not None
    journal.commit(
        Transition(
            run_id=after.run_id,
            expected_sequence=events[0].sequence,
            fencing_token=journal.lease(after.run_id),
            events=events,
            run=after,
            projection=project(after),
        )
    )
    return after


def rows(history: History, query: str) -> Rows:
    """Return the answer to a query."""
    return history.connection().execute(query).fetchall()


def everything(history: History) -> dict[str, Rows]:
    """Return every row of every table, in one order."""
    return {table.name: sorted(rows(history, f"FROM {table.name}"), key=repr) for table in TABLES}
