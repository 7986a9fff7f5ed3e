"""Goal: a command waits exactly as long as something goes on without a person."""

from collections.abc import Iterator
from typing import cast

import pytest

from pointsman.graph.results import GateDecision
from pointsman.graph.work import NativeRequest, RequestKind, Stop, WorkPhase
from pointsman.runtime.cli.following import Follower, rests
from pointsman.runtime.cli.reach import Reach
from pointsman.runtime.cli.terminal import Terminal
from pointsman.runtime.client import StreamEvent
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.queries import RunView, view_of
from pointsman.runtime.views.trace import TraceEntry, entries_of
from tests.harness.core import RUN_ID, Process


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


class Server:
    """A server that answers from a process of the core, and goes away while it is followed."""

    def __init__(self, process: Process, lost: int) -> None:
        self._process = process
        self.left_to_lose = lost

    def run(self, run_id: str) -> RunView:
        return view(self._process)

    def trace(self, run_id: str, after: int = -1) -> list[TraceEntry]:
        return [each for each in entries_of(self._process.recorded) if each.sequence > after]

    def follow(self, run_id: str, after: int) -> Iterator[StreamEvent]:
        entries = self.trace(run_id, after)
        yield from (_sent(entry) for entry in entries[:2])
        if self.left_to_lose:
            self.left_to_lose -= 1
            raise PointsmanError("server_unreachable", "no answer")
        self._process.work(data={"risk": "low"}).run_check()
        yield from (_sent(entry) for entry in self.trace(run_id, after))


def _sent(entry: TraceEntry) -> StreamEvent:
    return StreamEvent(event="entry", cursor=str(entry.sequence), data=entry.model_dump())


class Reached:
    """A reach whose servers are all the same one."""

    def __init__(self, server: Server) -> None:
        self.client = server
        self.renewed = 0

    def renew(self) -> None:
        self.renewed += 1


def follower(reached: Reached) -> Follower:
    return Follower(cast(Reach, reached), Terminal(json=True), RUN_ID)


def test_a_server_that_goes_away_is_replaced_and_each_step_is_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reached = Reached(Server(Process(), lost=2))
    assert follower(reached).until_rest().state == "awaiting_review"
    assert reached.renewed == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == len(set(told))
    assert told[0].endswith(f"Change · run {RUN_ID}")
    assert told[-1].endswith("approve · waits for a person: Approve the change")


def test_servers_that_go_away_again_and_again_are_given_up() -> None:
    reached = Reached(Server(Process(), lost=100))
    with pytest.raises(PointsmanError, match="no answer"):
        follower(reached).until_rest()
    assert reached.renewed < 10
