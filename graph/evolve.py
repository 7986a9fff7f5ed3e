"""Evolve: how each event changes a run's state. Nothing else changes it.

Total over every event that ``decide`` and ``advance`` can give; an event that does not fit the
state is a bug or a corrupt journal, hence the assertions.
"""

from collections.abc import Iterable
from typing import Any, assert_never

from pointsman.graph import events as ev
from pointsman.graph import evolve_reviews as reviews
from pointsman.graph import evolve_work as work
from pointsman.graph import ids
from pointsman.graph import review_events as rev
from pointsman.graph.attempt import Unresolved
from pointsman.graph.definition import AgentNode, CheckNode, ParallelNode
from pointsman.graph.events import RecordedEvent
from pointsman.graph.run import Cancellation, OpenGate, ProcessesLeft, Run, RunState, Visit
from pointsman.graph.workspace import Workspace, WorkspaceStatus


def fold(recorded: Iterable[RecordedEvent], run: Run | None = None) -> Run | None:
    """Apply events in order; ``run`` is the state before them."""
    for each in recorded:
        run = evolve(run, each)
    return run


def evolve(run: Run | None, recorded: RecordedEvent) -> Run:
    """Return the run after one event; its version is then that event's sequence plus one."""
    if run is None:
        assert isinstance(recorded.event, ev.RunStarted), f"{recorded.run_id} begins mid-way"
        return _started(recorded, recorded.event)
    assert recorded.run_id == run.run_id, f"{recorded.run_id} is not {run.run_id}"
    assert recorded.sequence == run.version, f"{run.run_id}: {recorded.sequence} != {run.version}"
    changed = _apply(run, recorded.event, recorded.sequence, recorded.at_ms)
    return changed.model_copy(
        update={"version": recorded.sequence + 1, "updated_at_ms": recorded.at_ms}
    )


def _started(recorded: RecordedEvent, event: ev.RunStarted) -> Run:
    return Run(
        version=recorded.sequence + 1,
        started_at_ms=recorded.at_ms,
        updated_at_ms=recorded.at_ms,
        **{name: getattr(event, name) for name in type(event).model_fields if name != "kind"},
    )


def _apply(run: Run, event: ev.Event, sequence: int, at_ms: int) -> Run:
    match event:
        case ev.RunStarted():
            raise AssertionError(f"{run.run_id} started twice")
        case ev.RouteTaken():
            return _routed(run, event)
        case ev.NodeEntered():
            return _entered(run, event, at_ms)
        case ev.NodeCompleted():
            return _completed(run, event)
        case ev.NodeUnresolved():
            return _unresolved(run, event, sequence, at_ms)
        case ev.RetryRequested():
            return _retried(run, event)
        case ev.WorkspacePrepared() | ev.WorkspaceRefused() | ev.WorkspaceReleased():
            return _workspace(run, event)
        case ev.GateRequested():
            return work.with_visit(run, gate=_gate(event, sequence, at_ms))
        case ev.RunSuspended():
            return _gate_changed(run, suspended=True)
        case ev.GateDecided(decision=decision):
            return _gate_changed(run, decision=decision)
        case ev.CancelRequested(reason=reason, requested_by=by):
            cancel = Cancellation(reason=reason, requested_by=by, requested_at_ms=at_ms)
            return run.model_copy(update={"cancellation": cancel})
        case ev.RunCompleted():
            return _ended(run, RunState.COMPLETED, at_ms)
        case ev.RunFailed():
            return _ended(run, RunState.FAILED, at_ms)
        case ev.RunCanceled():
            return _ended(run, RunState.CANCELED, at_ms)
        case ev.WorkInterrupted():
            return _interrupted(run, event, at_ms)
        case ev.CheckStarted() | ev.CheckLaunched() | ev.CheckRefused() | ev.CheckEnded():
            visit = work.visit_of(run)
            return work.with_visit(run, **work.check_changes(visit, event))
        case (
            ev.AttemptSettled()
            | ev.AttemptStarted()
            | ev.CredentialBound()
            | ev.AttemptLaunched()
            | ev.ReportAccepted()
            | ev.NativeRequestOpened()
            | ev.NativeRequestAnswered()
            | ev.NativeRequestClosed()
            | ev.ReminderIssued()
            | ev.ReminderDelivered()
            | ev.AttemptTimedOut()
            | ev.AttemptRefused()
            | ev.ResumeRequested()
            | ev.ResumeRefused()
            | ev.TurnUnknown()
            | ev.AttemptResumed()
        ):
            return _attempted(run, event, at_ms)
        case (
            rev.ChangeFrozen()
            | rev.ChangeRefused()
            | rev.ReviewForked()
            | rev.CheckoutVerified()
            | rev.BranchDeadlinePassed()
            | rev.BranchInterrupted()
            | rev.BranchEnded()
            | rev.HeadCompared()
            | rev.JoinCommitted()
            | rev.ReviewAgainRequested()
        ):
            return reviews.reviewed(run, event, sequence, at_ms)
        case _:
            assert_never(event)


