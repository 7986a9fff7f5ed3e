"""The journal's rows: the fold, the outbox, fences, what wakes a run, and what was promised."""

from collections.abc import Iterator

from pointsman.graph.attempt import AttemptStatus
from pointsman.graph.evolve import fold
from pointsman.graph.project import project
from pointsman.graph.run import CheckTryStatus, Run, RunState
from pointsman.graph.tried import attempts_in_force
from pointsman.runtime.wire.requests import ReportReceipt
from pointsman.storage.journal import Journal, Transition
from pointsman.storage.verify import verify_all
from tests.simulation.chronicle import Checker, Chronicle


class Fences(Checker):
    """Nothing is committed with any but the newest fencing token."""

    def __init__(self, chronicle: Chronicle) -> None:
        self._chronicle = chronicle

    def committed(self, transition: Transition, before: Run | None) -> Iterator[str]:
        newest = self._chronicle.leases.get(transition.run_id)
        if transition.fencing_token != newest:
            yield f"{transition.run_id}: token {transition.fencing_token}, and {newest} is leased"
        version = before.version if before is not None else 0
        if transition.expected_sequence != version:
            yield f"{transition.run_id}: events from {transition.expected_sequence}, not {version}"


class Folds(Checker):
    """The checkpoint is the fold of the events, and the owed intents are the outbox."""

    def at_end(self, journal: Journal) -> Iterator[str]:
        yield from map(str, verify_all(journal, fold, project))


class WakeSources(Checker):
    """A run that has not ended owes something, has work that is looked at, or waits for a person.

    Work that a time bounds has its deadline in the journal.
    """

    def committed(self, transition: Transition, before: Run | None) -> Iterator[str]:
        run, stored = transition.run, transition.projection
        if run.ended:
            return
        waits = run.state in (RunState.AWAITING_REVIEW, RunState.UNRESOLVED) and stored.attention
        if not (stored.outbox or stored.summary.open_work or waits):
            yield f"{run.run_id}: nothing will wake it ({run.state})"
        if run.cancellation is not None:
            return
        due = {each.deadline_id for each in stored.deadlines}
        owed = {each.intent_id for each in stored.outbox}
        for _, attempt in attempts_in_force(run):
            # Of a turn that nobody can tell of, what there may be is ended, and then looked at.
            ending = attempt.timed_out or attempt.turn_unknown is not None
            counts = attempt.status is AttemptStatus.LAUNCHED and not ending
            stands_still = attempt.requests or attempt.resume_owed
            if counts and not stands_still and f"{attempt.attempt_id}:timeout" not in due:
                yield f"{attempt.attempt_id}: nothing bounds its time"
        check = run.visit.check if run.visit is not None else None
        scheduled = check is not None and check.status is CheckTryStatus.SCHEDULED
        if check is not None and scheduled and f"wf:{check.check_id}:start" not in owed:
            yield f"{check.check_id}: nothing starts it"


class Promises(Checker):
    """What somebody was told is durable: receipts of commands and of reports, word for word."""

    def __init__(self, chronicle: Chronicle, receipts: list[ReportReceipt]) -> None:
        self._chronicle = chronicle
        self._receipts = receipts

    def at_end(self, journal: Journal) -> Iterator[str]:
        for message, reply in self._chronicle.acknowledged:
            assert message.command_id is not None, message
            kept = journal.receipt(message.scope, message.command_id)
            if kept is None or kept.run_id != reply.run_id:
                yield f"{reply.run_id}: {message.command_id} was acknowledged and is not there"
        accepted = {
            each.event.receipt_id: each.event.payload_digest
            for summary in journal.runs(None, 1 << 30)
            for each in journal.events(summary.run_id)
            if each.event.kind == "report_accepted"
        }
        for receipt in self._receipts:
            if accepted.get(receipt.receipt_id) != receipt.payload_digest:
                yield f"{receipt.receipt_id}: was acknowledged and is not there"
