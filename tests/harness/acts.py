"""Acts of the host, of people and of time, and the laws that hold after any of them.

An act takes a number that picks among what it could do now; where it can do nothing it does
nothing, so that any list of acts is a story.
"""

from collections import Counter

from hypothesis import strategies as st

from pointsman.graph import commands as cmd
from pointsman.graph.advance import advance
from pointsman.graph.allowed import Action, allowed_actions
from pointsman.graph.definition import AUTOMATED_KINDS, AgentNode, FieldDeclaration, FieldType
from pointsman.graph.edges import routes
from pointsman.graph.events import NodeEntered, RetryRequested
from pointsman.graph.evolve import fold
from pointsman.graph.project import deadlines, project
from pointsman.graph.results import GateDecision
from pointsman.graph.run import RunState
from pointsman.graph.work import CheckExited, CheckLost, HostRunStatus, Stop, WorkPhase
from tests.harness.core import Process, turn

RARE = [
    "refuse", "unknown", "report", "bad", "observe", "check", "person", "deadline", "cancel",
    "stale",
]  # fmt: skip
PICKS = st.integers(min_value=0, max_value=11)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["host", "host", "host", "observe", "person", *RARE]),
        PICKS,
    ),
    max_size=60,
)
# Runs that get somewhere: something unusual happens at every fourth step.
JOURNEYS = st.lists(
    st.tuples(st.sampled_from(["onward"] * 3 * len(RARE) + RARE), PICKS), max_size=60
)


def host(process: Process, pick: int) -> None:
    owed = process.owed()
    if owed:
        process.take(owed[pick % len(owed)], continuity="native", left=0, path="/w", branch="b")


def refuse(process: Process, pick: int) -> None:
    owed = process.owed()
    if owed:
        process.refuse(owed[pick % len(owed)])


def unknown(process: Process, pick: int) -> None:
    owed = process.owed()
    if owed:
        key = process.intent(owed[pick % len(owed)]).intent_id
        process.send(cmd.RecordUnknown(intent_id=key, why="unreadable"))


def report(process: Process, pick: int) -> None:
    if process.state.visit is None or process.visit.attempt is None:
        return
    outcome = ("completed", "failed", "blocked")[pick % 3]
    node = process.state.workflow.nodes[process.visit.node]
    assert isinstance(node, AgentNode)
    data = {
        name: _value(declared, pick)
        for name, declared in node.report.fields.items()
        if declared.required or pick % 2
    }
    process.report(retry_key=f"k{pick % 2}", outcome=outcome, data=data)


def _value(declared: FieldDeclaration, pick: int) -> object:
    match declared.type:
        case FieldType.BOOLEAN:
            return pick % 2 == 0
        case FieldType.NUMBER:
            return pick % 3
        case FieldType.STRING:
            return f"text {pick % 3}"
        case FieldType.ENUM:
            values = declared.values or ()
            return values[pick % len(values)]


def bad(process: Process, pick: int) -> None:
    if process.state.visit is not None and process.visit.attempt is not None:
        process.report(data={"unknown": pick})


def observe(process: Process, pick: int) -> None:
    if process.state.visit is None or process.visit.attempt is None:
        return
    shows: list[dict[str, object]] = [
        {},
        {},
        {"phase": WorkPhase.ACTIVE},
        {"runs": (turn(1, status=HostRunStatus.FAILED),)},
        {"stop": Stop(by="user"), "resumable": True},
        {"runs": (), "phase": WorkPhase.GONE},
    ]
    process.observe(**shows[pick % len(shows)])


def check(process: Process, pick: int) -> None:
    if process.state.visit is None or process.visit.check is None:
        return
    exited = CheckExited(
        exit_code=pick % 2,
        timed_out=pick % 5 == 4,
        interrupted=pick % 7 == 6,
        duration_s=1.0,
        output_tail="",
    )
    process.check_state(CheckLost() if pick == 11 else exited)


