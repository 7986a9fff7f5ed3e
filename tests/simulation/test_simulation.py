"""Goal: whatever goes wrong, whenever it does, nothing that was promised is broken.

Method: whole systems with simulated time, network, disk, host and people; each seed draws its
faults and every interleaving. ``make simulate`` runs as many seeds as one has time for.
"""

import pytest

from pointsman.graph.definition import ParallelNode
from pointsman.graph.reviews import FrozenInput
from pointsman.graph.validate import problems
from tests.simulation.chance import Chance
from tests.simulation.run import outcome
from tests.simulation.workflows import drawn


@pytest.mark.slow
@pytest.mark.parametrize("seed", [str(number) for number in range(1, 31)])
def test_a_seed_breaks_no_promise(seed: str) -> None:
    found = outcome(seed)
    assert found.violations == [], f"make simulate SEED={seed}"


def test_a_seed_is_the_same_every_time() -> None:
    assert outcome("1") == outcome("1")


def test_a_world_with_a_schedule_has_runs_that_it_started() -> None:
    assert outcome("4").counts["occurrences dispatched"] > 0


def test_the_workflows_are_valid_and_have_every_kind_of_node_and_of_change() -> None:
    made = [drawn(Chance(str(number))) for number in range(300)]
    assert {problems(each) for each in made} == {()}
    nodes = [node for each in made for node in each.nodes.values()]
    kinds = {"agent", "check", "decision", "parallel", "join", "gate", "end"}
    assert {node.kind for node in nodes} == kinds
    groups = [node for node in nodes if isinstance(node, ParallelNode)]
    assert {len(each.branches) for each in groups} == {1, 2, 3, 4, 5}
    assert {type(each.freeze) for each in groups} == {str, FrozenInput}
