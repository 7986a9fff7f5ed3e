"""Walks a workflow through the real core, with given answers in place of the outside world.

No second engine: every step is ``decide``, ``evolve`` and ``advance``, as in a run. What the
host would say (a receipt, a quiet aggregate, an exit) is made up from the answer of the visit.
The walk ends with the run, at a gate or an unresolved visit nobody answers, or where an answer
is missing. A person's Retry and Resume are not played.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from pointsman.graph import commands as cmd
from pointsman.graph import ids
from pointsman.graph.advance import advance
from pointsman.graph.allowed import deciders
from pointsman.graph.answers import (
    AgentAnswer,
    Answers,
    CheckAnswer,
    Given,
    Word,
    gate_answer,
)
from pointsman.graph.decide import decide
from pointsman.graph.definition import Workflow
from pointsman.graph.events import Event, RecordedEvent
from pointsman.graph.evolve import evolve
from pointsman.graph.intents import (
    Intent,
    InterruptExecution,
    LaunchExecution,
    PrepareWorkspace,
    SendReminder,
    StartCheck,
)
from pointsman.graph.model import JsonScalar
from pointsman.graph.owed import owed_intents
from pointsman.graph.project import deadlines
from pointsman.graph.replies import Accepted
from pointsman.graph.run import Run, Visit
from pointsman.graph.work import (
    CheckExited,
    CheckLost,
    HostRun,
    HostRunCause,
    HostRunStatus,
    Receipt,
    ReceiptStatus,
    Stop,
    WorkAggregate,
    WorkFailure,
    WorkPhase,
)

_RUN_ID: Final = ids.run_id(0, "0" * 26)
_COMMIT: Final = "0" * 40
_REHEARSAL: Final = "rehearsal"


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The visit (and the try of its check) whose answer the walk had to do without."""

    node: str
    visit: int
    try_number: int = 1


