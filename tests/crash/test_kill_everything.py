"""Goal: a SIGKILL of everything, at any moment, followed by a start, changes no history.

Method: the demonstration runs once undisturbed. Then it is begun again and again in fresh data
directories, killed at a random moment and started once more; visits, routes and reports must be
those of the undisturbed run. ``POINTSMAN_KILLS`` says how often (``make test-kills`` 20 times);
the moments come from ``POINTSMAN_SEED`` and are printed with a failure.
"""

import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.demonstration import Demonstration
from tests.harness.processes import agents_of, clear_away, engine_of, everything_of, kill_all

KILLS = int(os.environ.get("POINTSMAN_KILLS", "1"))
SEED = int(os.environ.get("POINTSMAN_SEED", "2026"))
KINDS = ("visit", "route", "report", "fork", "branch", "join", "end")
# <node>.<visit>.<branch>.<try>, or the same without the try.
OF_A_BRANCH = re.compile(r"[^.]+\.\d+\.[a-z][^.]*(\.\d+)?")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def essence(signature: Any) -> list[Any]:
    """Keep what no crash may change; how often a check was started is none of it.

    In which order reviewers come to their end is none of it either.
    """
    kept: list[Any] = []
    at_once: list[Any] = []
    for entry in (each for each in signature if each[0] in KINDS):
        if entry[0] in ("report", "branch") and OF_A_BRANCH.fullmatch(entry[1]):
            at_once.append(entry)
            continue
        kept += [*sorted(at_once, key=repr), entry]
        at_once = []
    return kept + at_once


class Undisturbed:
    """The demonstration left alone: how long it takes and what it does."""

    def __init__(self, data: Path) -> None:
        began = time.monotonic()
        demonstration = Demonstration(data)
        demonstration.finish(demonstration.begin())
        self.seconds = time.monotonic() - began
        self.signature = essence(demonstration.signature())
        self.launches = len(demonstration.launches())
        clear_away(data)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture
def demonstration(tmp_path: Path) -> Iterator[Demonstration]:
    yield Demonstration(tmp_path / "data")
    clear_away(tmp_path / "data")


def moments(kind: str) -> list[float]:
    """Draw moments in [0, 1) from the seed alone."""
    drawn = (hashlib.sha256(f"{SEED} {kind} {n}".encode()).digest() for n in range(KILLS))
    return [int.from_bytes(each[:6]) / 2**48 for each in drawn]


def disturb(demonstration: Demonstration, find: Callable[[Path], set[int]], after_s: float) -> None:
    """Begin the demonstration and kill what ``find`` finds after a while, unless it ended."""
    going = demonstration.begin()
    watch = threading.Timer(after_s, kill_all, (find, demonstration.data))
    watch.start()
    going.communicate()
    watch.join()


@pytest.mark.parametrize("moment", moments("engine"))
def test_killing_the_engine_launches_nothing_twice_and_changes_no_history(
    demonstration: Demonstration, undisturbed: Undisturbed, moment: float
) -> None:
    disturb(demonstration, engine_of, moment * undisturbed.seconds)
    demonstration.finish(demonstration.begin())
    assert essence(demonstration.signature()) == undisturbed.signature, f"seed {SEED}, {moment}"
    assert len(demonstration.launches()) == undisturbed.launches, "every order was begun once"


@pytest.mark.parametrize("moment", moments("everything"))
def test_killing_the_engine_and_all_agents_changes_no_history(
    demonstration: Demonstration, undisturbed: Undisturbed, moment: float
) -> None:
    disturb(demonstration, everything_of, moment * undisturbed.seconds)
    assert agents_of(demonstration.data) == set()
    demonstration.finish(demonstration.begin())
    assert essence(demonstration.signature()) == undisturbed.signature, f"seed {SEED}, {moment}"
