"""The intents of outside work: an agent's attempt, or one start of a check."""

from typing import Final

from pointsman.graph import ids
from pointsman.graph.attempt import (
    Attempt,
    AttemptStatus,
    ReminderStatus,
    Tried,
    limit_in_words,
)
from pointsman.graph.definition import CheckNode
from pointsman.graph.intents import (
    AnswerRequest,
    CancelCheck,
    Intent,
    InterruptExecution,
    LaunchExecution,
    ResumeExecution,
    SendReminder,
    StartCheck,
)
from pointsman.graph.prompt import launch_prompt, reminder_text
from pointsman.graph.review_set import ReviewBranch
from pointsman.graph.run import CheckTry, CheckTryStatus, Run, Visit
from pointsman.graph.tried import assigned

OPEN_CHECK: Final = frozenset({CheckTryStatus.SCHEDULED, CheckTryStatus.LAUNCHED})


def attempt_may_run(attempt: Attempt) -> bool:
    """Tell whether the host may have processes of an attempt."""
    if attempt.status is AttemptStatus.REFUSED:
        return attempt.refusal_unknown and not attempt.interrupted
    return attempt.status is not AttemptStatus.SETTLED and not attempt.interrupted


def check_may_run(check: CheckTry) -> bool:
    """Tell whether the host may have processes of a check."""
    return (check.status in OPEN_CHECK or check.unknown) and not check.interrupted


def interrupt(run: Run, attempt: Attempt, reason: str) -> InterruptExecution:
    """Return the order that ends an attempt; each resume may be ended once more."""
    return InterruptExecution(
        intent_id=ids.effect_key(attempt.attempt_id, f"interrupt.{attempt.resumes}"),
        run_id=run.run_id,
        attempt_id=attempt.attempt_id,
        reason=reason,
    )


def cancel(run: Run, check: CheckTry) -> CancelCheck:
    """Return the order that ends a check."""
    key = ids.effect_key(check.check_id, "cancel")
    return CancelCheck(intent_id=key, run_id=run.run_id, check_id=check.check_id)


def of_attempt(run: Run, tried: Tried, attempt: Attempt) -> tuple[Intent, ...]:
    """Return what an attempt of a visit or a branch owes."""
    unknown = attempt.refusal_unknown or attempt.turn_unknown is not None
    if unknown and attempt_may_run(attempt):
        return (interrupt(run, attempt, "whether its work was begun cannot be known"),)
    if unknown or attempt.status in (AttemptStatus.SETTLED, AttemptStatus.REFUSED):
        return ()
    if attempt.timed_out:
        over = isinstance(tried, ReviewBranch) and tried.deadline_passed
        limit = "the branch's deadline has passed" if over else limit_in_words(attempt)
        return () if attempt.interrupted else (interrupt(run, attempt, limit),)
    if attempt.status is AttemptStatus.SCHEDULED:
        return (_launch(run, tried, attempt),)
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
        owed.append(_reminder(run, attempt))
    return tuple(owed)


def _reminder(run: Run, attempt: Attempt) -> SendReminder:
    work = assigned(run.workflow, attempt.attempt_id)
    assert work is not None, f"{attempt.attempt_id} is no agent's"
    return SendReminder(
        intent_id=ids.effect_key(attempt.attempt_id, "reminder"),
        run_id=run.run_id,
        attempt_id=attempt.attempt_id,
        text=reminder_text(work.report),
    )


def _launch(run: Run, tried: Tried, attempt: Attempt) -> LaunchExecution:
    work = assigned(run.workflow, attempt.attempt_id)
    assert work is not None, f"{attempt.attempt_id} is no agent's"
    own = ids.workspace_key(run.run_id)
    return LaunchExecution(
        intent_id=ids.effect_key(attempt.attempt_id, "launch"),
        run_id=run.run_id,
        attempt_id=attempt.attempt_id,
        thread_id=ids.thread_id(attempt.attempt_id),
        workspace_key=tried.workspace_key if isinstance(tried, ReviewBranch) else own,
        agent=work.agent,
        prompt=launch_prompt(run, tried, work),
        env=run.workflow.workspace.env,
        skill=run.skill_for(work.agent),
    )


def of_check(run: Run, visit: Visit, check: CheckTry) -> tuple[Intent, ...]:
    """Return what a start of a check owes."""
    if check.unknown and check_may_run(check):
        return (cancel(run, check),)
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
