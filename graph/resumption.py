"""When a session goes on by itself: only one that was lost, only as often as the author said."""

from pointsman.graph.attempt import Attempt
from pointsman.graph.declarations import AgentResume
from pointsman.graph.events import ResumeRequested
from pointsman.graph.settlement import SettlementOutcome


def resumed_by_policy(policy: AgentResume | None, attempt: Attempt) -> tuple[ResumeRequested, ...]:
    """Let a lost session go on, if the author allowed it; never one that somebody stopped."""
    interrupted = attempt.outcome is SettlementOutcome.INTERRUPTED
    if policy is None or not (interrupted and attempt.lost and attempt.resumable):
        return ()
    if attempt.resumes_by_policy >= policy.max:
        return ()
    number = attempt.resumes + 1
    return (ResumeRequested(attempt_id=attempt.attempt_id, number=number, requested_by=None),)
