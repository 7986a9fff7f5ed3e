"""Runs seeds for a while on every core, and tells how much was run and what it found.

``make simulate SECONDS=60`` runs one seed after the other; ``make simulate SEED=7`` runs that one
again, which is the same to the last step.
"""

import argparse
import gc
import itertools
import os
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from multiprocessing import get_context
from typing import Final

from rich.console import Console

from tests.simulation.world import STEPS_MAX, Outcome, World

_COUNTED: Final = ("commits", "events", "acts", "steps", "processes", "leases")


def outcome(
    seed: str, steps_max: int = STEPS_MAX, faults: Mapping[str, float] | None = None
) -> Outcome:
    """Run one seed, with some of its faults as they are given here."""
    began_s = time.process_time()
    # Half-done coroutines of one world must not be collected in the middle of another; that they
    # were never awaited is what being killed means.
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = World(seed, steps_max, faults).run()
            gc.collect()
    finally:
        gc.enable()
    return replace(found, cpu_s=time.process_time() - began_s)


def outcomes(first: int, seconds: float) -> Iterator[Outcome]:
    """Run one seed after the other for a time, as many at once as there are cores."""
    workers = os.cpu_count() or 1
    end = time.monotonic() + seconds
    room = threading.Semaphore(2 * workers)

    def seeds() -> Iterator[str]:
        for number in itertools.count(first):
            room.acquire()
            if time.monotonic() >= end:
                return
            yield str(number)

    with get_context("spawn").Pool(workers, maxtasksperchild=200) as pool:
        for found in pool.imap_unordered(outcome, seeds()):
            room.release()
            yield found


def told(found: Outcome, console: Console) -> None:
    """Print what a seed found, and how to see it again."""
    for violation in found.violations:
        console.print(f"seed {found.seed}: {violation}", soft_wrap=True)
    if found.violations:
        console.print(f"  again: make simulate SEED={found.seed}")


def main() -> int:
    """Return how many seeds found something, up to 100."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", type=int, default=1, help="the first of many seeds")
    parser.add_argument("--seed", help="run this one only")
    asked = parser.parse_args()
    console = Console(highlight=False)
    began = time.monotonic()
    seeds = [outcome(asked.seed)] if asked.seed else outcomes(asked.first, asked.seconds)
    counts: Counter[str] = Counter()
    count, hours, cpu_s, failed = 0, 0.0, 0.0, 0
    for found in seeds:
        count, hours, failed = count + 1, hours + found.run_hours, failed + bool(found.violations)
        cpu_s += found.cpu_s
        counts.update(found.counts)
        told(found, console)
    took_s = time.monotonic() - began
    console.print(
        f"{count} seeds, {hours:,.0f} simulated run-hours in {took_s:.0f} s"
        f" ({hours / cpu_s:,.0f} a second of one core); {failed} seeds found something",
        soft_wrap=True,
    )
    for name in sorted(counts, key=lambda each: (each not in _COUNTED, each)):
        console.print(f"  {counts[name]:>12,} {name}")
    return min(failed, 100)


if __name__ == "__main__":
    sys.exit(main())
