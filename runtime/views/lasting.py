"""How long what an event ends had lasted: visits, attempts, checks, gates, questions, reviews."""

from collections.abc import Iterable

from pointsman.graph import events as ev
from pointsman.graph import review_events as rev
from pointsman.graph.model import Model


class Lasted(Model):
    """What an event brought to its end: the event that began it, and how long it took."""

    since: int
    ms: int


class Lasting:
    """Sees a run's events, all of them and in order; what it saw begin it knows the age of.

    A visit that is tried again goes on: each of its endings is told from its entry. Times are
    the recorded ones, of a wall clock, and none is told as negative.
    """

    def __init__(self, seen: Iterable[ev.RecordedEvent] = ()) -> None:
        self._began: dict[str, ev.RecordedEvent] = {}
        for each in seen:
            self.see(each)

    def see(self, recorded: ev.RecordedEvent) -> Lasted | None:
        """Take the next event; return what it ended, if it ends anything."""
        for subject in _begun(recorded.event):
            self._began[subject] = recorded
        ended = _ended(recorded.event)
        began = self._began.get(ended) if ended is not None else None
        if began is None:
            return None
        return Lasted(since=began.sequence, ms=max(0, recorded.at_ms - began.at_ms))


def _begun(event: ev.Event) -> tuple[str, ...]:
    """Name what begins; derived ids never clash, as each names its own place."""
    match event:
        case ev.RunStarted():
            return ("run",)
        case ev.NodeEntered(visit_id=subject):
            return (subject,)
        case ev.AttemptStarted(attempt_id=subject) | ev.CheckStarted(check_id=subject):
            return (subject,)
        case ev.GateRequested(gate_id=gate):
            return (f"{gate}:gate",)
        case ev.NativeRequestOpened(attempt_id=attempt, request=request):
            return (f"{attempt}:{request.request_id}",)
        case ev.ReminderIssued(attempt_id=attempt):
            return (f"{attempt}:reminder",)
        case ev.ResumeRequested(attempt_id=attempt):
            return (f"{attempt}:resume",)
        case rev.ReviewForked(review_set_id=review, branches=branches):
            return (f"{review}:review", *(each.branch_id for each in branches))
        case _:
            return ()


def _ended(event: ev.Event) -> str | None:
    match event:
        case ev.RunCompleted() | ev.RunFailed() | ev.RunCanceled():
            return "run"
        case ev.NodeCompleted(visit_id=subject) | ev.NodeUnresolved(visit_id=subject):
            return subject
        case ev.AttemptSettled(attempt_id=subject) | ev.AttemptRefused(attempt_id=subject):
            return subject
        case ev.CheckEnded(check_id=subject) | ev.CheckRefused(check_id=subject):
            return subject
        case ev.GateDecided(gate_id=gate):
            return f"{gate}:gate"
        case ev.NativeRequestAnswered() | ev.NativeRequestClosed():
            return f"{event.attempt_id}:{event.request_id}"
        case ev.ReminderDelivered(attempt_id=attempt):
            return f"{attempt}:reminder"
        case ev.AttemptResumed(attempt_id=attempt) | ev.ResumeRefused(attempt_id=attempt):
            return f"{attempt}:resume"
        case rev.BranchEnded(branch_id=branch):
            return branch
        case rev.JoinCommitted(review_set_id=review):
            return f"{review}:review"
        case _:
            return None
