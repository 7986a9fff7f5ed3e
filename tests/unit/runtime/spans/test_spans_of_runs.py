"""Goal: the spans of a run hang together, last as long as what they tell of, and leak no text.

Method: told stories of the pure core; what comes of their events is derived and looked at.
"""

from collections.abc import Iterable

from pointsman.graph import commands as cmd
from pointsman.graph.events import RecordedEvent
from pointsman.graph.results import GateDecision
from pointsman.graph.work import Stop, WorkFailure
from pointsman.runtime.spans.of_runs import RunSpans
from pointsman.runtime.spans.span import NS_PER_MS, Span, ref_of, traceparent
from tests.harness.acts import QUESTION
from tests.harness.core import RUN_ID, Process, agent, workflow
from tests.harness.history import ToldProcess, ToldReview

SECRET = "the summary of an agent"


def spans_of(events: Iterable[RecordedEvent]) -> list[Span]:
    seen = RunSpans(RUN_ID)
    return [span for each in events for span in seen.see(each)]


def by_name(process: Process) -> dict[str, Span]:
    return {each.name: each for each in spans_of(process.recorded)}


def reviewed_to_its_end() -> ToldReview:
    process = ToldReview()
    process.to_the_gate()
    process.approve()
    assert process.state.ended
    return process


def test_a_run_is_one_trace_in_which_every_span_has_its_place() -> None:
    spans = spans_of(reviewed_to_its_end().recorded)
    (root,) = [each for each in spans if each.parent is None]
    known = {each.ref for each in spans}
    assert root.ref == ref_of(RUN_ID)
    assert len(known) == len(spans)
    assert {each.parent for each in spans} <= known | {None}
    assert {each.ref.trace for each in spans} == {root.ref.trace}
    names = [each.name for each in spans]
    for name in ("visit work", "attempt work", "branch reviewers.ux", "attempt reviewers.ux"):
        assert name in names


def test_each_span_lies_within_its_parent_and_lasts_as_long_as_what_it_tells_of() -> None:
    process = reviewed_to_its_end()
    spans = {each.ref: each for each in spans_of(process.recorded)}
    for span in spans.values():
        around = spans[span.parent] if span.parent is not None else span
        assert around.began_ns <= span.began_ns <= span.ended_ns <= around.ended_ns, span.name
    root = spans[ref_of(RUN_ID)]
    first, last = process.recorded[0], process.recorded[-1]
    assert (root.began_ns, root.ended_ns) == (first.at_ms * NS_PER_MS, last.at_ms * NS_PER_MS)


def test_no_text_of_an_agent_leaves_with_a_span() -> None:
    process = ToldProcess()
    process.launch()
    process.report(summary=SECRET)
    failure = WorkFailure(code="agent_failed", message=SECRET)
    process.observe(failure=failure)
    spans = spans_of(process.recorded)
    assert any(note.name == "reported" for span in spans for note in span.notes)
    assert SECRET not in repr(spans)


def test_a_visit_ends_with_the_route_that_leaves_it() -> None:
    process = ToldProcess()
    process.work()
    (visit,) = [each for each in spans_of(process.recorded) if each.name == "visit implement"]
    assert visit.attributes["pointsman.route.to"] == "tests"
    assert visit.attributes["pointsman.route.reason"] == "next"
    assert visit.failed is None


def test_a_red_check_has_its_exit_code_and_is_marked() -> None:
    process = ToldProcess()
    process.work()
    process.run_check(exit_code=3)
    check = by_name(process)["check tests"]
    assert (check.attributes["process.exit.code"], check.failed) == (3, "exit code 3")


def test_a_resumed_attempt_has_a_span_for_each_stretch_of_its_work() -> None:
    process = ToldProcess()
    process.launch()
    process.observe(stop=Stop(by="user"), resumable=True)
    why = process.visit.unresolved
    assert why is not None
    attempt_id = process.attempt.attempt_id
    process.send(
        cmd.ResumeAttempt(attempt_id=attempt_id, revision=why.revision, requested_by="ann")
    )
    process.take("resume_execution", continuity="native")
    process.report()
    process.observe()
    first, second = (
        each for each in spans_of(process.recorded) if each.name == "attempt implement"
    )
    assert first.ref != second.ref
    assert first.parent == second.parent
    assert (first.failed, second.failed) == ("interrupted", None)
    assert second.attributes["pointsman.attempt.resumed"] is True


def test_a_visit_that_waits_for_a_person_goes_on_and_ends_unresolved_only_if_it_stays_so() -> None:
    process = ToldProcess()
    process.launch()
    process.observe(stop=Stop(by="user"))
    assert "visit implement" not in by_name(process)
    process.cancel()
    visit = by_name(process)["visit implement"]
    assert visit.failed == "interrupted"
    assert [note.name for note in visit.notes] == ["unresolved"]


def test_a_question_to_a_person_is_a_span_of_its_attempt() -> None:
    process = ToldProcess()
    process.launch()
    process.observe(pending_requests=(QUESTION,))
    process.observe()
    question = by_name(process)["question implement"]
    assert question.parent == ref_of(f"{RUN_ID}.implement.1.1")
    assert question.ended_ns > question.began_ns


def test_a_gates_visit_tells_the_decision() -> None:
    process = ToldReview()
    process.to_the_gate()
    process.decide_gate(GateDecision.REQUEST_CHANGES)
    gate = by_name(process)["visit approve"]
    assert gate.attributes["pointsman.gate.decision"] == "request_changes"


def test_the_end_of_a_run_ends_all_that_was_open() -> None:
    process = ToldReview()
    process.fork()
    process.cancel()
    while process.owed():
        process.take(process.owed()[0])
    assert process.state.ended
    seen = RunSpans(RUN_ID)
    ended = [span for each in process.recorded for span in seen.see(each)]
    assert ended[-1].ref == ref_of(RUN_ID)
    assert "visit reviewers" in {each.name for each in ended}


def test_the_same_ids_are_derived_ever_again_and_others_for_others() -> None:
    assert ref_of(RUN_ID) == ref_of(RUN_ID)
    attempt = ref_of(f"{RUN_ID}.implement.1.1")
    assert attempt.trace == ref_of(RUN_ID).trace
    assert attempt.span != ref_of(f"{RUN_ID}.implement.1").span
    assert ref_of(RUN_ID.replace("r0", "r1")).trace != attempt.trace
    assert (
        traceparent(f"{RUN_ID}.implement.1.1") == f"00-{attempt.trace:032x}-{attempt.span:016x}-01"
    )


def test_a_wall_clock_that_is_set_back_makes_no_span_of_negative_length() -> None:
    process = Process(
        workflow(entry="work", nodes={"work": agent("done"), "done": {"kind": "end"}})
    )
    process.launch()
    process.now_ms -= 3_600_000
    process.report()
    process.observe()
    assert all(each.ended_ns >= each.began_ns for each in spans_of(process.recorded))
