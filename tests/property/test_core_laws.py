"""Laws of the core under any order of reports, host facts, decisions and failures.

Method: hypothesis picks what happens next from everything that could; after each step the
invariants are checked against the recorded events, not against the code that made them.
"""

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tests.harness.acts import ACTS, JOURNEYS, STEPS, assert_lawful, assert_something_wakes_it
from tests.harness.core import Process, workflow
from tests.harness.reviews import ReviewProcess, reviewed


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, visits_max=st.integers(min_value=1, max_value=9), exit_=st.booleans())
def test_whatever_happens_the_laws_hold_and_something_wakes_the_run(
    steps: list[tuple[str, int]], visits_max: int, exit_: bool
) -> None:
    bound = {"max": visits_max, **({"at_limit": "look"} if exit_ else {})}
    process = Process(workflow(visits=bound))
    for act, pick in steps:
        ACTS[act](process, pick)
        assert_something_wakes_it(process)
    assert_lawful(process)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(steps=JOURNEYS, visits_max=st.integers(min_value=2, max_value=20), exit_=st.booleans())
def test_whatever_happens_to_reviewers_no_join_and_no_approval_lacks_what_it_needs(
    steps: list[tuple[str, int]], visits_max: int, exit_: bool
) -> None:
    bound = {"max": visits_max, **({"at_limit": "look"} if exit_ else {})}
    process = ReviewProcess(reviewed(top={"visits": bound}))
    for act, pick in steps:
        ACTS[act](process, pick)
        assert_something_wakes_it(process)
    assert_lawful(process)
    outcomes = [e.event.outcome for e in process.recorded if e.event.kind == "join_committed"]
    event(f"joins {[each.value for each in outcomes[:2]]}")
