"""Drives the pure core by hand: commands in, folded state out, with no journal and no host.

``Process`` plays the host's part in one line each, so a test reads as the story it tells.
"""

import json
from collections.abc import Callable
from typing import Any

from pointsman.graph import commands as cmd
from pointsman.graph import ids
from pointsman.graph.advance import advance
from pointsman.graph.attempt import Attempt
from pointsman.graph.decide import decide
from pointsman.graph.definition import Workflow
from pointsman.graph.events import Event, RecordedEvent, RouteTaken
from pointsman.graph.evolve import evolve
from pointsman.graph.intents import Intent
from pointsman.graph.made_up import turn
from pointsman.graph.owed import owed_intents
from pointsman.graph.rejections import Rejected
from pointsman.graph.replies import Accepted, Verdict
from pointsman.graph.results import GateDecision
from pointsman.graph.run import CheckTry, Run, Visit
from pointsman.graph.work import (
    CheckExited,
    CheckLost,
    HostRunCause,
    Receipt,
    ReceiptStatus,
    WorkAggregate,
    WorkPhase,
)

RUN_ID = "r0-01hzzzzzzzzzzzzzzzzzzzzzzz"
BASE_COMMIT = "1" * 40


def workflow(**changes: Any) -> Workflow:
    """Return implement → tests → verdict (back once) → gate → end, with fields replaced."""
    made: dict[str, Any] = {
        "pointsman": 1,
        "id": "change",
        "name": "Change",
        "inputs": {"task": {"type": "string", "required": True}},
        "entry": "implement",
        "nodes": {
            "implement": agent("tests", report={"fields": {"risk": field("enum", "low", "high")}}),
            "tests": {"kind": "check", "run": ["true"], "next": "verdict"},
            "verdict": {
                "kind": "decision",
                "rules": [
                    {
                        "name": "tests failed",
                        "when": {"field": "check.tests.exit_code", "ne": 0},
                        "to": "implement",
                        "repeat": {"max": 1, "at_limit": "look"},
                    }
                ],
                "otherwise": "approve",
            },
            "approve": {
                "kind": "gate",
                "title": "Approve the change",
                "decisions": {
                    "approve": "done",
                    "request_changes": {
                        "to": "implement",
                        "repeat": {"max": 1, "at_limit": "look"},
                    },
                },
            },
            "look": {"kind": "gate", "title": "A person must look"},
            "done": {"kind": "end"},
        },
    }
    return Workflow.model_validate_json(json.dumps({**made, **changes}))


def agent(next_: str, **more: Any) -> dict[str, Any]:
    """Return an agent node of the scripted provider."""
    return {
        "kind": "agent",
        "agent": {"provider": "scripted"},
        "instructions": "Do it.",
        "next": next_,
        **more,
    }


def field(type_: str, *values: str, required: bool = False) -> dict[str, Any]:
    """Return a field declaration."""
    return {"type": type_, "required": required, **({"values": values} if values else {})}


def envelope(**changes: Any) -> dict[str, Any]:
    """Return a valid report with fields replaced."""
    made = {
        "protocol_version": 1,
        "retry_key": "k1",
        "outcome": "completed",
        "summary": "Done.",
        "data": {},
        "evidence": [],
    }
    return {**made, **changes}


