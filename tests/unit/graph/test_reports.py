"""A report is accepted once; everything else about it is refused by its own code."""

from pointsman.graph import commands as cmd
from pointsman.graph.replies import Accepted
from pointsman.graph.run import RunState
from pointsman.graph.work import Stop
from tests.harness.core import Process, agent, code_of, envelope, field, workflow


def submit(process: Process, attempt_id: str, **changes: object) -> str:
    command = cmd.SubmitReport(attempt_id=attempt_id, envelope=envelope(**changes))
    return code_of(process.send(command))


def test_acceptance_does_not_advance_the_run_but_settlement_does() -> None:
    process = Process().launch()
    assert code_of(process.report()) == "accepted"
    assert process.visit.node == "implement"
    process.observe()
    assert process.visit.node == "tests"


def test_a_report_that_overtakes_the_launch_receipt_is_accepted() -> None:
    process = Process()
    process.take("prepare_workspace", path="/w", branch="b", head_commit="c")
    assert process.attempt.status == "scheduled"
    assert code_of(process.report()) == "accepted"


def test_an_exact_retry_gets_the_same_receipt_and_changes_nothing() -> None:
    process = Process().launch()
    first = process.report()
    version = process.state.version
    again = process.report()
    assert isinstance(first, Accepted)
    assert isinstance(again, Accepted)
    assert again.reply == first.reply.model_copy(update={"duplicate": True})
    assert process.state.version == version


def test_an_exact_retry_is_answered_after_settlement_after_the_next_visit_and_after_cancel() -> (
    None
):
    process = Process().work()
    attempt_id = f"{process.state.run_id}.implement.1.1"
    assert submit(process, attempt_id) == "accepted"
    process.run_check(1)
    assert submit(process, attempt_id) == "accepted"
    process.cancel()
    assert submit(process, attempt_id) == "accepted"


def test_another_payload_under_the_same_key_is_refused_as_key_reused() -> None:
    process = Process().launch()
    process.report()
    assert code_of(process.report(summary="Other.")) == "key_reused"


def test_one_and_one_point_zero_and_true_are_different_payloads() -> None:
    contract = {"fields": {"n": field("number")}}
    nodes = {"work": agent("done", report=contract), "done": {"kind": "end"}}
    process = Process(workflow(entry="work", nodes=nodes)).launch()
    process.report(data={"n": 1})
    assert code_of(process.report(data={"n": 1})) == "accepted"
    assert code_of(process.report(data={"n": 1.0})) == "key_reused"
    assert code_of(process.report(data={"n": True})) == "invalid"


def test_a_second_report_under_another_key_is_a_conflict() -> None:
    process = Process().launch()
    process.report()
    assert code_of(process.report(retry_key="k2")) == "conflict"


def test_a_report_from_a_canceled_run_is_refused() -> None:
    process = Process().launch()
    process.cancel()
    assert code_of(process.report()) == "cancelled"


def test_a_report_from_a_settled_attempt_is_refused() -> None:
    process = Process().launch()
    process.observe(stop=Stop(by="user"))
    assert process.state.state is RunState.UNRESOLVED
    assert code_of(process.report()) == "settled"


def test_a_report_from_a_timed_out_attempt_is_refused() -> None:
    process = Process().launch()
    process.now_ms += 3 * 3600 * 1000
    process.send(cmd.FireDeadline(deadline_id=f"{process.attempt.attempt_id}:timeout"))
    assert code_of(process.report()) == "settled"


def test_a_report_from_an_attempt_of_an_earlier_visit_is_stale() -> None:
    process = Process().launch()
    old = process.attempt.attempt_id
    process.observe(stop=Stop(by="user"))
    visit = process.visit
    assert visit.unresolved is not None
    process.send(
        cmd.RetryVisit(
            visit_id=visit.visit_id, revision=visit.unresolved.revision, requested_by="ann"
        )
    )
    assert process.attempt.attempt_id != old
    assert submit(process, old) == "stale_attempt"


def test_a_report_for_a_node_that_is_no_agent_is_not_bound() -> None:
    process = Process().work()
    assert submit(process, f"{process.state.run_id}.tests.1.1") == "not_bound"
    assert submit(process, f"{process.state.run_id}.nowhere.1.1") == "not_bound"


def test_a_malformed_report_is_refused_with_every_field_and_does_not_use_up_the_reminder() -> None:
    process = Process().launch()
    version = process.state.version
    verdict = process.report(summary=3, data={"risk": "huge", "mood": True})
    assert code_of(verdict) == "invalid"
    assert {f["path"] for f in verdict.details["fields"]} == {  # type: ignore[union-attr]
        "summary",
        "data.risk",
        "data.mood",
    }
    assert process.state.version == version
    assert code_of(process.report()) == "accepted"


def test_naming_a_run_or_an_attempt_in_a_report_is_refused() -> None:
    process = Process().launch()
    assert code_of(process.report(attempt_id="other")) == "invalid"


def test_an_oversized_report_is_refused() -> None:
    process = Process().launch()
    huge = {f"kind{n}": "x" for n in range(3)}
    evidence = [{"kind": "log", "reference": "x" * 1000}] * 20
    assert code_of(process.report(summary="x" * 4001, evidence=evidence)) == "invalid"
    assert code_of(process.report(data={**huge, "risk": "x" * 70_000})) == "too_large"