def _attempted(run: Run, event: work.AttemptEvent, at_ms: int) -> Run:
    """Apply an event of an attempt; only work in the run's own worktree moves its head."""
    if ids.place_of(event.attempt_id).branch_id is not None:
        return reviews.branch_attempted(run, event, at_ms)
    changed = work.with_visit(run, **work.attempt_changes(work.visit_of(run), event, at_ms))
    if isinstance(event, ev.AttemptSettled) and event.work is not None and event.work.head_commit:
        changed = changed.model_copy(update={"head_commit": event.work.head_commit})
    return changed


def _routed(run: Run, event: ev.RouteTaken) -> Run:
    counts = run.route_counts
    if event.counted:
        counts = {**counts, event.route: counts.get(event.route, 0) + 1}
    return run.model_copy(update={"route_counts": counts, "last_route": event.route})


def _entered(run: Run, event: ev.NodeEntered, at_ms: int) -> Run:
    attempts = run.visit.attempts if run.visit is not None else ()
    works = isinstance(run.workflow.nodes[event.node], AgentNode | CheckNode | ParallelNode)
    visit = Visit(
        node=event.node,
        visit_id=event.visit_id,
        number=event.number,
        entered_at_ms=at_ms,
        inputs=event.inputs,
        try_owed=works,
    )
    return run.model_copy(
        update={
            "visit": visit,
            "visits_used": event.visits_used,
            "visit_counts": {**run.visit_counts, event.node: event.number},
            "results": {node: kept_ for node, kept_ in run.results.items() if node != event.node},
            "earlier_reports": {**run.earlier_reports, **work.receipts(attempts)},
        }
    )


def _completed(run: Run, event: ev.NodeCompleted) -> Run:
    changed = work.with_visit(run, completed=True)
    if event.result is None:
        return changed
    return changed.model_copy(update={"results": {**run.results, event.node: event.result}})


def _unresolved(run: Run, event: ev.NodeUnresolved, sequence: int, at_ms: int) -> Run:
    why = Unresolved(reason=event.reason, detail=event.detail, revision=sequence, since_ms=at_ms)
    return work.with_visit(run, unresolved=why)


def _retried(run: Run, event: ev.RetryRequested) -> Run:
    if event.visit_id != work.visit_of(run).visit_id:
        tries = reviews.branch_of(run, event.visit_id).tries + 1
        again = reviews.with_branch(
            run, event.visit_id, unresolved=None, try_owed=True, tries=tries
        )
        return again.model_copy(update={"visits_used": event.visits_used})
    visit = work.visit_of(run)
    workspace = run.workspace
    if workspace.status is WorkspaceStatus.REFUSED:
        workspace = Workspace(tries=workspace.tries + 1)
    changed = work.with_visit(
        run,
        unresolved=None,
        try_owed=True,
        tries=visit.tries + 1,
        comparison=None,
        freeze_refused=None,
    )
    return changed.model_copy(update={"visits_used": event.visits_used, "workspace": workspace})


def _workspace(run: Run, event: work.WorkspaceEvent) -> Run:
    if event.workspace_key != ids.workspace_key(run.run_id):
        return reviews.branch_workspace(run, event)
    changes = work.workspace_fields(event)
    return run.model_copy(update={"workspace": run.workspace.model_copy(update=changes)})


def _gate(event: ev.GateRequested, sequence: int, at_ms: int) -> OpenGate:
    return OpenGate(
        gate_id=event.gate_id,
        revision=sequence,
        since_ms=at_ms,
        title=event.title,
        offered=event.offered,
        head_commit=event.head_commit,
        review=event.review,
    )


def _gate_changed(run: Run, **changes: Any) -> Run:
    gate = work.visit_of(run).gate
    assert gate is not None, f"{run.run_id} has no open gate"
    return work.with_visit(run, gate=gate.model_copy(update=changes))


def _ended(run: Run, state: RunState, at_ms: int) -> Run:
    return run.model_copy(update={"ended_as": state, "ended_at_ms": at_ms})


def _interrupted(run: Run, event: ev.WorkInterrupted, at_ms: int) -> Run:
    left = {key: n for key, n in run.processes_left.items() if key != event.subject_id}
    if event.left:
        left[event.subject_id] = ProcessesLeft(count=event.left, since_ms=at_ms)
    changed = run.model_copy(update={"processes_left": left})
    branch_id = ids.place_of(event.subject_id).branch_id
    if branch_id is not None:
        branch = reviews.branch_of(run, branch_id)
        ended = work.interruption_changes(branch, event.subject_id)
        return reviews.with_branch(changed, branch_id, **ended)
    return work.with_visit(
        changed, **work.interruption_changes(work.visit_of(run), event.subject_id)
    )