def person(process: Process, pick: int) -> None:
    allowed = [each for each in allowed_actions(process.state) if each.action is not Action.CANCEL]
    if not allowed:
        return
    chosen = allowed[pick % len(allowed)]
    revision = chosen.revision or 0
    if chosen.action in (Action.APPROVE, Action.REQUEST_CHANGES):
        process.decide_gate(GateDecision(chosen.action.value), revision)
    elif chosen.action is Action.RESUME:
        process.send(
            cmd.ResumeAttempt(attempt_id=chosen.target, revision=revision, requested_by="ann")
        )
    elif chosen.action is Action.RETRY:
        process.send(cmd.RetryVisit(visit_id=chosen.target, revision=revision, requested_by="ann"))


def deadline(process: Process, pick: int) -> None:
    process.now_ms += pick * 20 * 60 * 1000
    for each in deadlines(process.state):
        process.send(cmd.FireDeadline(deadline_id=each.deadline_id))


def onward(process: Process, pick: int) -> None:
    """Do what usually comes next: work is accepted, reported, quiet, checked, decided."""
    visit = process.state.visit
    if process.owed():
        host(process, pick)
    elif visit is not None and visit.gate is not None:
        person(process, pick)
    elif visit is not None and visit.attempt is not None:
        if visit.attempt.report is None:
            report(process, pick)
        process.observe()
    else:
        check(process, pick)


def cancel(process: Process, pick: int) -> None:
    if pick == 0:
        process.cancel()


def stale(process: Process, pick: int) -> None:
    """Say something again that was true once: it must change nothing."""
    version = process.state.version
    process.send(
        cmd.DecideGate(
            gate_id=f"{process.state.run_id}.approve.{pick}",
            revision=0,
            decision=GateDecision.APPROVE,
            decided_by="ann",
        )
    )
    assert process.state.version == version


ACTS = {
    "onward": onward,
    "host": host,
    "refuse": refuse,
    "unknown": unknown,
    "report": report,
    "bad": bad,
    "observe": observe,
    "check": check,
    "person": person,
    "deadline": deadline,
    "cancel": cancel,
    "stale": stale,
}


def assert_lawful(process: Process) -> None:
    run = process.state
    events = [each.event for each in process.recorded]
    assert advance(run) == (), "advance comes to rest"
    assert fold(process.recorded) == run, "the state is the fold of its events"
    assert [each.sequence for each in process.recorded] == list(range(run.version))
    kinds = run.workflow.nodes
    automated = sum(
        1
        for e in events
        if (isinstance(e, NodeEntered) and kinds[e.node].kind in AUTOMATED_KINDS)
        or isinstance(e, RetryRequested)
    )
    assert automated <= run.workflow.visits.max, "the visit bound admits no more automated work"
    bounds = {
        "/".join(map(str, each.where[1:])): each.target.repeat.max
        for each in routes(run.workflow)
        if each.target.repeat is not None
    }
    for route, taken in run.route_counts.items():
        assert taken <= bounds[route], f"{route} repeats {bounds[route]} times at most"
    accepted = Counter(e.attempt_id for e in events if e.kind == "report_accepted")
    assert all(count == 1 for count in accepted.values()), "one report an attempt"
    left = Counter(
        e.from_visit_id for e in events if e.kind == "route_taken" and e.from_visit_id is not None
    )
    assert all(count == 1 for count in left.values()), "one route a visit"
    ends = [e for e in events if e.kind in ("run_completed", "run_failed", "run_canceled")]
    assert len(ends) == int(run.ended), "one terminal event"
    canceled = [n for n, e in enumerate(events) if e.kind == "cancel_requested"]
    if canceled:
        after = {e.kind for e in events[canceled[0] :]}
        assert not after & {"attempt_started", "check_started", "attempt_launched", "route_taken"}


def assert_something_wakes_it(process: Process) -> None:
    """Every run that has not ended has a named wake source."""
    run, shown = process.state, project(process.state)
    if run.ended:
        return
    waits_for_person = run.state in (RunState.AWAITING_REVIEW, RunState.UNRESOLVED)
    assert shown.outbox or shown.summary.open_work or (waits_for_person and shown.attention)
    if waits_for_person:
        assert allowed_actions(run)
