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
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from typing import Final

from rich.console import Console

from pointsman.graph.events import RecordedEvent
from tests.simulation.world import STEPS_MAX, Outcome, World

_COUNTED: Final = ("commits", "events", "acts", "steps", "processes", "leases")


@contextmanager
def unawaited() -> Iterator[None]:
    """Let the half-done coroutines of a world be: never to be awaited is what being killed means.

    They must not be collected in the middle of another world.
    """
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
            gc.collect()
    finally:
        gc.enable()


def outcome(
    seed: str, steps_max: int = STEPS_MAX, faults: Mapping[str, float] | None = None
) -> Outcome:
    """Run one seed, with some of its faults as they are given here."""
    began_s = time.process_time()
    with unawaited():
        found = World(seed, steps_max, faults).run()
    return replace(found, cpu_s=time.process_time() - began_s)


def histories(seed: str) -> list[tuple[RecordedEvent, ...]]:
    """Run one seed, and return the events of each of its runs."""
    with unawaited():
        world = World(seed)
        world.run()
        runs = world.journal.runs(limit=1_000)
        told = [world.journal.events(each.run_id) for each in runs]
        del world
    return told


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
