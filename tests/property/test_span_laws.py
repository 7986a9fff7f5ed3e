"""Goal: whatever happens to a run, its spans are one tree, and each is told exactly once.

Method: the histories of simulated worlds with all their faults.
"""

import pytest

from pointsman.graph.events import RunCanceled, RunCompleted, RunFailed
from pointsman.runtime.spans.of_runs import RunSpans
from pointsman.runtime.spans.span import ref_of
from tests.simulation.run import histories

SEEDS = 12


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_spans_of_a_simulated_run_are_one_tree_told_once(seed: int) -> None:
    for events in histories(f"spans {seed}"):
        run_id = events[0].run_id
        seen = RunSpans(run_id)
        spans = [span for each in events for span in seen.see(each)]
        refs = [each.ref for each in spans]
        assert len(refs) == len(set(refs)), run_id
        assert all(each.began_ns <= each.ended_ns for each in spans), run_id
        roots = [each.ref for each in spans if each.parent is None]
        if any(isinstance(each.event, RunCompleted | RunFailed | RunCanceled) for each in events):
            assert roots == [ref_of(run_id)], run_id
            assert {each.parent for each in spans} <= {None, *refs}, run_id
        else:
            assert roots == [], run_id
