"""The intents of parallel reviews: freezing, each branch's next step, heads, and letting go."""

from pointsman.graph import ids
from pointsman.graph.attempt import Attempt, AttemptStatus
from pointsman.graph.changes import RemoteRef, WorkspaceHead, remote_ref
from pointsman.graph.definition import ParallelNode, WorkspaceSetup
from pointsman.graph.intents import (
    FreezeChange,
    Intent,
    PrepareWorkspace,
    ReadHead,
    ReleaseWorkspace,
    VerifyCheckout,
)
from pointsman.graph.owed_work import of_attempt
from pointsman.graph.results import ReportOutcome
from pointsman.graph.review_events import Moment
from pointsman.graph.review_set import ReviewBranch, ReviewSet
from pointsman.graph.reviews import FrozenInput
from pointsman.graph.run import Run, Visit
from pointsman.graph.settlement import SettlementOutcome
from pointsman.graph.workspace import WorkspaceStatus


def change_of(run: Run, node: ParallelNode) -> WorkspaceHead | RemoteRef | None:
    """Return the change a group reviews; ``None`` if its input names none."""
    if not isinstance(node.freeze, FrozenInput):
        branch = ids.branch_name(run.run_id)
        return WorkspaceHead(workspace_key=ids.workspace_key(run.run_id), branch=branch)
    return remote_ref(str(run.inputs[node.freeze.input]), node.freeze.remote)


def freeze(run: Run, visit: Visit, node: ParallelNode) -> tuple[Intent, ...]:
    """Return the order that freezes the change; its id counts the tries."""
    change = change_of(run, node)
    if change is None or not visit.try_owed:
        return ()
    order = FreezeChange(
        intent_id=ids.effect_key(visit.visit_id, f"freeze.{visit.tries}"),
        run_id=run.run_id,
        review_set_id=visit.visit_id,
        repository=run.repository,
        change=change,
        base_commit=run.base_commit,
        uncommitted=node.uncommitted,
    )
    return (order,)


def read_head(run: Run, review: ReviewSet) -> ReadHead:
    """Return the order that looks where the reviewed change stands now, for the visit."""
    assert run.visit is not None, f"{run.run_id} is at no node"
    return ReadHead(
        intent_id=ids.effect_key(run.visit.visit_id, f"head.{run.visit.tries}"),
        run_id=run.run_id,
        visit_id=run.visit.visit_id,
        repository=run.repository,
        change=review.change,
        frozen_commit=review.frozen_commit,
        mark=review.mark,
    )


def of_branch(run: Run, review: ReviewSet, branch: ReviewBranch) -> tuple[Intent, ...]:
    """Return the one next step of an open branch: prepare, verify, launch, and on to its end."""
    attempt = branch.attempt
    if branch.unresolved is not None or branch.try_owed or attempt is None:
        return ()
    if attempt.timed_out:
        return of_attempt(run, branch, attempt) if branch.at_launch is not None else ()
    if branch.workspace.status is WorkspaceStatus.ABSENT:
        return (_prepare(run, review, branch),)
    if attempt.status is AttemptStatus.SCHEDULED and branch.at_launch is None:
        return (_verify(run, review, branch, attempt, Moment.LAUNCH),)
    if awaits_verification(branch, attempt):
        return (_verify(run, review, branch, attempt, Moment.SETTLEMENT),)
    return of_attempt(run, branch, attempt)


def awaits_verification(branch: ReviewBranch, attempt: Attempt) -> bool:
    """Tell whether only the state of its checkout stands between a branch and its completion."""
    well = attempt.outcome is SettlementOutcome.SUCCEEDED and attempt.report is not None
    completed = attempt.report is not None and attempt.report.outcome is ReportOutcome.COMPLETED
    settled = attempt.status is AttemptStatus.SETTLED
    return settled and well and completed and branch.at_settlement is None


def _prepare(run: Run, review: ReviewSet, branch: ReviewBranch) -> PrepareWorkspace:
    node = run.workflow.nodes[review.group]
    assert isinstance(node, ParallelNode), f"{review.group} is no group"
    whole = run.workflow.workspace
    return PrepareWorkspace(
        intent_id=f"{branch.workspace_key}:prepare.{branch.workspace.tries}",
        run_id=run.run_id,
        workspace_key=branch.workspace_key,
        repository=run.repository,
        base_commit=review.frozen_commit,
        branch=None,
        setup=whole if node.setup else WorkspaceSetup(env=whole.env),
        review_set_id=review.review_set_id,
    )


def _verify(
    run: Run, review: ReviewSet, branch: ReviewBranch, attempt: Attempt, moment: Moment
) -> VerifyCheckout:
    return VerifyCheckout(
        intent_id=ids.effect_key(attempt.attempt_id, f"verify.{moment}.{attempt.resumes}"),
        run_id=run.run_id,
        attempt_id=attempt.attempt_id,
        moment=moment,
        workspace_key=branch.workspace_key,
        commit=review.frozen_commit,
    )


def releases(run: Run, *, unfinished_too: bool = False) -> tuple[Intent, ...]:
    """Return the orders that let go of reviewers' worktrees that nobody needs any more.

    A worktree whose making may have reached the host is let go of as well, known or not.
    """
    branches = [b for review in run.reviews.values() for b in review.branches]
    keys = [
        branch.workspace_key
        for branch in branches
        if branch.workspace.status is not WorkspaceStatus.RELEASED
        and (branch.ending is not None or unfinished_too)
    ]
    return tuple(release(run, key) for key in (*run.workspaces_to_release, *keys))


def release(run: Run, key: str) -> ReleaseWorkspace:
    """Return the order that lets go of a worktree."""
    return ReleaseWorkspace(intent_id=f"{key}:release", run_id=run.run_id, workspace_key=key)
