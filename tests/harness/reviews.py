"""Drives parallel reviews of the pure core by hand: the host's part for each branch, by name."""

import copy
from typing import Any

from pointsman.graph import commands as cmd
from pointsman.graph import ids
from pointsman.graph.allowed import allowed_actions
from pointsman.graph.attempt import Attempt
from pointsman.graph.definition import Workflow
from pointsman.graph.evidence import Checkout, HeadReading
from pointsman.graph.intents import Intent, PrepareWorkspace, VerifyCheckout
from pointsman.graph.made_up import turn
from pointsman.graph.owed import owed_intents
from pointsman.graph.replies import Verdict
from pointsman.graph.results import GateDecision
from pointsman.graph.review_set import ReviewBranch, ReviewSet
from pointsman.graph.work import Receipt, ReceiptStatus, Stop, WorkAggregate, WorkPhase
from tests.harness.core import Process, agent, envelope, field, workflow

FROZEN = "2" * 40
OTHER = "3" * 40
BRANCHES = ("code", "security", "ux")


def reviewer(**more: Any) -> dict[str, Any]:
    """Return a branch of the scripted provider that must report how many blockers it found."""
    return {
        "agent": {"provider": "scripted", "mode": "review"},
        "focus": "bugs",
        "report": {"fields": {"blockers": field("number", required=True)}},
        **more,
    }


def reviewed(
    branches: tuple[str, ...] = BRANCHES, *, top: dict[str, Any] | None = None, **nodes: Any
) -> Workflow:
    """Return work → reviewers → review → verdict (back once) → gate, with nodes replaced.

    ``top`` are further keys of the workflow itself.
    """
    found = [{"field": f"join.review.{each}.blockers", "gt": 0} for each in branches]
    back = {"to": "work", "repeat": {"max": 1, "at_limit": "look"}}
    made: dict[str, Any] = {
        "work": agent("reviewers"),
        "reviewers": {
            "kind": "parallel",
            "freeze": "workspace",
            "branches": {each: reviewer() for each in branches},
            "join": "review",
        },
        "review": {"kind": "join", "of": "reviewers", "next": "verdict"},
        "verdict": {
            "kind": "decision",
            "rules": [{"name": "a reviewer found blockers", "when": {"any": found}, **back}],
            "otherwise": "approve",
        },
        "approve": {
            "kind": "gate",
            "title": "Approve the reviewed change",
            "review": "review",
            "decisions": {"approve": "done", "request_changes": back},
        },
        "look": {"kind": "gate", "title": "A person must look"},
        "done": {"kind": "end"},
    }
    return workflow(entry="work", nodes={**made, **nodes}, **(top or {}))


def quiet_work(attempt: Attempt) -> WorkAggregate:
    """Return the work of an attempt, quiet after all turns that were asked for."""
    turns = [turn(1)]
    if attempt.reminder == "delivered":
        turns.append(turn(2, cause_key=ids.effect_key(attempt.attempt_id, "reminder")))
    for number in range(1, attempt.resumes + 1):
        key = ids.effect_key(attempt.attempt_id, f"resume.{number}")
        turns.append(turn(len(turns) + 1, cause_key=key))
    return WorkAggregate(
        attempt_id=attempt.attempt_id,
        host_sequence=1,
        phase=WorkPhase.QUIET,
        runs=tuple(turns),
    )


