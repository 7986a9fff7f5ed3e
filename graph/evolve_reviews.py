"""Evolve, for parallel reviews: review sets, their branches, and how fresh they are."""

from typing import Any, assert_never

from pointsman.graph import events as ev
from pointsman.graph import evolve_work as work
from pointsman.graph import ids
from pointsman.graph import review_events as rev
from pointsman.graph.attempt import OPEN_ATTEMPT, Unresolved
from pointsman.graph.changes import WorkspaceHead
from pointsman.graph.definition import ParallelNode
from pointsman.graph.evidence import HeadReading
from pointsman.graph.results import GateDecision
from pointsman.graph.review_set import BranchEnding, ReviewBranch, ReviewSet, Verified
from pointsman.graph.run import HeadComparison, Refusal, Run, Visit
from pointsman.graph.workspace import WorkspaceStatus

ReviewEvent = (
    rev.ChangeFrozen
    | rev.ChangeRefused
    | rev.ReviewForked
    | rev.CheckoutVerified
    | rev.BranchDeadlinePassed
    | rev.BranchInterrupted
    | rev.BranchEnded
    | rev.HeadCompared
    | rev.JoinCommitted
    | rev.ReviewAgainRequested
)


def reviewed(run: Run, event: ReviewEvent, sequence: int, at_ms: int) -> Run:
    """Apply an event of a parallel review."""
    match event:
        case rev.ChangeFrozen():
            return _frozen(run, event)
        case rev.ChangeRefused(reason=reason, message=message):
            refusal = Refusal(reason=reason, message=message)
            return work.with_visit(run, freeze_refused=refusal, try_owed=False)
        case rev.ReviewForked():
            return _forked(run, event, at_ms)
        case rev.CheckoutVerified():
            seen = Verified(misfit=event.misfit, unreadable=event.checkout.unreadable)
            return with_branch(run, event.branch_id, **{f"at_{event.moment}": seen})
        case rev.BranchDeadlinePassed():
            return _deadline_passed(run, event.branch_id)
        case rev.BranchInterrupted():
            why = Unresolved(
                reason=ev.UnresolvedReason.INTERRUPTED,
                detail=event.detail,
                revision=sequence,
                since_ms=at_ms,
            )
            return with_branch(run, event.branch_id, unresolved=why)
        case rev.BranchEnded():
            ending = BranchEnding(outcome=event.outcome, reason=event.reason, detail=event.detail)
            return with_branch(run, event.branch_id, ending=ending, unresolved=None, try_owed=False)
        case rev.HeadCompared():
            return _compared(run, event, sequence)
        case rev.JoinCommitted():
            review = run.reviews[event.node].model_copy(update={"outcome": event.outcome})
            return _with_review(run, review)
        case rev.ReviewAgainRequested():
            return work.with_visit(run, again=event.group, unresolved=None)
        case _:
            assert_never(event)


def branch_of(run: Run, branch_id: str) -> ReviewBranch:
    """Return a branch of the latest review set of its group."""
    place = ids.place_of(branch_id)
    found = [b for b in _review_of(run, place.node).branches if b.branch_id == branch_id]
    assert found, f"{branch_id} is of no review set that is kept"
    return found[0]


def with_branch(run: Run, branch_id: str, **changes: Any) -> Run:
    """Return the run with a branch changed."""
    review = _review_of(run, ids.place_of(branch_id).node)
    branches = tuple(
        branch.model_copy(update=changes) if branch.branch_id == branch_id else branch
        for branch in review.branches
    )
    return _with_review(run, review.model_copy(update={"branches": branches}))


def branch_attempted(run: Run, event: work.AttemptEvent, at_ms: int) -> Run:
    """Apply an event of a reviewer's attempt."""
    branch_id = ids.place_of(event.attempt_id).branch_id
    assert branch_id is not None, f"{event.attempt_id} is of no branch"
    branch = branch_of(run, branch_id)
    changes = work.attempt_changes(branch, event, at_ms)
    if isinstance(event, ev.AttemptStarted):
        changes |= {"at_launch": None, "at_settlement": None}
    if isinstance(event, ev.ResumeRequested):
        changes |= {"at_settlement": None}
    if isinstance(event, ev.AttemptLaunched) and not branch.launched:
        changes |= {"launched": True, "due_at_ms": at_ms + branch.deadline_ms}
    return with_branch(run, branch_id, **changes)


