"""A check's exit code is data; what is no exit code never passes for one."""

import pytest

from pointsman.graph.definition import Workflow
from pointsman.graph.run import RunState
from pointsman.graph.work import CheckExited, CheckLost
from tests.harness.core import Process, workflow


def with_check(**changes: object) -> Workflow:
    nodes = workflow().model_dump(mode="json", exclude_none=True)["nodes"]
    return workflow(nodes={**nodes, "tests": {**nodes["tests"], **changes}})


def at_check(definition: Workflow | None = None) -> Process:
    process = Process(definition).work()
    process.take("start_check")
    return process


def exited(process: Process, **changes: object) -> None:
    made = CheckExited(
        exit_code=0, timed_out=False, interrupted=False, duration_s=1.0, output_tail=""
    )
    process.check_state(made.model_copy(update=changes))


@pytest.mark.parametrize("exit_code", [0, 1, 2, 127, 137, -9])
def test_any_exit_code_goes_next(exit_code: int) -> None:
    process = at_check()
    exited(process, exit_code=exit_code)
    assert process.visit.node in ("approve", "implement")
    assert process.visit.unresolved is None


def test_a_check_never_starts_before_the_agents_settlement() -> None:
    process = Process().launch()
    process.report()
    assert "start_check" not in process.owed()
    process.observe()
    assert process.owed() == ["start_check"]


@pytest.mark.parametrize(
    "ending, reason",
    [("timeout", "check_timed_out"), ("stop", "check_interrupted"), ("lost", "check_interrupted")],
)
def test_without_a_retry_policy_a_check_is_never_run_twice(ending: str, reason: str) -> None:
    process = at_check()
    end(process, ending)
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == reason
    assert process.owed() == []


def end(process: Process, ending: str) -> None:
    if ending == "lost":
        process.check_state(CheckLost())
    else:
        exited(
            process, exit_code=-15, **{"timed_out" if ending == "timeout" else "interrupted": True}
        )


@pytest.mark.parametrize(
    "after, ending, again",
    [
        (["timeout"], "timeout", True),
        (["timeout"], "lost", False),
        (["interrupted"], "lost", True),
        (["interrupted"], "timeout", False),
        (["interrupted", "timeout"], "stop", False),
    ],
)
def test_the_declared_retry_follows_its_kinds_and_never_a_persons_stop(
    after: list[str], ending: str, again: bool
) -> None:
    process = at_check(with_check(retry={"max": 1, "after": after}))
    visits = process.state.visits_used
    end(process, ending)
    assert (process.owed() == ["start_check"]) is again
    assert process.state.visits_used == visits, "a check's own retry is no visit"


def test_declared_retries_are_bounded() -> None:
    process = at_check(with_check(retry={"max": 2, "after": ["timeout"]}))
    for _ in range(2):
        end(process, "timeout")
        process.take("start_check")
    end(process, "timeout")
    assert process.state.state is RunState.UNRESOLVED
    assert [each.check_id.rpartition(".")[2] for each in process.visit.checks] == ["1", "2", "3"]


def test_a_timeout_takes_the_declared_unresolved_route_at_once() -> None:
    process = at_check(with_check(unresolved="look"))
    end(process, "timeout")
    assert process.visit.node == "look"
    assert process.routes()[-1] == ("tests/unresolved", "unresolved", "look")
    assert "tests" not in process.state.results


def test_a_check_that_the_host_refuses_is_unresolved() -> None:
    process = Process().work()
    process.refuse("start_check", "folder_outside")
    assert process.visit.unresolved is not None
    assert process.visit.unresolved.reason == "check_refused"


def test_a_stale_result_never_steers_a_later_decision() -> None:
    process = Process().work().run_check(1)
    assert "tests" in process.state.results
    process.work(retry_key="k2")
    assert "tests" not in process.state.results, "entering the check again takes it away"