class ReviewProcess(Process):
    """A run of the core that comes to parallel reviewers.

    ``prepare`` to ``settle`` are the host's part for one branch; ``complete`` is all of them.
    """

    def __init__(self, definition: Workflow | None = None, **inputs: Any) -> None:
        super().__init__(definition or reviewed(), **inputs)

    def twin(self) -> "ReviewProcess":
        """Return a process that goes on from the same moment by itself."""
        twin = copy.copy(self)
        twin.recorded = list(self.recorded)
        return twin

    @property
    def review(self) -> ReviewSet:
        return self.state.reviews["review"]

    def branch(self, name: str) -> ReviewBranch:
        return next(each for each in self.review.branches if each.branch == name)

    def attempt_of(self, name: str) -> Attempt:
        attempt = self.branch(name).attempt
        assert attempt is not None
        return attempt

    def to_the_group(self) -> "ReviewProcess":
        """Let the first agent's work end well."""
        self.work()
        return self

    def freeze(self, commit: str = FROZEN, **host_ref: Any) -> "ReviewProcess":
        """Freeze the change, which forks the reviewers."""
        made = {"frozen_commit": commit, "base_commit": "1" * 40, "diff_stat": " a.py | 1 +"}
        self.take("freeze_change", **{**made, **host_ref})
        return self

    def fork(self) -> "ReviewProcess":
        """Come to three reviewers, none of them begun at the host."""
        return self.to_the_group().freeze()

    def owed_by(self, name: str) -> list[Intent]:
        """Return what a branch owes now, the letting go of its worktree included."""
        branch = self.branch(name)
        return [
            intent
            for intent in owed_intents(self.state)
            if getattr(intent, "workspace_key", None) == branch.workspace_key
            or f".{name}." in getattr(intent, "attempt_id", "")
        ]

    def take_for(self, name: str, kind: str, **host_ref: Any) -> Verdict:
        """Have the host accept what a branch owes."""
        return self._receive(name, kind, ReceiptStatus.ACCEPTED, host_ref)

    def refuse_for(self, name: str, kind: str, reason: str = "refused") -> Verdict:
        """Have the host reject what a branch owes."""
        return self._receive(name, kind, ReceiptStatus.REJECTED, {}, reason)

    def _receive(
        self,
        name: str,
        kind: str,
        status: ReceiptStatus,
        host_ref: dict[str, Any],
        reason: str | None = None,
    ) -> Verdict:
        key = next(each.intent_id for each in self.owed_by(name) if each.kind == kind)
        receipt = Receipt(
            idempotency_key=key, status=status, host_ref=host_ref, reason=reason, message=reason
        )
        return self.send(cmd.RecordReceipt(intent_id=key, receipt=receipt))

    def prepare(self, name: str) -> "ReviewProcess":
        """Make the branch's worktree."""
        order = next(each for each in self.owed_by(name) if isinstance(each, PrepareWorkspace))
        self.take_for(name, order.kind, path=f"/w/{name}", head_commit=order.base_commit)
        return self

    def verify(self, name: str, **changes: Any) -> Verdict:
        """Look at the branch's checkout; by default it is what was frozen."""
        order = next(each for each in self.owed_by(name) if isinstance(each, VerifyCheckout))
        seen = Checkout(head_commit=order.commit, top_level=True).model_copy(update=changes)
        return self.send(cmd.ObserveCheckout(intent_id=order.intent_id, checkout=seen))

    def launch_branch(self, name: str) -> "ReviewProcess":
        """Bring a branch to its launch."""
        self.prepare(name)
        self.verify(name)
        self.take_for(name, "launch_execution", host_run_id="1")
        return self

    def report_of(self, name: str, blockers: int = 0, **changes: Any) -> Verdict:
        """Report as a branch."""
        made = envelope(**{"data": {"blockers": blockers}, **changes})
        attempt = self.attempt_of(name).attempt_id
        return self.send(cmd.SubmitReport(attempt_id=attempt, envelope=made))

    def recorded_report(self, attempt_id: str, blockers: int = 0) -> cmd.SubmitReport:
        """Return the very report that ``report_of`` gave for an attempt."""
        made = envelope(data={"blockers": blockers})
        return cmd.SubmitReport(attempt_id=attempt_id, envelope=made)

    def observe_branch(self, name: str, **changes: Any) -> Verdict:
        """Show a branch's work; by default quiet after all turns that were asked for."""
        quiet = quiet_work(self.attempt_of(name))
        return self.send(cmd.ObserveWork(work=quiet.model_copy(update=changes)))

    def settle(self, name: str, **changes: Any) -> "ReviewProcess":
        """Let a launched and reported branch go quiet, and find its checkout unchanged."""
        self.observe_branch(name, **changes)
        if any(each.kind == "verify_checkout" for each in self.owed_by(name)):
            assert self.attempt_of(name).outcome is not None
            self.verify(name)
        return self

    def complete(self, *names: str, blockers: int = 0) -> "ReviewProcess":
        """Let branches do their whole work well."""
        for name in names or tuple(each.branch for each in self.review.branches):
            self.launch_branch(name)
            self.report_of(name, blockers)
            self.settle(name)
        return self

    # --- what goes wrong, and what people do about it ---

    def stop(self, name: str, *, resumable: bool = True) -> Verdict:
        """Have a person stop a branch's agent."""
        return self.observe_branch(name, stop=Stop(by="user"), resumable=resumable)

    def fire(self, deadline_id: str, after_s: int = 7200) -> Verdict:
        """Let time go by, and one deadline come."""
        self.now_ms += after_s * 1000
        return self.send(cmd.FireDeadline(deadline_id=deadline_id))

    def pass_deadline(self, name: str, after_s: int = 7200) -> Verdict:
        """Let a branch's absolute deadline come."""
        return self.fire(f"{self.branch(name).branch_id}:deadline", after_s)

    def time_out(self, name: str) -> Verdict:
        """Let the execution timeout of a branch's attempt run out."""
        return self.fire(f"{self.attempt_of(name).attempt_id}:timeout")

    def retry_branch(self, name: str) -> Verdict:
        branch = self.branch(name)
        revision = branch.unresolved.revision if branch.unresolved is not None else -1
        command = cmd.RetryVisit(visit_id=branch.branch_id, revision=revision, requested_by="ann")
        return self.send(command)

    def resume_branch(self, name: str) -> Verdict:
        branch = self.branch(name)
        revision = branch.unresolved.revision if branch.unresolved is not None else -1
        attempt = self.attempt_of(name).attempt_id
        command = cmd.ResumeAttempt(attempt_id=attempt, revision=revision, requested_by="ann")
        return self.send(command)

    def review_again(self) -> Verdict:
        """Ask for a new generation where it is offered."""
        offered = [each for each in allowed_actions(self.state) if each.action == "review_again"]
        target, revision = (
            (offered[0].target, offered[0].revision or 0) if offered else (self.visit.visit_id, 0)
        )
        command = cmd.ReviewAgain(visit_id=target, revision=revision, requested_by="ann")
        return self.send(command)

    def actions(self) -> list[tuple[str, str]]:
        """Return what people may do now, each with the last part of its target."""
        return [
            (each.action.value, each.target.partition(".")[2])
            for each in allowed_actions(self.state)
        ]

    def ending(self, name: str) -> str | None:
        """Return how a branch ended: its outcome, and the reason if there is one."""
        ending = self.branch(name).ending
        if ending is None:
            return None
        return " ".join(each.value for each in (ending.outcome, ending.reason) if each is not None)

    def see_head(self, head: str | None = FROZEN, why: str | None = None) -> Verdict:
        """Show where the reviewed change stands, to the visit that waits for it or to the gate."""
        return self.see_head_for(self.visit.visit_id, head, why)

    def see_head_for(
        self, visit_id: str, head: str | None = FROZEN, why: str | None = None
    ) -> Verdict:
        reading = HeadReading(head_commit=head, unavailable=why)
        return self.send(cmd.ObserveHead(visit_id=visit_id, reading=reading))

    def approve(self, head: str | None = FROZEN, **more: Any) -> Verdict:
        """Approve, with the head as it was read for this very command."""
        reading = HeadReading(head_commit=head, unavailable=None if head else "unreachable")
        return self.decide_gate(GateDecision.APPROVE, head=reading, **more)

    def to_the_gate(self) -> "ReviewProcess":
        """Come to the gate after a review in which everybody was content."""
        self.fork().complete().see_head()
        return self


__all__ = [
    "BRANCHES",
    "FROZEN",
    "OTHER",
    "ReviewProcess",
    "quiet_work",
    "reviewed",
    "reviewer",
]
