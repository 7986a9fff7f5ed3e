"""Plants one mistake after the other, and tells by which seed each was noticed, and how.

``make simulate-faults`` runs it. A mistake that no seed notices is a gap in the checkers.
"""

import sys
import time
from multiprocessing import get_context
from typing import Final, NamedTuple

from rich.console import Console

from tests.simulation.planted import PLANTED
from tests.simulation.run import outcome

SEEDS_MAX: Final = 60
_STEPS_MAX: Final = 200_000


class Noticed(NamedTuple):
    """What became of a planted mistake; without a seed, nobody noticed it."""

    name: str
    seed: str | None
    violation: str
    cpu_s: float


def noticed(number: int) -> Noticed:
    """Run seeds with a mistake until one of them finds something."""
    planted = PLANTED[number]
    began_s = time.process_time()
    with planted.planted():
        for seed in map(str, range(1, SEEDS_MAX + 1)):
            found = outcome(seed, _STEPS_MAX, planted.faults)
            if found.violations:
                cpu_s = time.process_time() - began_s
                return Noticed(planted.name, seed, found.violations[0], cpu_s)
    return Noticed(planted.name, None, "", time.process_time() - began_s)


def main() -> int:
    """Return how many mistakes nobody noticed."""
    console = Console(highlight=False)
    missed = 0
    with get_context("spawn").Pool(maxtasksperchild=5) as pool:
        for each in pool.imap(noticed, range(len(PLANTED))):
            missed += each.seed is None
            seed = f"seed {each.seed}" if each.seed is not None else "MISSED"
            console.print(f"{seed:>8} {each.cpu_s:5.1f} s  {each.name}", soft_wrap=True)
            if each.violation:
                console.print(f"{'':18}{each.violation[:140]}", soft_wrap=True, markup=False)
    console.print(f"{len(PLANTED) - missed} of {len(PLANTED)} planted mistakes were noticed")
    return missed


if __name__ == "__main__":
    sys.exit(main())
