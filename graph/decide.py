"""Decide: the one match over commands. A new command does not type-check until it stands here."""

from typing import assert_never

from pointsman.graph import commands as cmd
from pointsman.graph.decisions import (
    deadlines,
    freshness,
    gates,
    lifecycle,
    observations,
    people,
    receipts,
    reports,
)
from pointsman.graph.rejections import Rejected, RejectionCode
from pointsman.graph.replies import Accepted, Reply, Verdict
from pointsman.graph.run import Run

# What an ended run still takes: exact retries of reports, and late facts of the host.
_AFTER_THE_END = (cmd.SubmitReport, cmd.RecordReceipt, cmd.RecordUnknown, cmd.Advance)


def decide(run: Run | None, command: cmd.Command, at_ms: int) -> Verdict:
    """Judge a command against a run's folded state; a pure function of its arguments."""
    if isinstance(command, cmd.StartRun):
        if run is not None:
            return Rejected(code=RejectionCode.RUN_EXISTS, message="this run exists already")
        return lifecycle.start_run(command)
    if run is None:
        return Rejected(code=RejectionCode.RUN_UNKNOWN, message="there is no such run")
    if run.ended and not isinstance(command, _AFTER_THE_END):
        return Rejected(
            code=RejectionCode.RUN_ENDED,
            message=f"the run has ended ({run.state}); start a new one",
        )
    match command:
        case cmd.SubmitReport():
            return reports.submit_report(run, command, at_ms)
        case cmd.DecideGate():
            return gates.decide_gate(run, command)
        case cmd.CancelRun():
            return lifecycle.cancel_run(run, command)
        case cmd.ResumeAttempt():
            return people.resume_attempt(run, command)
        case cmd.RetryVisit():
            return people.retry_visit(run, command)
        case cmd.ReviewAgain():
            return people.review_again(run, command)
        case cmd.AnswerNativeRequest():
            return people.answer_native_request(run, command)
        case cmd.BindCredential():
            return receipts.bind_credential(run, command)
        case cmd.RecordReceipt():
            return receipts.record_receipt(run, command)
        case cmd.RecordUnknown():
            return receipts.record_unknown(run, command)
        case cmd.ObserveWork():
            return observations.observe_work(run, command)
        case cmd.ObserveCheck():
            return observations.observe_check(run, command)
        case cmd.ObserveCheckout():
            return freshness.observe_checkout(run, command)
        case cmd.ObserveHead():
            return freshness.observe_head(run, command)
        case cmd.FireDeadline():
            return deadlines.fire_deadline(run, command, at_ms)
        case cmd.Advance():
            return Accepted(events=(), reply=Reply(run_id=run.run_id))
        case _:
            assert_never(command)
