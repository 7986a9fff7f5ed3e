"""The spans of a run, derived from its events alone.

A run is the root; visits are its children; attempts, checks and reviewers' branches are children
of their visit, and a question to a person is one of its attempt. An attempt that is resumed has a
span for each stretch of its work. Events that change nothing in length are notes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pointsman.graph import events as ev
from pointsman.graph import ids
from pointsman.graph import review_events as rev
from pointsman.graph.definition import Workflow
from pointsman.graph.settlement import SettlementOutcome
from pointsman.graph.tried import assigned
from pointsman.graph.work import CheckExited
from pointsman.runtime.spans.span import NS_PER_MS, Note, Span, SpanRef, Value, ref_of


@dataclass(slots=True)
class _Open:
    ref: SpanRef
    parent: SpanRef | None
    name: str
    began_ns: int
    attributes: dict[str, Value]
    notes: list[Note] = field(default_factory=list)
    failed: str | None = None


class RunSpans:
    """Sees the events of one run, all of them and in order, and gives each span when it is over."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._workflow: Workflow | None = None
        self._open: dict[str, _Open] = {}
        self.next_sequence = 0

    def see(self, recorded: ev.RecordedEvent) -> list[Span]:
        """Take the next event; return what it ended."""
        assert recorded.sequence == self.next_sequence, f"{recorded.run_id}: an event was left out"
        self.next_sequence += 1
        at_ns = recorded.at_ms * NS_PER_MS
        event = recorded.event
        self._begin(event, recorded.sequence, at_ns)
        self._note(event, at_ns)
        over = [subject for subject in self._end(event) if subject in self._open]
        return [self._ended(subject, at_ns) for subject in over]

    def _begin(self, event: ev.Event, sequence: int, at_ns: int) -> None:
        match event:
            case ev.RunStarted(workflow=workflow):
                self._workflow = workflow
                self._start(self._run_id, None, f"run {workflow.id}", at_ns)
                self._put(self._run_id, "pointsman.workflow.id", workflow.id)
                self._put(self._run_id, "pointsman.workflow.revision", workflow.revision)
                self._put(self._run_id, "pointsman.definition.digest", event.definition_digest)
            case ev.NodeEntered(node=node, visit_id=visit, number=number):
                self._start(visit, self._run_id, f"visit {node}", at_ns)
                self._put(visit, "pointsman.node.kind", self._known_workflow.nodes[node].kind)
                self._put(visit, "pointsman.visit.number", number)
            case rev.ReviewForked(visit_id=visit, frozen_commit=commit, branches=branches):
                self._put(visit, "pointsman.review.frozen_commit", commit)
                for each in branches:
                    self._start(each.branch_id, visit, f"branch {_step(each.branch_id)}", at_ns)
            case ev.AttemptStarted(attempt_id=attempt):
                self._start_attempt(attempt, attempt, at_ns)
            case ev.AttemptResumed(attempt_id=attempt):
                self._start_attempt(attempt, f"{attempt}:{sequence}", at_ns)
                self._put(attempt, "pointsman.attempt.resumed", True)
            case ev.CheckStarted(check_id=check):
                self._start(check, _around(check), f"check {_step(check)}", at_ns)
            case ev.NativeRequestOpened(attempt_id=attempt, request=request):
                asked = f"{attempt}:{request.request_id}"
                self._start(asked, attempt, f"question {_step(attempt)}", at_ns)
            case _:
                pass

    def _start_attempt(self, attempt: str, identity: str, at_ns: int) -> None:
        name = f"attempt {_step(attempt)}"
        self._start(attempt, _around(attempt), name, at_ns, identity=identity)
        work = assigned(self._known_workflow, attempt)
        assert work is not None, f"{attempt} is no agent's"
        self._put(attempt, "pointsman.provider", work.agent.provider)

    def _start(
        self, subject: str, parent: str | None, name: str, at_ns: int, identity: str | None = None
    ) -> None:
        around = ref_of(parent) if parent is not None else None
        if parent in self._open:
            around = self._open[parent].ref
        attributes: dict[str, Value] = {"pointsman.run_id": self._run_id}
        if parent is not None:
            attributes |= {"pointsman.id": subject, "pointsman.node": _place(subject).node}
        self._open[subject] = _Open(ref_of(identity or subject), around, name, at_ns, attributes)

    def _put(self, subject: str, name: str, value: Value) -> None:
        if (found := self._open.get(subject)) is not None:
            found.attributes[name] = value

    def _fail(self, subject: str, why: str | None) -> None:
        if (found := self._open.get(subject)) is not None:
            found.failed = why

    def _note(self, event: ev.Event, at_ns: int) -> None:
        noted = _noted(event)
        if noted is None:
            return
        subject, name, attributes = noted
        if (found := self._open.get(subject or self._run_id)) is not None:
            found.notes.append(Note(name, at_ns, attributes))

    def _end(self, event: ev.Event) -> Iterator[str]:
        match event:
            case ev.RouteTaken(from_visit_id=str(visit)):
                self._put(visit, "pointsman.route.to", event.to)
                self._put(visit, "pointsman.route.reason", event.reason.value)
                yield visit
            case ev.NodeUnresolved(visit_id=visit, reason=reason):
                self._fail(visit, reason.value)
            case ev.NodeCompleted(visit_id=visit):
                self._fail(visit, None)
            case ev.GateDecided(gate_id=visit, decision=decision):
                self._put(visit, "pointsman.gate.decision", decision.value)
            case rev.JoinCommitted(visit_id=visit, outcome=outcome):
                self._put(visit, "pointsman.join.outcome", outcome.value)
            case rev.BranchEnded(branch_id=branch, outcome=outcome):
                self._put(branch, "pointsman.branch.outcome", outcome.value)
                if outcome is not rev.BranchOutcome.COMPLETED:
                    self._fail(branch, event.reason.value if event.reason else outcome.value)
                yield branch
            case ev.AttemptSettled() | ev.AttemptRefused():
                yield self._attempt_ended(event)
            case ev.CheckEnded() | ev.CheckRefused():
                yield self._check_ended(event)
            case ev.NativeRequestAnswered() | ev.NativeRequestClosed():
                yield f"{event.attempt_id}:{event.request_id}"
            case ev.RunCompleted() | ev.RunFailed() | ev.RunCanceled():
                self._put(self._run_id, "pointsman.run.end", event.kind)
                if isinstance(event, ev.RunFailed):
                    self._fail(self._run_id, "run_failed")
                yield from reversed(list(self._open))
            case _:
                pass

    def _attempt_ended(self, event: ev.AttemptSettled | ev.AttemptRefused) -> str:
        attempt = event.attempt_id
        if isinstance(event, ev.AttemptRefused):
            self._fail(attempt, event.reason)
            return attempt
        self._put(attempt, "pointsman.attempt.outcome", event.outcome.value)
        if event.outcome is not SettlementOutcome.SUCCEEDED:
            self._fail(attempt, event.outcome.value)  # its reason may be an agent's last words
        return attempt

    def _check_ended(self, event: ev.CheckEnded | ev.CheckRefused) -> str:
        check = event.check_id
        if isinstance(event, ev.CheckRefused):
            self._fail(check, event.reason)
        elif isinstance(event.state, CheckExited):
            self._put(check, "process.exit.code", event.state.exit_code)
            if event.state.exit_code:
                self._fail(check, f"exit code {event.state.exit_code}")
        else:
            self._fail(check, "lost")
        return check

    def _ended(self, subject: str, at_ns: int) -> Span:
        found = self._open.pop(subject)
        return Span(
            ref=found.ref,
            parent=found.parent,
            name=found.name,
            began_ns=found.began_ns,
            ended_ns=max(at_ns, found.began_ns),  # a wall clock may be set back
            attributes=found.attributes,
            notes=tuple(found.notes),
            failed=found.failed,
        )

    @property
    def _known_workflow(self) -> Workflow:
        assert self._workflow is not None, f"{self._run_id}: something before its start"
        return self._workflow


