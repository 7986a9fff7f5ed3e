"""Compute a run's projection: summary, outbox, deadlines and attention, from its state alone."""

from pointsman.graph import ids
from pointsman.graph.allowed import deciders, in_words
from pointsman.graph.attempt import AttemptStatus
from pointsman.graph.freshness import moved, relied_on
from pointsman.graph.owed import open_work, owed_intents
from pointsman.graph.projection import (
    AttentionItem,
    AttentionKind,
    Deadline,
    DeadlineKind,
    Projection,
    RunSummary,
)
from pointsman.graph.review_set import ReviewBranch
from pointsman.graph.run import OpenGate, Run, Visit
from pointsman.graph.tried import assigned, attempts_in_force, in_force


def project(run: Run) -> Projection:
    """Return everything the state implies for the outside."""
    return Projection(
        summary=_summary(run),
        outbox=owed_intents(run),
        deadlines=deadlines(run),
        attention=_attention(run),
    )


def deadlines(run: Run) -> tuple[Deadline, ...]:
    """Return the deadlines in force: of running work, and of open reviewers absolutely."""
    if run.ended or run.cancellation is not None:
        return ()
    found = [
        Deadline(
            deadline_id=f"{attempt.attempt_id}:timeout",
            run_id=run.run_id,
            kind=DeadlineKind.EXECUTION_TIMEOUT,
            due_at_ms=attempt.running_since_ms + attempt.remaining_ms,
        )
        for _, attempt in attempts_in_force(run)
        if attempt.running_since_ms is not None and attempt.status is AttemptStatus.LAUNCHED
    ]
    found += _for_answers(run)
    review = run.review_underway
    found += [
        Deadline(
            deadline_id=f"{branch.branch_id}:deadline",
            run_id=run.run_id,
            kind=DeadlineKind.BRANCH_DEADLINE,
            due_at_ms=branch.due_at_ms,
        )
        for branch in (review.open_branches if review is not None else ())
        if not branch.deadline_passed
    ]
    return tuple(found)


def _for_answers(run: Run) -> list[Deadline]:
    """Return when a person must have answered, where the definition bounds that."""
    found = []
    for _, attempt in attempts_in_force(run):
        work = assigned(run.workflow, attempt.attempt_id)
        if work is None or work.answer_within is None or attempt.timed_out:
            continue
        found += [
            Deadline(
                deadline_id=f"{attempt.attempt_id}:answer.{each.request.request_id}",
                run_id=run.run_id,
                kind=DeadlineKind.HUMAN_RESPONSE,
                due_at_ms=each.since_ms + work.answer_within * 1000,
            )
            for each in attempt.requests
            if not each.answered
        ]
    return found


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
            node=ids.place_of(subject).node,
            title="Processes could not be ended",
            detail=f"{left.count} processes of {subject} are still there; end them by hand",
            since_ms=left.since_ms,
        )
        for subject, left in run.processes_left.items()
    ]
    if run.visit is None or run.ended or run.cancellation is not None:
        return tuple(items)
    return (*items, *_of_gate(run, run.visit), *_of_work(run))


def _of_gate(run: Run, visit: Visit) -> list[AttentionItem]:
    if visit.gate is None or visit.gate.decision is not None:
        return []
    return [
        AttentionItem(
            item_id=f"{visit.gate.gate_id}:review",
            run_id=run.run_id,
            kind=AttentionKind.AWAITING_REVIEW,
            node=visit.node,
            title=visit.gate.title,
            detail=_to_decide(run, visit.gate),
            since_ms=visit.gate.since_ms,
        )
    ]


def _to_decide(run: Run, gate: OpenGate) -> str:
    review = relied_on(run)
    if review is not None and review.stale is not None:
        return f"no approval any more: {moved(review)}; review again, or decide what is offered"
    may = deciders(run)
    by = f" (by {in_words(may)} only)" if may is not None else ""
    return f"decide: {', '.join(gate.offered)}{by}"


def _of_work(run: Run) -> list[AttentionItem]:
    """Name the visits and branches that are unresolved, and the questions of agents at work."""
    items: list[AttentionItem] = []
    tried_now: list[Visit | ReviewBranch] = list(in_force(run))
    for tried in tried_now:
        place = ids.place_of(tried.tried_id)
        who = f"{place.node} {place.branch}" if place.branch is not None else place.node
        if tried.unresolved is not None:
            why = tried.unresolved
            items.append(
                _item(
                    run,
                    tried,
                    AttentionKind.UNRESOLVED,
                    item_id=f"{tried.tried_id}:unresolved.{why.revision}",
                    since_ms=why.since_ms,
                    title=f"{who} is unresolved: {why.reason}",
                    detail=why.detail,
                )
            )
            continue
        items += [
            _item(
                run,
                tried,
                AttentionKind.NATIVE_REQUEST,
                item_id=f"{tried.attempt.attempt_id}:request.{each.request.request_id}",
                since_ms=each.since_ms,
                title=f"{who} asks for {each.request.kind}",
                detail=each.request.question,
            )
            for each in (tried.attempt.requests if tried.attempt is not None else ())
            if not each.answered and tried.attempt is not None and not tried.attempt.timed_out
        ]
    return items


def _item(
    run: Run,
    tried: Visit | ReviewBranch,
    kind: AttentionKind,
    *,
    item_id: str,
    since_ms: int,
    title: str,
    detail: str,
) -> AttentionItem:
    place, attempt = ids.place_of(tried.tried_id), tried.attempt
    return AttentionItem(
        item_id=item_id,
        run_id=run.run_id,
        kind=kind,
        node=place.node,
        title=title,
        detail=detail,
        since_ms=since_ms,
        thread_id=ids.thread_id(attempt.attempt_id) if attempt is not None else None,
        branch=place.branch,
    )