def branch_workspace(
    run: Run, event: ev.WorkspacePrepared | ev.WorkspaceRefused | ev.WorkspaceReleased
) -> Run:
    """Apply what became of a reviewer's worktree; those of earlier review sets are let go of."""
    for review in run.reviews.values():
        for branch in review.branches:
            if branch.workspace_key == event.workspace_key:
                changed = branch.workspace.model_copy(update=work.workspace_fields(event))
                return with_branch(run, branch.branch_id, workspace=changed)
    left = tuple(key for key in run.workspaces_to_release if key != event.workspace_key)
    return run.model_copy(update={"workspaces_to_release": left})


def _with_review(run: Run, review: ReviewSet) -> Run:
    return run.model_copy(update={"reviews": {**run.reviews, review.join: review}})


def _review_of(run: Run, group: str) -> ReviewSet:
    node = run.workflow.nodes[group]
    assert isinstance(node, ParallelNode), f"{group} is no group"
    return run.reviews[node.join]


def _frozen(run: Run, event: rev.ChangeFrozen) -> Run:
    node = run.workflow.nodes[event.node]
    assert isinstance(node, ParallelNode), f"{event.node} is no group"
    review = ReviewSet(
        review_set_id=event.review_set_id,
        group=event.node,
        join=node.join,
        change=event.change,
        frozen_commit=event.frozen_commit,
        base_commit=event.base_commit,
        diff_stat=event.diff_stat,
        left_out=event.left_out,
        committed=event.committed,
        mark=event.mark,
    )
    changed = _set_aside(run, run.reviews.get(node.join))
    changed = _with_review(work.with_visit(changed, try_owed=False), review)
    if isinstance(event.change, WorkspaceHead):
        changed = changed.model_copy(update={"head_commit": event.frozen_commit})
    return changed


def _set_aside(run: Run, earlier: ReviewSet | None) -> Run:
    """Keep of an earlier generation its receipts and the worktrees that are still there."""
    if earlier is None:
        return run
    released = WorkspaceStatus.RELEASED
    return run.model_copy(
        update={
            "earlier_reports": {
                **run.earlier_reports,
                **work.receipts(a for branch in earlier.branches for a in branch.attempts),
            },
            "workspaces_to_release": (
                *run.workspaces_to_release,
                *(b.workspace_key for b in earlier.branches if b.workspace.status is not released),
            ),
        }
    )


def _forked(run: Run, event: rev.ReviewForked, at_ms: int) -> Run:
    branches = tuple(
        ReviewBranch(
            branch=each.branch,
            branch_id=each.branch_id,
            workspace_key=each.workspace_key,
            inputs=each.inputs,
            references=each.references,
            deadline_ms=each.deadline_s * 1000,
            due_at_ms=at_ms + each.deadline_s * 1000,
            try_owed=True,
        )
        for each in event.branches
    )
    review = run.reviews[event.join].model_copy(update={"branches": branches})
    return _with_review(run, review).model_copy(update={"visits_used": event.visits_used})


def _deadline_passed(run: Run, branch_id: str) -> Run:
    branch = branch_of(run, branch_id)
    attempt = branch.attempt
    attempts = branch.attempts
    if attempt is not None and attempt.status in OPEN_ATTEMPT:
        attempts = (*attempts[:-1], attempt.model_copy(update=work.over_fields()))
    return with_branch(run, branch_id, deadline_passed=True, attempts=attempts)


def _compared(run: Run, event: rev.HeadCompared, sequence: int) -> Run:
    changed = work.with_visit(run, comparison=HeadComparison(head=event.head, why=event.why))
    reading = HeadReading(head_commit=event.head, returned=event.returned)
    if not reading.has_left(event.frozen_commit):
        return changed
    for review in run.reviews.values():
        if review.review_set_id == event.review_set_id:
            changed = _with_review(changed, review.model_copy(update={"stale": event.head}))
    visit: Visit | None = changed.visit
    if visit is None or visit.gate is None:
        return changed
    # The approval is withdrawn; the new revision makes a click on the old one a stale one.
    offered = tuple(each for each in visit.gate.offered if each is not GateDecision.APPROVE)
    gate = visit.gate.model_copy(update={"offered": offered, "revision": sequence})
    return work.with_visit(changed, gate=gate)
