"""Goal: every event has a line that a person understands, and evidence is told from claims."""

import typing
from datetime import datetime, timedelta
from typing import Any

import pytest

from pointsman.graph import events as ev
from pointsman.graph.evidence import Checkout
from pointsman.graph.results import GateComment
from pointsman.graph.review_events import Moment
from pointsman.graph.work import CheckLost, NativeRequest, RequestKind
from pointsman.runtime.views.lasting import Lasted
from pointsman.runtime.views.queries import view_of
from pointsman.runtime.views.trace import (
    TraceEntry,
    entries_of,
    text_of,
    trace_entry,
    trace_signature,
    uncommitted,
)
from tests.harness.core import Process, workflow

EVENTS = typing.get_args(typing.get_args(ev.Event)[0])


def entries(process: Process) -> list[TraceEntry]:
    return list(entries_of(process.recorded))


@pytest.fixture
def reworked() -> Process:
    """A run whose tests fail once, then pass, and that is approved."""
    process = Process()
    process.work(data={"risk": "low"}).run_check(exit_code=1)
    process.work(data={"risk": "high"}).run_check(exit_code=0)
    process.decide_gate()
    return process


def test_a_route_shows_each_considered_predicate_with_its_value(reworked: Process) -> None:
    failed, passed = [e for e in entries(reworked) if e.data.get("from_node") == "verdict"]
    assert failed.text == (
        "verdict → implement (rule 'tests failed') [check.tests.exit_code ne 0: yes, it is 1]"
    )
    assert passed.text == (
        "verdict → approve (otherwise) [check.tests.exit_code ne 0: no, it is 0]"
    )
    assert passed.data["considered"][0]["terms"][0]["value"] == 0


def test_claims_checks_and_decisions_are_told_apart(reworked: Process) -> None:
    evidence = {e.kind: e.evidence for e in entries(reworked) if e.evidence is not None}
    assert evidence == {
        "report_accepted": "claim",
        "check_ended": "check",
        "gate_decided": "decision",
    }
    claim = next(e for e in entries(reworked) if e.kind == "report_accepted")
    assert "claims completed" in claim.text


def test_the_signature_leaves_out_what_differs_between_runs_and_nothing_else(
    reworked: Process,
) -> None:
    signature = trace_signature(entries(reworked))
    assert [each for each in signature if each[0] == "visit"] == [
        ("visit", "implement", 1),
        ("visit", "tests", 1),
        ("visit", "verdict", 1),
        ("visit", "implement", 2),
        ("visit", "tests", 2),
        ("visit", "verdict", 2),
        ("visit", "approve", 1),
        ("visit", "done", 1),
    ]
    assert "r0-" not in repr(signature)
    other = Process()
    other.work(data={"risk": "low"}).run_check(exit_code=0)
    assert trace_signature(entries(other)) != signature[: len(trace_signature(entries(other)))]


def test_a_token_is_not_shown_by_its_digest_either() -> None:
    bound = ev.CredentialBound(attempt_id="r0-x.implement.1.1", token_digest="d" * 64)
    entry = trace_entry(ev.RecordedEvent(run_id="r0-x", sequence=0, at_ms=0, event=bound))
    assert "d" * 64 not in entry.model_dump_json()
    assert entry.at == "1970-01-01T00:00:00.000Z"


def test_a_lost_check_is_not_told_as_a_result() -> None:
    ended = ev.CheckEnded(check_id="r0-x.tests.1.1", state=CheckLost())
    entry = trace_entry(ev.RecordedEvent(run_id="r0-x", sequence=0, at_ms=0, event=ended))
    assert entry.text == "check tests.1.1 was lost: its outcome cannot be known"


REQUEST = NativeRequest(
    request_id="q1", kind=RequestKind.APPROVAL, question="Run make?", answerable="live"
)
FIELDS = {
    **dict.fromkeys(("attempt_id", "check_id", "subject_id", "gate_id"), "r0-x.tests.1.1"),
    **dict.fromkeys(("message", "detail", "summary", "title", "note", "why"), "some words"),
    "branch_id": "r0-x.reviewers.1.code",
    "review_set_id": "r0-x.reviewers.1",
    "workspace_key": "wf:r0-x.reviewers.1.code",
    "review": None,
    "branches": (),
    "moment": Moment.LAUNCH,
    "checkout": Checkout(),
    **dict.fromkeys(("number", "left", "visits_used", "try_number"), 1),
    "workflow": workflow(),
    "request": REQUEST,
    "state": CheckLost(),
    "reason": ev.RouteReason.NEXT,
    "considered": (),
    "roles": ("maintainer",),
    "comments": (GateComment(path="a.py", line=3, text="Why?"),),
}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_every_kind_of_event_has_words_of_its_own(event: type[Any]) -> None:
    fields = {name: FIELDS.get(name, "ann") for name in event.model_fields if name != "kind"}
    made = event.model_construct(**fields)
    assert text_of(made) not in ("", made.kind.replace("_", " "))


def test_a_view_tells_the_runs_timeout_only_while_it_runs() -> None:
    process = Process().launch()
    attempt = view_of(process.state).attempt
    assert attempt is not None
    assert attempt.timeout.times_out_at == "1970-01-01T02:16:40.000Z"
    process.report(data={"risk": "low"})
    process.observe()
    settled = view_of(process.state).attempt
    assert settled is None or settled.timeout.times_out_at is None


def test_a_view_offers_a_gate_only_while_it_waits(reworked: Process) -> None:
    assert view_of(reworked.state).gate is None
    process = Process()
    process.work(data={"risk": "low"}).run_check()
    gate = view_of(process.state).gate
    assert gate is not None
    assert gate.offered == ["approve", "request_changes"]
    process.cancel()
    assert view_of(process.state).gate is None
    assert view_of(process.state).allowed_actions == []


def test_what_was_not_committed_is_named_and_counted() -> None:
    assert uncommitted(["a.c"]) == "the uncommitted a.c"
    assert uncommitted(["a", "b", "c", "d", "e"]) == "the uncommitted a, b, c and 2 more"


def test_what_ends_something_tells_when_that_began_and_how_long_it_took(reworked: Process) -> None:
    found = entries(reworked)
    at = {each.sequence: each for each in found}
    began = {
        "node_completed": "node_entered",
        "attempt_settled": "attempt_started",
        "check_ended": "check_started",
        "gate_decided": "gate_requested",
        "run_completed": "run_started",
    }
    ends = [each for each in found if each.lasted is not None]
    assert {each.kind for each in ends} == set(began)
    for each in ends:
        assert each.lasted is not None
        beginning = at[each.lasted.since]
        assert beginning.kind == began[each.kind]
        took = datetime.fromisoformat(each.at) - datetime.fromisoformat(beginning.at)
        assert took == timedelta(milliseconds=each.lasted.ms)


def test_a_clock_set_back_makes_nothing_take_less_than_no_time() -> None:
    entered = ev.NodeEntered(node="n", visit_id="v", number=1, visits_used=1)
    left = ev.NodeCompleted(node="n", visit_id="v")
    told = entries_of(
        [
            ev.RecordedEvent(run_id="r0-x", sequence=0, at_ms=5000, event=entered),
            ev.RecordedEvent(run_id="r0-x", sequence=1, at_ms=1000, event=left),
        ]
    )
    assert [each.lasted for each in told] == [None, Lasted(since=0, ms=0)]
