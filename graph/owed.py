"""What a run owes the outside world, computed from its state alone.

The outbox is this set as of the last commit; recovery computes it again. Intent ids repeat
for the same purpose, so that issuing one twice is harmless at the host.
"""

from pointsman.graph import ids
from pointsman.graph.attempt import OPEN_ATTEMPT, Attempt, AttemptStatus, ReminderStatus
from pointsman.graph.definition import AgentNode, CheckNode, ParallelNode
from pointsman.graph.freshness import comparison_due
from pointsman.graph.intents import Intent, PrepareWorkspace
from pointsman.graph.owed_reviews import freeze, of_branch, read_head, release, releases
from pointsman.graph.owed_work import (
    OPEN_CHECK,
    attempt_may_run,
    cancel,
    check_may_run,
    interrupt,
    of_attempt,
    of_check,
)
from pointsman.graph.run import Run, Visit
from pointsman.graph.tried import attempts_in_force
from pointsman.graph.workspace import WorkspaceStatus


def owed_intents(run: Run) -> tuple[Intent, ...]:
    """Return everything that must be in flight for this state, in a fixed order."""
    if run.ended:
        return _after_the_end(run)
    if run.visit is None:
        return ()
    if run.cancellation is not None:
        return _endings(run, run.visit, "the run was canceled")
    return (*_of_visit(run, run.visit), *releases(run))


def _of_visit(run: Run, visit: Visit) -> tuple[Intent, ...]:
    if visit.unresolved is not None or visit.completed:
        return ()
    relied_on = comparison_due(run)
    if relied_on is not None:
        return (read_head(run, relied_on),)
    node = run.workflow.nodes[visit.node]
    match node:
        case ParallelNode():
            review = run.review_underway
            if review is None:
                return freeze(run, visit, node)
            branches = review.open_branches
            return tuple(each for b in branches for each in of_branch(run, review, b))
        case AgentNode() | CheckNode() if visit.try_owed:
            absent = run.workspace.status is WorkspaceStatus.ABSENT
            return (prepare_workspace(run),) if absent else ()
        case AgentNode() if visit.attempt is not None:
            return of_attempt(run, visit, visit.attempt)
        case CheckNode() if visit.check is not None:
            return of_check(run, visit, visit.check)
        case _:
            return ()


def unfinished(run: Run) -> tuple[str, ...]:
    """Return what may have processes at the host: attempts, checks, a worktree's set-up."""
    return (*_work_that_may_run(run), *_being_prepared(run))


def _work_that_may_run(run: Run) -> tuple[str, ...]:
    found = [a.attempt_id for _, a in attempts_in_force(run) if attempt_may_run(a)]
    checks = run.visit.checks[-1:] if run.visit is not None else ()
    return (*found, *(check.check_id for check in checks if check_may_run(check)))


def _being_prepared(run: Run) -> tuple[str, ...]:
    """Return the worktrees whose order may have reached the host, which has not answered."""
    visit = run.visit
    if visit is None:
        return ()
    review = run.review_underway
    if review is not None:
        return tuple(
            branch.workspace_key
            for branch in review.open_branches
            if branch.workspace.status is WorkspaceStatus.ABSENT
        )
    works = isinstance(run.node, AgentNode | CheckNode)
    waits = works and visit.try_owed and visit.unresolved is None
    absent = run.workspace.status is WorkspaceStatus.ABSENT
    return (ids.workspace_key(run.run_id),) if waits and absent else ()


def open_work(run: Run) -> tuple[str, ...]:
    """Return the attempts and checks whose state at the host the run still has to learn.

    Work that was interrupted but not yet seen quiet is open: only a look at it settles it.
    """
    visit = run.visit
    if visit is None or run.ended:
        return ()
    if run.cancellation is not None:
        return _work_that_may_run(run)
    found = [a.attempt_id for _, a in attempts_in_force(run) if a.status in OPEN_ATTEMPT]
    check = visit.check
    if check is not None and check.status in OPEN_CHECK:
        found.append(check.check_id)
    return tuple(found)


def expected_turns(attempt: Attempt) -> tuple[str, ...]:
    """Return the effects whose turns the host must show before the work can be settled."""
    keys = []
    if attempt.reminder is ReminderStatus.DELIVERED:
        keys.append(ids.effect_key(attempt.attempt_id, "reminder"))
    if attempt.resumes:
        keys.append(ids.effect_key(attempt.attempt_id, f"resume.{attempt.resumes}"))
    return tuple(keys)


def turns_begun(attempt: Attempt) -> int:
    """Count the turns of an attempt that the host is known to have begun."""
    if attempt.status in (AttemptStatus.SCHEDULED, AttemptStatus.REFUSED):
        return 0
    reminded = attempt.reminder is ReminderStatus.DELIVERED
    return 1 + reminded + attempt.resumes - attempt.resume_owed


def prepare_workspace(run: Run) -> PrepareWorkspace:
    """Return the order that makes the run's own worktree; its id counts the tries."""
    key = ids.workspace_key(run.run_id)
    return PrepareWorkspace(
        intent_id=f"{key}:prepare.{run.workspace.tries}",
        run_id=run.run_id,
        workspace_key=key,
        repository=run.repository,
        base_commit=run.base_commit,
        branch=ids.branch_name(run.run_id),
        setup=run.workflow.workspace,
    )


def _after_the_end(run: Run) -> tuple[Intent, ...]:
    reviewers = releases(run, unfinished_too=True)
    works = (AgentNode, CheckNode)
    touched = any(isinstance(run.workflow.nodes[node], works) for node in run.visit_counts)
    if not touched or run.workspace.status is WorkspaceStatus.RELEASED:
        return reviewers
    return (*reviewers, release(run, ids.workspace_key(run.run_id)))


def _endings(run: Run, visit: Visit, reason: str) -> tuple[Intent, ...]:
    """End what may run. Letting go of a worktree ends the set-up commands at work in it."""
    attempts = [a for _, a in attempts_in_force(run) if attempt_may_run(a)]
    owed: list[Intent] = [interrupt(run, attempt, reason) for attempt in attempts]
    if visit.check is not None and check_may_run(visit.check):
        owed.append(cancel(run, visit.check))
    owed += [release(run, key) for key in _being_prepared(run)]
    return tuple(owed)
