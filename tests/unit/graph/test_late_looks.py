"""What was seen of an agent's work before a later turn began is never that turn's end.

The host's answer to a look may be overtaken by the launch, a reminder or a resume; a simulation
found an agent that was taken for gone, and left running, because it was looked at too early.
"""

from pointsman.graph import commands as cmd
from pointsman.graph.attempt import AttemptStatus
from pointsman.graph.replies import Verdict
from pointsman.graph.work import Stop, WorkPhase
from tests.harness.core import Process, code_of


def seen(process: Process, turns_begun: int) -> Verdict:
    """Tell that nothing was there when the run knew of this many turns."""
    gone = process.aggregate(phase=WorkPhase.GONE, runs=())
    return process.send(cmd.ObserveWork(work=gone, turns_begun=turns_begun))


def test_what_was_seen_before_the_launch_does_not_end_the_work() -> None:
    process = Process().launch()
    assert code_of(seen(process, turns_begun=0)) == "not_current"
    assert process.attempt.status is AttemptStatus.LAUNCHED
    assert code_of(seen(process, turns_begun=1)) == "accepted"


def test_what_was_seen_before_a_reminder_does_not_end_the_reminded_work() -> None:
    process = Process().launch()
    process.observe()
    process.take("send_reminder")
    assert code_of(seen(process, turns_begun=1)) == "not_current"
    seen(process, turns_begun=2)
    assert process.attempt.status is AttemptStatus.SETTLED


def test_what_was_seen_before_a_resume_does_not_end_the_resumed_work() -> None:
    process = Process().launch()
    process.observe(stop=Stop(by="user"), resumable=True)
    why = process.visit.unresolved
    assert why is not None
    attempt_id = process.attempt.attempt_id
    resume = cmd.ResumeAttempt(attempt_id=attempt_id, revision=why.revision, requested_by="ann")
    assert code_of(process.send(resume)) == "accepted"
    process.take("resume_execution", continuity="native")
    assert code_of(seen(process, turns_begun=1)) == "not_current"
    assert process.attempt.status is AttemptStatus.LAUNCHED
    assert code_of(seen(process, turns_begun=2)) == "accepted"
