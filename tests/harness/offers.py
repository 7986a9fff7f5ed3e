"""Takes up what a run offers to people: each allowed action as the command that a client sends."""

from pointsman.graph import commands as cmd
from pointsman.graph.advance import advance
from pointsman.graph.allowed import Action, AllowedAction, allowed_actions
from pointsman.graph.decide import decide
from pointsman.graph.events import RecordedEvent
from pointsman.graph.evidence import HeadReading
from pointsman.graph.evolve import evolve
from pointsman.graph.replies import Accepted
from pointsman.graph.results import GateDecision
from tests.harness.core import Process


def command_for(offer: AllowedAction, head: HeadReading | None = None) -> cmd.Command:
    """Return the command of an offer; ``head`` is what is read for an approval."""
    target, revision = offer.target, offer.revision or 0
    match offer.action:
        case Action.APPROVE | Action.REQUEST_CHANGES:
            return cmd.DecideGate(
                gate_id=target,
                revision=revision,
                decision=GateDecision(offer.action.value),
                decided_by="ann",
                review_set_id=offer.review_set_id,
                head=head,
            )
        case Action.REVIEW_AGAIN:
            return cmd.ReviewAgain(visit_id=target, revision=revision, requested_by="ann")
        case Action.ANSWER:
            return cmd.AnswerNativeRequest(
                attempt_id=target, request_id=offer.request_id or "", allow=True, answered_by="ann"
            )
        case Action.RESUME:
            return cmd.ResumeAttempt(attempt_id=target, revision=revision, requested_by="ann")
        case Action.RETRY:
            return cmd.RetryVisit(visit_id=target, revision=revision, requested_by="ann")
        case Action.CANCEL:
            return cmd.CancelRun(requested_by="ann")


def assert_offers_hold(process: Process) -> None:
    """Whatever is offered is accepted, and the run then comes to rest."""
    for offer in allowed_actions(process.state):
        head = HeadReading(head_commit=offer.commit)
        verdict = decide(process.state, command_for(offer, head), process.now_ms)
        assert isinstance(verdict, Accepted), f"{offer} was offered and {verdict}"
        run, events = process.state, verdict.events
        while events:
            for event in events:
                run = evolve(
                    run,
                    RecordedEvent(
                        run_id=run.run_id,
                        sequence=run.version,
                        at_ms=process.now_ms,
                        event=event,
                    ),
                )
            events = advance(run)
        assert run != process.state, f"{offer} changes something"
