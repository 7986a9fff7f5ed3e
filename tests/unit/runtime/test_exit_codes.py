"""Goal: every state and every problem has one exit code, and each code its meaning."""

import pytest

from pointsman.graph.run import RunState
from pointsman.runtime import exit_codes
from pointsman.runtime.exit_codes import MEANINGS, ExitCode, of_problem, of_state
from pointsman.runtime.problems import PROBLEMS


@pytest.mark.parametrize("state", RunState)
def test_every_state_of_a_run_has_an_exit_code(state: RunState) -> None:
    assert of_state(state.value) in ExitCode


def test_only_a_run_that_went_well_or_waits_at_a_gate_is_a_success() -> None:
    good = {state for state in RunState if of_state(state.value) is ExitCode.OK}
    assert good == {RunState.COMPLETED, RunState.AWAITING_REVIEW}


def test_every_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(ExitCode)


@pytest.mark.parametrize(
    "code, expected",
    [
        ("definition_invalid", ExitCode.USAGE),
        ("run_unknown", ExitCode.USAGE),
        ("repository_not_git", ExitCode.USAGE),
        ("stale_revision", ExitCode.REFUSED),
        ("run_ended", ExitCode.REFUSED),
        ("data_directory_in_use", ExitCode.UNAVAILABLE),
        ("server_unreachable", ExitCode.UNAVAILABLE),
        ("internal_error", ExitCode.INTERNAL),
    ],
)
def test_a_problem_ends_with_the_code_of_its_kind(code: str, expected: ExitCode) -> None:
    assert of_problem(code) is expected


def test_no_problem_reads_as_a_success() -> None:
    assert all(of_problem(code) is not ExitCode.OK for code in PROBLEMS)


def test_the_lists_name_problems_that_exist() -> None:
    listed = exit_codes.UNAVAILABLE_PROBLEMS | exit_codes.REFUSING_PROBLEMS
    assert listed <= set(PROBLEMS)
