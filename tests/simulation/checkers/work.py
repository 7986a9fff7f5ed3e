"""Agents' work: one report an attempt, none too late; settled only when quiet; one reminder."""

from collections.abc import Iterator

from pointsman.graph import events as ev
from pointsman.graph.events import Event
from pointsman.graph.run import Run
from pointsman.graph.settlement import SettlementOutcome
from pointsman.storage.journal import Transition
from tests.simulation.chronicle import Act, Checker
from tests.simulation.host_state import Machine


class OneReport(Checker):
    """An attempt has one report at most, and takes none once it ended or the run was canceled."""

    def __init__(self) -> None:
        self._reported: set[str] = set()
        self._over: set[str] = set()
        self._canceled: set[str] = set()

    def committed(self, transition: Transition, before: Run | None) -> Iterator[str]:
        for each in transition.events:
            yield from self._event(transition.run_id, each.event)

    def _event(self, run_id: str, event: Event) -> Iterator[str]:
        match event:
            case ev.ReportAccepted(attempt_id=attempt):
                if attempt in self._reported:
                    yield f"{attempt}: a second report was accepted"
                if attempt in self._over:
                    yield f"{attempt}: a report was accepted after its work had ended"
                if run_id in self._canceled:
                    yield f"{attempt}: a report was accepted after the cancel"
                self._reported.add(attempt)
            case ev.AttemptSettled(attempt_id=attempt) | ev.AttemptTimedOut(attempt_id=attempt):
                self._over.add(attempt)
            case ev.ResumeRequested(attempt_id=attempt):
                self._over.discard(attempt)
            case ev.CancelRequested():
                self._canceled.add(run_id)
            case _:
                pass


class QuietSettlement(Checker):
    """Work settles well only when the machine has nothing of it any more, and with a report or
    after the one reminder.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._reported: set[str] = set()
        self._reminded: set[str] = set()
        self._sent: set[str] = set()

    def committed(self, transition: Transition, before: Run | None) -> Iterator[str]:
        for each in transition.events:
            match each.event:
                case ev.ReportAccepted(attempt_id=attempt):
                    self._reported.add(attempt)
                case ev.ReminderIssued(attempt_id=attempt):
                    if attempt in self._reminded:
                        yield f"{attempt}: a second reminder was issued"
                    if attempt in self._reported:
                        yield f"{attempt}: a reminder was issued after its report"
                    self._reminded.add(attempt)
                case ev.AttemptSettled(attempt_id=attempt, work=None):
                    # The host has refused the reminder: a person decides.
                    self._sent.add(attempt)
                case ev.AttemptSettled(attempt_id=attempt, outcome=SettlementOutcome.SUCCEEDED):
                    work = self._machine.attempts.get(attempt)
                    if work is None or work.at_work:
                        yield f"{attempt}: settled well while it was at work"
                    if attempt not in self._reported | self._reminded:
                        yield f"{attempt}: settled without a report, and was never reminded"
                case _:
                    pass

    def acted(self, act: Act) -> Iterator[str]:
        if act.kind == "send_reminder":
            if act.subject in self._sent:
                yield f"{act.subject}: was reminded twice"
            if act.subject not in self._reminded:
                yield f"{act.subject}: was reminded before that was committed"
            self._sent.add(act.subject)