@dataclass(frozen=True, slots=True)
class Unused:
    """Answers from this visit of a node on (or from this try of the visit on) that nobody took."""

    node: str
    visit: int
    try_number: int | None = None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A walk: where the run came to rest, everything that happened, and how the answers fit."""

    run: Run
    recorded: tuple[RecordedEvent, ...]
    unanswered: Unanswered | None
    unused: tuple[Unused, ...]


def rehearse(
    workflow: Workflow, inputs: dict[str, JsonScalar], answers: Answers, source: str = _REHEARSAL
) -> Rehearsal:
    """Walk a valid workflow; the caller has seen to it that inputs and answers fit."""
    walk = _Walk(answers)
    walk.send(
        cmd.StartRun(
            run_id=_RUN_ID,
            workflow=workflow,
            definition_source=source,
            inputs=inputs,
            repository=".",
            base_commit=_COMMIT,
            base_branch=None,
            started_by=_REHEARSAL,
        )
    )
    while walk.step():
        pass
    return walk.ended()


class _Walk:
    """One run of the core, with its own clock; ``step`` plays the next thing it waits for."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._run: Run | None = None
        self._recorded: list[RecordedEvent] = []
        self._now_ms = 0
        self._unanswered: Unanswered | None = None
        self._visits: Counter[str] = Counter()
        self._tries: Counter[tuple[str, int]] = Counter()

    @property
    def _state(self) -> Run:
        assert self._run is not None, "the walk has not begun"
        return self._run

    @property
    def _visit(self) -> Visit:
        assert self._state.visit is not None, "the run is at no node"
        return self._state.visit

    def send(self, command: cmd.Command) -> None:
        """Decide a command that must hold, and take every automatic step it makes due."""
        verdict = decide(self._run, command, self._now_ms)
        assert isinstance(verdict, Accepted), f"{command.kind}: {verdict}"
        events = verdict.events
        while events:
            self._apply(events)
            events = advance(self._state)

    def _apply(self, events: tuple[Event, ...]) -> None:
        for event in events:
            sequence = self._run.version if self._run is not None else 0
            recorded = RecordedEvent(
                run_id=_RUN_ID, sequence=sequence, at_ms=self._now_ms, event=event
            )
            self._run = evolve(self._run, recorded)
            self._recorded.append(recorded)

    def step(self) -> bool:
        """Play what the run waits for; ``False`` when it rests, or an answer is missing."""
        run = self._state
        if run.ended or self._visit.unresolved is not None:
            return False
        gate = self._visit.gate
        if gate is not None:
            return self._decide_gate(gate.gate_id, gate.revision)
        owed = owed_intents(run)
        assert owed, f"{self._visit.visit_id} waits for nothing that a rehearsal plays"
        return self._play(owed[0])

    def ended(self) -> Rehearsal:
        unused = [
            Unused(node, self._visits[node] + 1)
            for node, given in self._answers.items()
            if len(given) > self._visits[node]
        ]
        for (node, visit), tries in self._tries.items():
            answer = self._answers[node][visit - 1]
            if isinstance(answer, tuple) and len(answer) > tries:
                unused.append(Unused(node, visit, tries + 1))
        return Rehearsal(self._state, tuple(self._recorded), self._unanswered, tuple(unused))

    def _answer(self) -> Given | None:
        """Return the answer of this visit: the list's entry at the visit's number."""
        node, number = self._visit.node, self._visit.number
        given = self._answers.get(node, ())
        if number > len(given):
            self._unanswered = Unanswered(node, number)
            return None
        self._visits[node] = number
        return given[number - 1]

    def _decide_gate(self, gate_id: str, revision: int) -> bool:
        given = self._answer()
        if given is None:
            return False
        answer, may = gate_answer(given), deciders(self._state)
        assert answer is not None, f"{given} is no decision"
        self.send(
            cmd.DecideGate(
                gate_id=gate_id,
                revision=revision,
                decision=answer.decision,
                note=answer.note,
                decided_by=may.people[0] if may is not None and may.people else _REHEARSAL,
                roles=may.roles if may is not None else (),
            )
        )
        return True

    def _play(self, intent: Intent) -> bool:
        match intent:
            case PrepareWorkspace():
                self._take(intent, path=".", branch=ids.branch_name(_RUN_ID), head_commit=_COMMIT)
                return True
            case LaunchExecution(attempt_id=attempt):
                given = self._answer()
                if given is None:
                    return False
                self._take(intent)
                self._work(attempt, given)
                return True
            case StartCheck(check_id=check):
                return self._check(intent, check)
            case _:
                raise AssertionError(f"a rehearsal does not play {intent.kind}")

    def _take(self, intent: Intent, **host_ref: Any) -> None:
        """Have the host accept an intent."""
        key = intent.intent_id
        receipt = Receipt(idempotency_key=key, status=ReceiptStatus.ACCEPTED, host_ref=host_ref)
        self.send(cmd.RecordReceipt(intent_id=key, receipt=receipt))

    def _take_owed(self, kind: type[SendReminder] | type[InterruptExecution]) -> Intent:
        intent = next(each for each in owed_intents(self._state) if isinstance(each, kind))
        self._take(intent)
        return intent

    def _work(self, attempt: str, given: Given) -> None:
        """Play an agent's work to its settlement."""
        match given:
            case AgentAnswer():
                self.send(cmd.SubmitReport(attempt_id=attempt, envelope=given.envelope))
                self._observe(attempt, _turn(1))
            case Word.MISSING:
                # The first quiet end earns the one reminder; the second is the end.
                self._observe(attempt, _turn(1))
                reminder = self._take_owed(SendReminder)
                answered = _turn(2, HostRunCause.WORKFLOW_MESSAGE, reminder.intent_id)
                self._observe(attempt, _turn(1), answered)
            case Word.FAILED:
                failure = WorkFailure(code="failed", message="the answers say that it failed")
                failed = _turn(1, status=HostRunStatus.FAILED)
                self._observe(attempt, failed, failure=failure)
            case Word.INTERRUPTED:
                self._observe(attempt, _turn(1), stop=Stop(by="user"))
            case Word.TIMED_OUT:
                (deadline,) = deadlines(self._state)
                self._now_ms = deadline.due_at_ms
                self.send(cmd.FireDeadline(deadline_id=deadline.deadline_id))
                self._take_owed(InterruptExecution)
                self._observe(attempt, _turn(1))
            case _:
                raise AssertionError(f"{given} is no answer of an agent")

    def _observe(self, attempt: str, *turns: HostRun, **changes: Any) -> None:
        work = WorkAggregate(
            attempt_id=attempt, host_sequence=1, phase=WorkPhase.QUIET, runs=turns, **changes
        )
        self.send(cmd.ObserveWork(work=work))

    def _check(self, intent: Intent, check: str) -> bool:
        given = self._answer()
        if given is None:
            return False
        # One answer stands for every try of its visit; a list has one for each.
        tries = given if isinstance(given, tuple) else (given,) * len(self._visit.checks)
        number = len(self._visit.checks)
        if number > len(tries):
            self._unanswered = Unanswered(self._visit.node, self._visit.number, number)
            return False
        self._tries[self._visit.node, self._visit.number] = number
        self._take(intent)
        self.send(cmd.ObserveCheck(check_id=check, state=_check_state(tries[number - 1])))
        return True


def _turn(
    ordinal: int,
    cause: HostRunCause = HostRunCause.LAUNCH,
    cause_key: str | None = None,
    status: HostRunStatus = HostRunStatus.COMPLETED,
) -> HostRun:
    return HostRun(
        host_run_id=str(ordinal), ordinal=ordinal, status=status, cause=cause, cause_key=cause_key
    )


def _check_state(given: Given) -> CheckExited | CheckLost:
    if given is Word.LOST:
        return CheckLost()
    if isinstance(given, int):
        given = CheckAnswer(exit_code=given)
    if isinstance(given, CheckAnswer):
        return CheckExited(
            exit_code=given.exit_code,
            timed_out=False,
            interrupted=False,
            duration_s=float(given.duration_s),
            output_tail=given.output,
        )
    assert given in (Word.TIMED_OUT, Word.INTERRUPTED), f"{given} is no answer of a check"
    return CheckExited(
        exit_code=-1,
        timed_out=given is Word.TIMED_OUT,
        interrupted=given is Word.INTERRUPTED,
        duration_s=0.0,
        output_tail="",
    )