class Process:
    """One run of the core, with its clock and everything that has happened."""

    def __init__(self, definition: Workflow | None = None, **inputs: Any) -> None:
        self.now_ms = 1_000_000
        self.run: Run | None = None
        self.recorded: list[RecordedEvent] = []
        self.last: Verdict | None = None
        self.send(
            cmd.StartRun(
                run_id=RUN_ID,
                workflow=definition or workflow(),
                definition_source="test",
                inputs=inputs or {"task": "greet"},
                repository="/repo",
                base_commit=BASE_COMMIT,
                base_branch="main",
                started_by="test",
            )
        )

    # --- the machine ---

    def send(self, command: cmd.Command) -> Verdict:
        """Decide a command and take every automatic step it makes due."""
        self.last = decide(self.run, command, self.now_ms)
        if isinstance(self.last, Accepted):
            self._apply(self.last.events)
        return self.last

    def _apply(self, events: tuple[Event, ...]) -> None:
        while events:
            for event in events:
                sequence = self.run.version if self.run is not None else 0
                each = RecordedEvent(
                    run_id=RUN_ID, sequence=sequence, at_ms=self.now_ms, event=event
                )
                self.run = evolve(self.run, each)
                self.recorded.append(each)
            assert self.run is not None
            events = advance(self.run)

    @property
    def state(self) -> Run:
        assert self.run is not None
        return self.run

    @property
    def visit(self) -> Visit:
        assert self.state.visit is not None
        return self.state.visit

    @property
    def attempt(self) -> Attempt:
        assert self.visit.attempt is not None
        return self.visit.attempt

    @property
    def check(self) -> CheckTry:
        assert self.visit.check is not None
        return self.visit.check

    def owed(self) -> list[str]:
        return [intent.kind for intent in owed_intents(self.state)]

    def routes(self) -> list[tuple[str, str, str]]:
        """Return (route, reason, to) of every edge taken."""
        events = [each.event for each in self.recorded]
        return [(e.route, e.reason.value, e.to) for e in events if isinstance(e, RouteTaken)]

    def kinds(self) -> list[str]:
        return [each.event.kind for each in self.recorded]

    # --- the host's part ---

    def take(self, kind: str, **host_ref: Any) -> Verdict:
        """Have the host accept the owed intent of a kind."""
        return self._answer(kind, ReceiptStatus.ACCEPTED, host_ref)

    def refuse(self, kind: str, reason: str = "refused") -> Verdict:
        """Have the host reject the owed intent of a kind."""
        return self._answer(kind, ReceiptStatus.REJECTED, {}, reason)

    def intent(self, kind: str) -> Intent:
        return next(i for i in owed_intents(self.state) if i.kind == kind)

    def _answer(
        self, kind: str, status: ReceiptStatus, host_ref: dict[str, Any], reason: str | None = None
    ) -> Verdict:
        key = self.intent(kind).intent_id
        receipt = Receipt(
            idempotency_key=key, status=status, host_ref=host_ref, reason=reason, message=reason
        )
        return self.send(cmd.RecordReceipt(intent_id=key, receipt=receipt))

    def launch(self) -> "Process":
        """Prepare the workspace if it is owed, and launch the attempt in force."""
        if "prepare_workspace" in self.owed():
            self.take("prepare_workspace", path="/w", branch="b", head_commit=BASE_COMMIT)
        self.take("launch_execution", host_run_id="1")
        return self

    def report(self, **changes: Any) -> Verdict:
        """Report as the attempt in force."""
        return self.send(
            cmd.SubmitReport(attempt_id=self.attempt.attempt_id, envelope=envelope(**changes))
        )

    def observe(self, **changes: Any) -> Verdict:
        """Show the host's work; by default quiet after all turns that were asked for."""
        return self.send(cmd.ObserveWork(work=self.aggregate(**changes)))

    def aggregate(self, **changes: Any) -> WorkAggregate:
        attempt = self.attempt
        turns = [turn(1)]
        if attempt.reminder == "delivered":
            key = ids.effect_key(attempt.attempt_id, "reminder")
            turns.append(turn(2, HostRunCause.WORKFLOW_MESSAGE, key))
        for number in range(1, attempt.resumes + 1):
            key = ids.effect_key(attempt.attempt_id, f"resume.{number}")
            turns.append(turn(len(turns) + 1, HostRunCause.RESUME, key))
        quiet = WorkAggregate(
            attempt_id=attempt.attempt_id,
            host_sequence=1,
            phase=WorkPhase.QUIET,
            runs=tuple(turns),
        )
        return quiet.model_copy(update=changes)

    def work(self, **changes: Any) -> "Process":
        """Launch, report and settle well."""
        self.launch()
        self.report(**changes)
        self.observe()
        return self

    def run_check(self, exit_code: int = 0, **changes: Any) -> "Process":
        """Start the check and let it exit."""
        self.take("start_check")
        made = CheckExited(
            exit_code=exit_code, timed_out=False, interrupted=False, duration_s=1.0, output_tail=""
        )
        self.check_state(made.model_copy(update=changes))
        return self

    def check_state(self, state: CheckExited | CheckLost) -> Verdict:
        return self.send(cmd.ObserveCheck(check_id=self.check.check_id, state=state))

    # --- the person's part ---

    def decide_gate(
        self,
        decision: GateDecision = GateDecision.APPROVE,
        revision: int | None = None,
        **more: Any,
    ) -> Verdict:
        gate = self.visit.gate
        assert gate is not None
        return self.send(
            cmd.DecideGate(
                gate_id=gate.gate_id,
                revision=gate.revision if revision is None else revision,
                decision=decision,
                **{"decided_by": "ann", **more},
            )
        )

    def cancel(self) -> Verdict:
        return self.send(cmd.CancelRun(requested_by="ann"))


def code_of(verdict: Verdict | None) -> str:
    """Return the code of a refusal, or ``accepted``."""
    return verdict.code.value if isinstance(verdict, Rejected) else "accepted"


Change = Callable[[Process], Verdict]