def _place(subject: str) -> ids.Place:
    return ids.place_of(subject.partition(":")[0])


def _around(work: str) -> str:
    """Return the visit, or the branch, that an attempt or a check belongs to."""
    place = _place(work)
    return place.branch_id or place.visit


def _step(subject: str) -> str:
    place = _place(subject)
    return place.node if place.branch is None else f"{place.node}.{place.branch}"


def _noted(event: ev.Event) -> tuple[str | None, str, dict[str, Value]] | None:
    """Return what an event notes: of which subject (the run, if none), its name and attributes."""
    match event:
        case ev.AttemptLaunched(attempt_id=subject) | ev.CheckLaunched(check_id=subject):
            return subject, "launched", {}
        case ev.ReportAccepted(attempt_id=attempt, outcome=outcome, receipt_id=receipt):
            return attempt, "reported", {"outcome": outcome.value, "receipt_id": receipt}
        case ev.ReminderIssued(attempt_id=attempt):
            return attempt, "reminded", {}
        case ev.AttemptTimedOut(attempt_id=attempt, limit=limit):
            return attempt, "timed_out", {"limit": limit.value}
        case ev.NodeUnresolved(visit_id=visit, reason=reason):
            return visit, "unresolved", {"reason": reason.value}
        case ev.RetryRequested(visit_id=visit):
            return visit, "retry_requested", {}
        case rev.HeadCompared(visit_id=visit, frozen_commit=frozen, head=head):
            return visit, "head_compared", {"current": head == frozen}
        case rev.CheckoutVerified(branch_id=branch, moment=moment, misfit=misfit):
            return branch, "verified", {"moment": moment.value, "fits": misfit is None}
        case ev.CancelRequested():
            return None, "cancel_requested", {}
        case _:
            return None
