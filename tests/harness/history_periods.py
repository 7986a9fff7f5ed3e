"""What waited for a person, and what was owed to the host: read off the state after each step."""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from pointsman.graph import events as ev
from pointsman.graph import intents as order
from pointsman.graph import review_events as rev
from pointsman.graph.events import Event, RecordedEvent
from pointsman.graph.evolve import fold
from pointsman.graph.intents import Intent
from pointsman.graph.owed import owed_intents
from pointsman.graph.project import project
from pointsman.graph.run import Run
from tests.harness.history_rows import Row, Story, between


def attention_periods(story: Story) -> Iterator[Row]:
    """Tell the times in which something waited."""
    run: Run | None = None
    waiting: dict[tuple[str, int], Row] = {}
    for _, events in story.steps:
        run = fold(events, run)
        assert run is not None
        items = {(each.item_id, each.since_ms): each for each in project(run).attention}
        for key in waiting.keys() - items.keys():
            closed_at = events[-1].at_ms
            waited = between(waiting[key]["opened_at"], closed_at)
            yield {**waiting.pop(key), "closed_at": closed_at, "waited_ms": waited}
        for key in items.keys() - waiting.keys():
            item = items[key]
            waiting[key] = {
                "run_id": item.run_id,
                "item_id": item.item_id,
                "kind": item.kind.value,
                "node": item.node,
                "branch": item.branch,
                "opened_at": item.since_ms,
                "closed_at": None,
                "waited_ms": None,
            }
    yield from waiting.values()


def intents(story: Story) -> Iterator[Row]:
    """Tell the times in which something was owed, and what became of each."""
    run: Run | None = None
    owed: dict[str, tuple[Intent, Row]] = {}
    for _, events in story.steps:
        run = fold(events, run)
        assert run is not None
        now = {each.intent_id: each for each in owed_intents(run)}
        for key in owed.keys() - now.keys():
            intent, row = owed.pop(key)
            outcome = _outcome(intent, events)
            yield {**row, "closed_at": events[-1].at_ms, "outcome": outcome}
        for key in now.keys() - owed.keys():
            row = {
                "run_id": run.run_id,
                "intent_id": key,
                "kind": now[key].kind,
                "subject_id": _subject(now[key]),
                "opened_at": events[-1].at_ms,
                "closed_at": None,
                "outcome": None,
            }
            owed[key] = (now[key], row)
    yield from (row for _, row in owed.values())


def _subject(intent: Intent) -> str:
    """Return what an order is about."""
    match intent:
        case order.PrepareWorkspace(workspace_key=key) | order.ReleaseWorkspace(workspace_key=key):
            return key
        case order.FreezeChange(review_set_id=visit) | order.ReadHead(visit_id=visit):
            return visit
        case order.StartCheck(check_id=check) | order.CancelCheck(check_id=check):
            return check
        case _:
            return intent.attempt_id


def _outcome(intent: Intent, events: tuple[RecordedEvent, ...]) -> str:
    """Tell what the host answered, if it is its answer that ended the order."""
    answers = (_answer(intent, each.event) for each in events)
    return next((each for each in answers if each is not None), "withdrawn")


def _answer(intent: Intent, event: Event) -> str | None:
    """Tell what an event says of an order, if it is the host's answer to it."""
    done, refused = _ANSWERS[type(intent)]
    if _about(event) != _subject(intent):
        return None
    if isinstance(intent, order.AnswerRequest) and intent.request_id != _request(event):
        return None
    if isinstance(event, ev.AttemptSettled) and event.work is not None:
        return None
    return "done" if isinstance(event, done) else "refused" if isinstance(event, refused) else None


def _about(event: Event) -> str | None:
    names = ("attempt_id", "check_id", "subject_id", "workspace_key", "visit_id")
    return next((getattr(event, each) for each in names if hasattr(event, each)), None)


def _request(event: Event) -> str | None:
    return getattr(event, "request_id", None)


_Events: TypeAlias = tuple[type, ...]
# Which events are the host's answer to an order: that it did it, and that it did not.
_ANSWERS: Final[Mapping[type, tuple[_Events, _Events]]] = {
    order.PrepareWorkspace: ((ev.WorkspacePrepared,), (ev.WorkspaceRefused,)),
    order.ReleaseWorkspace: ((ev.WorkspaceReleased,), ()),
    order.FreezeChange: ((rev.ChangeFrozen,), (rev.ChangeRefused,)),
    order.VerifyCheckout: ((rev.CheckoutVerified,), ()),
    order.ReadHead: ((rev.HeadCompared,), ()),
    order.LaunchExecution: ((ev.AttemptLaunched,), (ev.AttemptRefused,)),
    order.SendReminder: ((ev.ReminderDelivered,), (ev.TurnUnknown, ev.AttemptSettled)),
    order.InterruptExecution: ((ev.WorkInterrupted,), ()),
    order.ResumeExecution: ((ev.AttemptResumed,), (ev.ResumeRefused, ev.TurnUnknown)),
    order.AnswerRequest: ((ev.NativeRequestClosed,), ()),
    order.StartCheck: ((ev.CheckLaunched,), (ev.CheckRefused,)),
    order.CancelCheck: ((ev.WorkInterrupted,), ()),
}
