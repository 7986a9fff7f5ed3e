"""The intents a run owes the outside world, computed from its state alone.

The outbox is this set as of the last commit; recovery computes it again. Intent ids repeat
for the same purpose, so that issuing one twice is harmless at the host.
"""

from typing import Final

from pointsman.graph import ids
from pointsman.graph.attempt import Attempt, AttemptStatus, ReminderStatus
from pointsman.graph.definition import AgentNode, CheckNode
from pointsman.graph.intents import (
    AnswerRequest,
    CancelCheck,
    Intent,
    InterruptExecution,
    LaunchExecution,
    PrepareWorkspace,
    ReleaseWorkspace,
    ResumeExecution,
    SendReminder,
    StartCheck,
)
from pointsman.graph.prompt import launch_prompt, reminder_text
from pointsman.graph.run import CheckTry, CheckTryStatus, Run, Visit
from pointsman.graph.workspace import WorkspaceStatus

_OPEN_ATTEMPT: Final = frozenset({AttemptStatus.SCHEDULED, AttemptStatus.LAUNCHED})
_OPEN_CHECK: Final = frozenset({CheckTryStatus.SCHEDULED, CheckTryStatus.LAUNCHED})


def owed_intents(run: Run) -> tuple[Intent, ...]:
    """Return everything that must be in flight for this state, in a fixed order."""
    if run.ended:
        return _after_the_end(run)
    if run.visit is None:
        return ()
    if run.cancellation is not None:
        return _endings(run, run.visit, "the run was canceled")
    visit = run.visit
    if visit.unresolved is not None or visit.completed:
        return ()
    if visit.try_owed:
        absent = run.workspace.status is WorkspaceStatus.ABSENT
        return (prepare_workspace(run),) if absent else ()
    if visit.attempt is not None:
        return _of_attempt(run, visit, visit.attempt)
    return _of_check(run, visit, visit.check) if visit.check is not None else ()


def unfinished(run: Run) -> tuple[str, ...]:
    """Return what may have processes at the host: attempts, checks, a worktree's set-up."""
    preparing = (ids.workspace_key(run.run_id),) if _is_preparing(run) else ()
    return (*_work_that_may_run(run), *preparing)


def _work_that_may_run(run: Run) -> tuple[str, ...]:
    visit = run.visit
    if visit is None:
        return ()
    found = [a.attempt_id for a in visit.attempts[-1:] if _attempt_may_run(a)]
    found += [c.check_id for c in visit.checks[-1:] if _check_may_run(c)]
    return tuple(found)


def _is_preparing(run: Run) -> bool:
    """Tell whether the worktree's order may have reached the host, which has not answered."""
    visit = run.visit
    waits = visit is not None and visit.try_owed and visit.unresolved is None
    return waits and run.workspace.status is WorkspaceStatus.ABSENT


def open_work(run: Run) -> tuple[str, ...]:
    """Return the attempts and checks whose state at the host the run still has to learn.

    Work that was interrupted but not yet seen quiet is open: only a look at it settles it.
    """
    visit = run.visit
    if visit is None or run.ended:
        return ()
    if run.cancellation is not None:
        return _work_that_may_run(run)
    attempt, check = visit.attempt, visit.check
    found = []
    if attempt is not None and attempt.status in _OPEN_ATTEMPT:
        found.append(attempt.attempt_id)
    if check is not None and check.status in _OPEN_CHECK:
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
    works = (AgentNode, CheckNode)
    touched = any(isinstance(run.workflow.nodes[node], works) for node in run.visit_counts)
    if not touched or run.workspace.status is WorkspaceStatus.RELEASED:
        return ()
    return (_release(run),)


def _release(run: Run) -> ReleaseWorkspace:
    key = ids.workspace_key(run.run_id)
    return ReleaseWorkspace(intent_id=f"{key}:release", run_id=run.run_id, workspace_key=key)


def _attempt_may_run(attempt: Attempt) -> bool:
    if attempt.status is AttemptStatus.REFUSED:
        return attempt.refusal_unknown and not attempt.interrupted
    return attempt.status is not AttemptStatus.SETTLED and not attempt.interrupted


