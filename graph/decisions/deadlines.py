"""Deadlines that have come."""

from pointsman.graph.commands import FireDeadline
from pointsman.graph.events import AttemptTimedOut, TimeLimit
from pointsman.graph.project import deadlines
from pointsman.graph.projection import DeadlineKind
from pointsman.graph.rejections import Rejected, RejectionCode
from pointsman.graph.replies import Accepted, Reply, Verdict
from pointsman.graph.review_events import BranchDeadlinePassed
from pointsman.graph.run import Run


def fire_deadline(run: Run, command: FireDeadline, at_ms: int) -> Verdict:
    """End what a deadline bounds, if it is still set and due.

    The row may be older than the state: a request opened meanwhile has stopped the clock.
    """
    for deadline in deadlines(run):
        if deadline.deadline_id == command.deadline_id and deadline.due_at_ms <= at_ms:
            match deadline.kind:
                case DeadlineKind.EXECUTION_TIMEOUT:
                    over: AttemptTimedOut | BranchDeadlinePassed = AttemptTimedOut(
                        attempt_id=deadline.subject_id
                    )
                case DeadlineKind.HUMAN_RESPONSE:
                    over = AttemptTimedOut(attempt_id=deadline.subject_id, limit=TimeLimit.ANSWER)
                case DeadlineKind.BRANCH_DEADLINE:
                    over = BranchDeadlinePassed(branch_id=deadline.subject_id)
            return Accepted(events=(over,), reply=Reply(run_id=run.run_id))
    return Rejected(
        code=RejectionCode.NOT_DUE, message=f"{command.deadline_id} is not due, or not set"
    )
