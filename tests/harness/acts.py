"""Acts of the host, of people and of time, and the laws that hold after any of them.

An act takes a number that picks among what it could do now; where it can do nothing it does
nothing, so that any list of acts is a story.
"""

from collections import Counter

from hypothesis import strategies as st

from pointsman.graph import commands as cmd
from pointsman.graph.advance import advance
from pointsman.graph.allowed import Action, allowed_actions
from pointsman.graph.attempt import OPEN_ATTEMPT, Attempt
from pointsman.graph.definition import AUTOMATED_KINDS, FieldDeclaration, FieldType
from pointsman.graph.edges import routes
from pointsman.graph.events import NodeEntered, RetryRequested
from pointsman.graph.evolve import fold
from pointsman.graph.made_up import turn
from pointsman.graph.owed import owed_intents
from pointsman.graph.project import deadlines, project
from pointsman.graph.results import GateDecision
from pointsman.graph.review_events import ReviewForked
from pointsman.graph.run import RunState
from pointsman.graph.tried import assigned, attempts_in_force, in_force
from pointsman.graph.work import (
    CheckExited,
    CheckLost,
    HostRunStatus,
    NativeRequest,
    RequestKind,
    Stop,
    WorkPhase,
)
from tests.harness.core import Process, envelope
from tests.harness.offers import assert_offers_hold, command_for
from tests.harness.review_acts import READS, head_for, moved, refused, taken
from tests.harness.review_laws import assert_reviews_lawful
from tests.harness.reviews import quiet_work

QUESTION = NativeRequest(
    request_id="q1", kind=RequestKind.INPUT, question="Which?", answerable="live"
)
RARE = [
    "refuse", "unknown", "report", "bad", "observe", "check", "person", "deadline", "cancel",
    "stale", "moved",
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
    st.tuples(st.sampled_from(["onward", "onward", "walk"] * len(RARE) + RARE), PICKS), max_size=60
)


def host(process: Process, pick: int) -> None:
    owed = owed_intents(process.state)
    if owed:
        process.send(taken(process, owed[pick % len(owed)], pick))


def refuse(process: Process, pick: int) -> None:
    owed = owed_intents(process.state)
    if owed:
        process.send(refused(owed[pick % len(owed)], pick))


def unknown(process: Process, pick: int) -> None:
    owed = [e for e in owed_intents(process.state) if not isinstance(e, READS)]
    if owed:
        key = owed[pick % len(owed)].intent_id
        process.send(cmd.RecordUnknown(intent_id=key, why="unreadable"))


def _attempt(process: Process, pick: int) -> Attempt | None:
    """Return one of the attempts in force: several while reviewers work."""
    found = [attempt for _, attempt in attempts_in_force(process.state)]
    return found[pick // 3 % len(found)] if found else None


def report(process: Process, pick: int) -> None:
    attempt = _attempt(process, pick)
    if attempt is None:
        return
    work = assigned(process.state.workflow, attempt.attempt_id)
    assert work is not None
    data = {
        name: _value(declared, pick)
        for name, declared in work.report.fields.items()
        if declared.required or pick % 2
    }
    outcome = ("completed", "failed", "blocked")[pick % 3]
    made = envelope(retry_key=f"k{pick % 2}", outcome=outcome, data=data)
    process.send(cmd.SubmitReport(attempt_id=attempt.attempt_id, envelope=made))


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
    attempt = _attempt(process, pick)
    if attempt is not None:
        made = envelope(data={"unknown": pick})
        process.send(cmd.SubmitReport(attempt_id=attempt.attempt_id, envelope=made))


def observe(process: Process, pick: int) -> None:
    attempt = _attempt(process, pick)
    if attempt is None:
        return
    shows: list[dict[str, object]] = [
        {},
        {},
        {"phase": WorkPhase.ACTIVE},
        {"runs": (turn(1, status=HostRunStatus.FAILED),)},
        {"stop": Stop(by="user"), "resumable": True},
        {"runs": (), "phase": WorkPhase.GONE},
        {"phase": WorkPhase.WAITING_INPUT, "pending_requests": (QUESTION,)},
        {"runs": (turn(1, status=HostRunStatus.CANCELED),)},
    ]
    shown = quiet_work(attempt).model_copy(update=shows[pick % len(shows)])
    process.send(cmd.ObserveWork(work=shown))


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
    process.send(command_for(allowed[pick % len(allowed)], head_for(process, pick)))


def deadline(process: Process, pick: int) -> None:
    process.now_ms += pick * 20 * 60 * 1000
    for each in deadlines(process.state):
        process.send(cmd.FireDeadline(deadline_id=each.deadline_id))


def onward(process: Process, pick: int) -> None:
    """Do what usually comes next: work is accepted, reported, quiet, checked, decided."""
    visit = process.state.visit
    attempts = [a for _, a in attempts_in_force(process.state) if a.status in OPEN_ATTEMPT]
    if process.owed() and pick % 4:
        host(process, pick % 8)
    elif visit is not None and visit.gate is not None:
        person(process, pick % 8)
    elif attempts:
        attempt = attempts[pick % len(attempts)]
        if attempt.report is None:
            process.send(good_report(process, attempt))
        process.send(cmd.ObserveWork(work=quiet_work(attempt)))
    elif process.owed():
        host(process, pick % 8)
    elif visit is not None and visit.check is not None:
        check(process, pick)
    else:
        person(process, pick)


def walk(process: Process, pick: int) -> None:
    """Go on for many steps in which nothing goes wrong: a review has one for each reviewer."""
    for number in range(pick * 3):
        onward(process, number)


def good_report(process: Process, attempt: Attempt) -> cmd.SubmitReport:
    """Return a completed report with every field that is declared."""
    work = assigned(process.state.workflow, attempt.attempt_id)
    assert work is not None
    data = {name: _value(declared, 0) for name, declared in work.report.fields.items()}
    return cmd.SubmitReport(attempt_id=attempt.attempt_id, envelope=envelope(data=data))


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
    "walk": walk,
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
    "moved": moved,
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
    ) + sum(len(e.branches) for e in events if isinstance(e, ReviewForked))
    assert automated <= run.workflow.visits.max, "the visit bound admits no more automated work"
    bounds = {
        "/".join(map(str, each.where[1:])): each.target.repeat.max
        for each in routes(run.workflow)
        if each.target.repeat is not None
    }
    for route, passes in run.route_counts.items():
        assert passes <= bounds[route], f"{route} repeats {bounds[route]} times at most"
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
        assert not after & {"change_frozen", "review_forked", "join_committed"}
    assert_reviews_lawful(events)
    assert_offers_hold(process)


def assert_something_wakes_it(process: Process) -> None:
    """Every run that has not ended has a named wake source."""
    run, shown = process.state, project(process.state)
    if run.ended:
        return
    waits_for_person = run.state in (RunState.AWAITING_REVIEW, RunState.UNRESOLVED)
    if run.cancellation is None:
        waits_for_person |= any(each.unresolved for each in in_force(run))
    assert shown.outbox or shown.summary.open_work or (waits_for_person and shown.attention)
    if waits_for_person:
        assert allowed_actions(run)
