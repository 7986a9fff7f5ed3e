"""Compute a run's projection: summary, outbox, deadlines and attention, from its state alone."""

from pointsman.graph import ids
from pointsman.graph.allowed import deciders, in_words
from pointsman.graph.attempt import Attempt, AttemptStatus
from pointsman.graph.owed import open_work, owed_intents
from pointsman.graph.projection import (
    AttentionItem,
    AttentionKind,
    Deadline,
    DeadlineKind,
    Projection,
    RunSummary,
)
from pointsman.graph.run import OpenGate, Run, Visit


def project(run: Run) -> Projection:
    """Return everything the state implies for the outside."""
    return Projection(
        summary=_summary(run),
        outbox=owed_intents(run),
        deadlines=deadlines(run),
        attention=_attention(run),
    )


def deadlines(run: Run) -> tuple[Deadline, ...]:
    """Return the deadlines in force: the execution timeout of running work."""
    attempt = run.visit.attempt if run.visit is not None else None
    if attempt is None or attempt.running_since_ms is None or run.cancellation is not None:
        return ()
    if run.ended or attempt.status is not AttemptStatus.LAUNCHED:
        return ()
    return (
        Deadline(
            deadline_id=f"{attempt.attempt_id}:timeout",
            run_id=run.run_id,
            kind=DeadlineKind.EXECUTION_TIMEOUT,
            due_at_ms=attempt.running_since_ms + attempt.remaining_ms,
        ),
    )


def _summary(run: Run) -> RunSummary:
    return RunSummary(
        run_id=run.run_id,
        workflow_id=run.workflow.id,
        workflow_name=run.workflow.name,
        state=run.state,
        node=run.visit.node if run.visit is not None else None,
        repository=run.repository,
        started_at_ms=run.started_at_ms,
        updated_at_ms=run.updated_at_ms,
        version=run.version,
        open_work=open_work(run),
    )


def _attention(run: Run) -> tuple[AttentionItem, ...]:
    items = [
        AttentionItem(
            item_id=f"{subject}:processes",
            run_id=run.run_id,
            kind=AttentionKind.PROCESSES_LEFT,
            node=subject.split(".")[1],
            title="Processes could not be ended",
            detail=f"{left.count} processes of {subject} are still there; end them by hand",
            since_ms=left.since_ms,
        )
        for subject, left in run.processes_left.items()
    ]
    visit = run.visit
    if visit is None or run.ended or run.cancellation is not None:
        return tuple(items)
    if visit.gate is not None and visit.gate.decision is None:
        items.append(
            _item(
                run,
                visit,
                AttentionKind.AWAITING_REVIEW,
                item_id=f"{visit.gate.gate_id}:review",
                since_ms=visit.gate.since_ms,
                title=visit.gate.title,
                detail=_to_decide(run, visit.gate),
            )
        )
    if visit.unresolved is not None:
        items.append(
            _item(
                run,
                visit,
                AttentionKind.UNRESOLVED,
                item_id=f"{visit.visit_id}:unresolved.{visit.unresolved.revision}",
                since_ms=visit.unresolved.since_ms,
                title=f"{visit.node} is unresolved: {visit.unresolved.reason}",
                detail=visit.unresolved.detail,
            )
        )
    if visit.attempt is not None and visit.unresolved is None:
        items += _requests(run, visit, visit.attempt)
    return tuple(items)


def _to_decide(run: Run, gate: OpenGate) -> str:
    may = deciders(run)
    by = f" (by {in_words(may)} only)" if may is not None else ""
    return f"decide: {', '.join(gate.offered)}{by}"


def _requests(run: Run, visit: Visit, attempt: Attempt) -> list[AttentionItem]:
    return [
        _item(
            run,
            visit,
            AttentionKind.NATIVE_REQUEST,
            item_id=f"{attempt.attempt_id}:request.{each.request.request_id}",
            since_ms=each.since_ms,
            title=f"{visit.node} asks for {each.request.kind}",
            detail=each.request.question,
        )
        for each in attempt.requests
        if not each.answered
    ]


def _item(
    run: Run,
    visit: Visit,
    kind: AttentionKind,
    *,
    item_id: str,
    since_ms: int,
    title: str,
    detail: str,
) -> AttentionItem:
    attempt = visit.attempt
    return AttentionItem(
        item_id=item_id,
        run_id=run.run_id,
        kind=kind,
        node=visit.node,
        title=title,
        detail=detail,
        since_ms=since_ms,
        thread_id=ids.thread_id(attempt.attempt_id) if attempt is not None else None,
    )