def _check_may_run(check: CheckTry) -> bool:
    return check.status in _OPEN_CHECK and not check.interrupted


def _endings(run: Run, visit: Visit, reason: str) -> tuple[Intent, ...]:
    owed: list[Intent] = []
    if visit.attempt is not None and _attempt_may_run(visit.attempt):
        owed.append(_interrupt(run, visit.attempt, reason))
    if visit.check is not None and _check_may_run(visit.check):
        check_id = visit.check.check_id
        key = ids.effect_key(check_id, "cancel")
        owed.append(CancelCheck(intent_id=key, run_id=run.run_id, check_id=check_id))
    if _is_preparing(run):
        # Its set-up commands may be at work; letting go of the worktree ends them.
        owed.append(_release(run))
    return tuple(owed)


def _interrupt(run: Run, attempt: Attempt, reason: str) -> InterruptExecution:
    return InterruptExecution(
        intent_id=ids.effect_key(attempt.attempt_id, f"interrupt.{attempt.resumes}"),
        run_id=run.run_id,
        attempt_id=attempt.attempt_id,
        reason=reason,
    )


def _of_attempt(run: Run, visit: Visit, attempt: Attempt) -> tuple[Intent, ...]:
    if attempt.status in (AttemptStatus.SETTLED, AttemptStatus.REFUSED):
        return ()
    if attempt.timed_out:
        if attempt.interrupted:
            return ()
        return (_interrupt(run, attempt, "the execution timeout ran out"),)
    if attempt.status is AttemptStatus.SCHEDULED:
        return (_launch(run, visit, attempt),)
    if attempt.resume_owed:
        key = ids.effect_key(attempt.attempt_id, f"resume.{attempt.resumes}")
        return (ResumeExecution(intent_id=key, run_id=run.run_id, attempt_id=attempt.attempt_id),)
    owed: list[Intent] = [
        AnswerRequest(
            intent_id=ids.effect_key(attempt.attempt_id, f"answer.{each.request.request_id}"),
            request_id=each.request.request_id,
            allow=each.allow,
            text=each.text,
            run_id=run.run_id,
            attempt_id=attempt.attempt_id,
        )
        for each in attempt.requests
        if each.answered
    ]
    if attempt.reminder is ReminderStatus.OWED:
        key = ids.effect_key(attempt.attempt_id, "reminder")
        owed.append(
            SendReminder(
                intent_id=key,
                run_id=run.run_id,
                attempt_id=attempt.attempt_id,
                text=reminder_text(run, visit),
            )
        )
    return tuple(owed)


def _launch(run: Run, visit: Visit, attempt: Attempt) -> LaunchExecution:
    node = run.workflow.nodes[visit.node]
    assert isinstance(node, AgentNode), f"{visit.visit_id} is no agent's"
    return LaunchExecution(
        intent_id=ids.effect_key(attempt.attempt_id, "launch"),
        run_id=run.run_id,
        attempt_id=attempt.attempt_id,
        thread_id=ids.thread_id(attempt.attempt_id),
        workspace_key=ids.workspace_key(run.run_id),
        agent=node.agent,
        prompt=launch_prompt(run, visit, node),
        env=run.workflow.workspace.env,
        skill=run.skill_for(node.agent),
    )


def _of_check(run: Run, visit: Visit, check: CheckTry) -> tuple[Intent, ...]:
    if check.status is not CheckTryStatus.SCHEDULED:
        return ()
    node = run.workflow.nodes[visit.node]
    assert isinstance(node, CheckNode), f"{visit.visit_id} is no check's"
    return (
        StartCheck(
            intent_id=ids.effect_key(check.check_id, "start"),
            run_id=run.run_id,
            check_id=check.check_id,
            workspace_key=ids.workspace_key(run.run_id),
            command=node.run,
            env={**run.workflow.workspace.env, **node.env},
            folder=node.folder,
            timeout_s=node.timeout,
        ),
    )
