"""Walks a workflow through the real core, with given answers in place of the outside world.

No second engine: every step is ``decide``, ``evolve`` and ``advance``, as in a run. What the
host would say (``made_up``) comes from the answer of the visit, or of the reviewer's branch. The
walk ends with the run, at a gate or an unresolved visit nobody answers, or where an answer is
missing. A person's Retry and Resume are not played.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from pointsman.graph import commands as cmd
from pointsman.graph import ids, made_up
from pointsman.graph.advance import advance
from pointsman.graph.allowed import can_review_again, deciders
from pointsman.graph.answers import AgentAnswer, Answers, Given, Word, gate_answer
from pointsman.graph.decide import decide
from pointsman.graph.definition import Workflow
from pointsman.graph.events import Event, RecordedEvent
from pointsman.graph.evolve import evolve
from pointsman.graph.freshness import relied_on
from pointsman.graph.intents import (
    FreezeChange,
    Intent,
    InterruptExecution,
    LaunchExecution,
    PrepareWorkspace,
    ReadHead,
    ReleaseWorkspace,
    SendReminder,
    StartCheck,
    VerifyCheckout,
)
from pointsman.graph.made_up import turn
from pointsman.graph.model import JsonScalar
from pointsman.graph.owed import owed_intents
from pointsman.graph.project import deadlines
from pointsman.graph.replies import Accepted
from pointsman.graph.results import GateDecision
from pointsman.graph.review_events import Moment
from pointsman.graph.run import OpenGate, Run, RunState, Visit
from pointsman.graph.work import (
    HostRun,
    HostRunCause,
    HostRunStatus,
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
    """The visit (and the try of its check, or its branch) whose answer was missing."""

    node: str
    visit: int
    try_number: int = 1
    branch: str | None = None


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
            return self._at_gate(gate)
        # Letting go of reviewers' worktrees changes no route.
        owed = [each for each in owed_intents(run) if not isinstance(each, ReleaseWorkspace)]
        if not owed:
            interrupted = run.state is RunState.UNRESOLVED
            assert interrupted, f"{self._visit.visit_id} waits for nothing a rehearsal plays"
            return False
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
        given = self._answer_if_any()
        if given is None:
            self._unanswered = Unanswered(self._visit.node, self._visit.number)
        return given

    def _answer_if_any(self) -> Given | None:
        node, number = self._visit.node, self._visit.number
        given = self._answers.get(node, ())
        if number > len(given):
            return None
        self._visits[node] = number
        return given[number - 1]

    def _answer_of(self, attempt: str) -> Given | None:
        """Return the answer of an attempt: of its visit, or of its branch in the group's visit."""
        given, branch = self._answer(), ids.place_of(attempt).branch
        if given is None or branch is None:
            return given
        assert isinstance(given, dict), f"{given} is no answer of a group"
        if branch not in given:
            self._unanswered = Unanswered(self._visit.node, self._visit.number, branch=branch)
        return given.get(branch)

    def _at_gate(self, gate: OpenGate) -> bool:
        """Let a person decide, if what they answer is offered; else the run waits at the gate."""
        given = self._answer()
        if given is None:
            return False
        if given in (Word.STALE, Word.REVIEW_AGAIN):
            self._see_head(given)
            return given is Word.REVIEW_AGAIN and self._review_again()
        answer, may = gate_answer(given), deciders(self._state)
        assert answer is not None, f"{given} is no decision"
        if answer.decision not in gate.offered:
            return False
        review = relied_on(self._state)
        approved = review is not None and answer.decision is GateDecision.APPROVE
        self.send(
            cmd.DecideGate(
                gate_id=gate.gate_id,
                revision=gate.revision,
                decision=answer.decision,
                note=answer.note,
                decided_by=may.people[0] if may is not None and may.people else _REHEARSAL,
                roles=may.roles if may is not None else (),
                head=made_up.head(review.frozen_commit, None) if review and approved else None,
            )
        )
        return True

    def _review_again(self) -> bool:
        offered = can_review_again(self._state)
        if offered is None:
            return False
        visit, revision = offered.visit_id, offered.revision
        self.send(cmd.ReviewAgain(visit_id=visit, revision=revision, requested_by=_REHEARSAL))
        return True

    def _see_head(self, given: Given | None) -> None:
        review = relied_on(self._state)
        assert review is not None, f"{self._visit.visit_id} relies on no review"
        reading = made_up.head(review.frozen_commit, given)
        self.send(cmd.ObserveHead(visit_id=self._visit.visit_id, reading=reading))

    def _play(self, intent: Intent) -> bool:
        match intent:
            case PrepareWorkspace(branch=branch, base_commit=commit):
                self._take(intent, path=".", branch=branch or "", head_commit=commit)
                return True
            case FreezeChange():
                return self._freeze(intent)
            case VerifyCheckout(attempt_id=attempt):
                given = self._answer_of(attempt)
                if given is None:
                    return False
                wrong = given is Word.WRONG_CHECKOUT and intent.moment is Moment.LAUNCH
                self.send(made_up.checkout(intent, wrong=wrong))
                return True
            case ReadHead():
                self._see_head(self._answer_if_any())
                return True
            case LaunchExecution(attempt_id=attempt):
                given = self._answer_of(attempt)
                if given is None:
                    return False
                self._take(intent)
                self._work(attempt, given)
                return True
            case StartCheck(check_id=check):
                return self._check(intent, check)
            case _:
                raise AssertionError(f"a rehearsal does not play {intent.kind}")

    def _freeze(self, intent: FreezeChange) -> bool:
        given = self._answer()
        if given is None:
            return False
        if given is Word.UNFROZEN:
            self.send(made_up.rejected(intent))
        else:
            # Each generation is frozen at a commit of its own.
            frozen = f"{self._visit.number:040x}"
            self._take(intent, frozen_commit=frozen, base_commit=_COMMIT)
        return True

    def _take(self, intent: Intent, **host_ref: Any) -> None:
        """Have the host accept an intent."""
        self.send(made_up.accepted(intent, host_ref))

    def _take_owed(self, kind: type[SendReminder] | type[InterruptExecution]) -> Intent:
        intent = next(each for each in owed_intents(self._state) if isinstance(each, kind))
        self._take(intent)
        return intent

    def _work(self, attempt: str, given: Given) -> None:
        """Play an agent's work to its settlement."""
        match given:
            case AgentAnswer():
                self.send(cmd.SubmitReport(attempt_id=attempt, envelope=given.envelope))
                self._observe(attempt, turn(1))
            case Word.MISSING:
                # The first quiet end earns the one reminder; the second is the end.
                self._observe(attempt, turn(1))
                reminder = self._take_owed(SendReminder)
                answered = turn(2, HostRunCause.WORKFLOW_MESSAGE, reminder.intent_id)
                self._observe(attempt, turn(1), answered)
            case Word.FAILED:
                failure = WorkFailure(code="failed", message="the answers say that it failed")
                failed = turn(1, status=HostRunStatus.FAILED)
                self._observe(attempt, failed, failure=failure)
            case Word.INTERRUPTED:
                self._observe(attempt, turn(1), stop=Stop(by="user"))
            case Word.CANCELED:
                self._observe(attempt, turn(1, status=HostRunStatus.CANCELED))
            case Word.TIMED_OUT:
                self._time_out(attempt)
            case _:
                raise AssertionError(f"{given} is no answer of an agent")

    def _time_out(self, attempt: str) -> None:
        """Let the first limit come that bounds the attempt: its timeout, or its deadline."""
        bounds = [f"{attempt}:timeout", f"{attempt.rpartition('.')[0]}:deadline"]
        of_it = [each for each in deadlines(self._state) if each.deadline_id in bounds]
        deadline = min(of_it, key=lambda each: each.due_at_ms)
        self._now_ms = max(self._now_ms, deadline.due_at_ms)
        self.send(cmd.FireDeadline(deadline_id=deadline.deadline_id))
        self._take_owed(InterruptExecution)
        self._observe(attempt, turn(1))

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
        self.send(cmd.ObserveCheck(check_id=check, state=made_up.check_state(tries[number - 1])))
        return True
