"""Goal: a command waits exactly as long as something goes on without a person."""

from pointsman.graph.results import GateDecision
from pointsman.graph.work import NativeRequest, RequestKind, Stop, WorkPhase
from pointsman.runtime.cli.following import rests
from pointsman.runtime.queries import RunView, view_of
from tests.harness.core import Process


def view(process: Process) -> RunView:
    return view_of(process.state)


def test_a_run_at_work_does_not_rest() -> None:
    assert not rests(view(Process().launch()))


def test_a_run_rests_at_its_gate_until_work_is_asked_for_again() -> None:
    process = Process().work(data={"risk": "low"}).run_check()
    assert rests(view(process))
    process.decide_gate(GateDecision.REQUEST_CHANGES)
    assert not rests(view(process))


def test_an_ended_run_rests() -> None:
    process = Process().work(data={"risk": "low"}).run_check()
    process.decide_gate()
    assert view(process).state == "completed"
    assert rests(view(process))


def test_a_run_that_asks_a_person_rests() -> None:
    process = Process().launch()
    request = NativeRequest(
        request_id="q", kind=RequestKind.APPROVAL, question="May I?", answerable="live"
    )
    process.observe(phase=WorkPhase.WAITING_INPUT, pending_requests=(request,))
    assert rests(view(process))


def test_an_unresolved_run_rests() -> None:
    process = Process().launch()
    process.observe(phase=WorkPhase.GONE, runs=())
    assert view(process).state == "unresolved"
    assert rests(view(process))


def test_a_canceled_run_rests_only_when_its_processes_are_gone() -> None:
    process = Process().launch()
    process.cancel()
    assert (view(process).state, view(process).ended_at) == ("canceled", None)
    assert not rests(view(process))
    process.take("interrupt_execution", left=0)
    process.observe(stop=Stop(by="engine"))
    process.take("release_workspace", kept=False)
    assert view(process).ended_at is not None
    assert rests(view(process))
