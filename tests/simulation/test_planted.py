"""Goal: the simulation would notice. A checker that never bites proves nothing.

Method: each mistake of ``planted`` is put into the real code, and the first seeds must find it.
``make simulate-faults`` prints by which seed each was noticed, and how.
"""

import pytest

from tests.simulation.planted import PLANTED
from tests.simulation.run_planted import noticed


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(len(PLANTED)), ids=[each.name for each in PLANTED])
def test_a_planted_mistake_is_noticed(number: int) -> None:
    assert noticed(number).seed is not None
