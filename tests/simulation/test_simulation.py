"""Goal: whatever goes wrong, whenever it does, nothing that was promised is broken.

Method: whole systems with simulated time, network, disk, host and people; each seed draws its
faults and every interleaving. ``make simulate`` runs as many seeds as one has time for.
"""

import pytest

from pointsman.graph.validate import problems
from tests.simulation.run import outcome
from tests.simulation.workflows import WORKFLOWS


@pytest.mark.slow
@pytest.mark.parametrize("seed", [str(number) for number in range(1, 31)])
def test_a_seed_breaks_no_promise(seed: str) -> None:
    found = outcome(seed)
    assert found.violations == [], f"make simulate SEED={seed}"


def test_a_seed_is_the_same_every_time() -> None:
    assert outcome("1") == outcome("1")


def test_the_workflows_are_valid_and_have_every_kind_of_node() -> None:
    assert [problems(each) for each in WORKFLOWS] == [()] * len(WORKFLOWS)
    kinds = {node.kind for each in WORKFLOWS for node in each.nodes.values()}
    assert kinds == {"agent", "check", "decision", "parallel", "join", "gate", "end"}
