"""Goal: whatever single process is killed, again and again, the acceptance example comes to the
same end, with nothing left over and nobody repairing anything.

Method: the demonstration (real server, LMDB, git, agents) is begun in fresh data directories; every
few seconds one kind of process is killed with SIGKILL, and a command that ended is given again. It
goes on for ``POINTSMAN_KILL_SECONDS`` (``make test-kills`` ten minutes); kinds and moments come
from ``POINTSMAN_SEED``.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pointsman.runtime.config import DataDirectory
from tests.crash.test_kill_everything import Undisturbed, essence
from tests.harness.demonstration import Demonstration
from tests.harness.processes import (
    ENGINE_KINDS,
    agents_of,
    clear_away,
    engine_of,
    everything_of,
    kill_all,
    kill_once,
    of_kind,
    still_there,
)
from tests.simulation.chance import Chance

SECONDS = float(os.environ.get("POINTSMAN_KILL_SECONDS", "30"))
SEED = int(os.environ.get("POINTSMAN_SEED", "2026"))
# As long as a run is disturbed; then it is left alone to come to its end.
KILLS_MAX = 8
# Each costs the agents at work one of the resumes that the workflow allows them.
KILLS_OF_AGENTS_MAX = 2
END_WITHIN_S = 240

Find = Callable[[Path], set[int]]
OF_AGENTS: dict[str, Find] = {"agents": agents_of, "everything": everything_of}


def _those(kind: str, data: Path) -> set[int]:
    return set(of_kind(kind, data))


KINDS: dict[str, Find] = {
    **{kind: partial(_those, kind) for kind in ENGINE_KINDS},
    "whole engine": engine_of,
    **OF_AGENTS,
}

pytestmark = [pytest.mark.slow, pytest.mark.ray, pytest.mark.timeout(SECONDS + 3 * END_WITHIN_S)]


class Disturbed:
    """One demonstration, killed at random and begun again until it has come to its end."""

    def __init__(self, data: Path, chance: Chance) -> None:
        self.demonstration = Demonstration(data)
        self.killed: list[str] = []
        self.begun = 0
        self._chance = chance

    def play(self) -> None:
        give_up = time.monotonic() + END_WITHIN_S
        while True:
            going, self.begun = self.demonstration.begin(), self.begun + 1
            self._disturb(going)
            try:
                out, err = going.communicate(timeout=max(1.0, give_up - time.monotonic()))
            except subprocess.TimeoutExpired:
                kill_all(everything_of, self.demonstration.data)
                _, err = going.communicate()
                pytest.fail(f"{self}: no end in {END_WITHIN_S} s\n{err[-2000:]}\n{self._log()}")
            if going.returncode == 0:
                return
            assert self.begun <= len(self.killed) + 1, f"{self} ended by itself: {out}\n{err}"

    def _log(self) -> str:
        lines = DataDirectory(self.demonstration.data).log.read_text().splitlines()
        return "\n".join(line[:1500] for line in lines[-12:])

    def _disturb(self, going: "subprocess.Popen[str]") -> None:
        """Kill one kind every 1 to 10 s, as long as the command goes on."""
        while len(self.killed) < KILLS_MAX:
            try:
                going.wait(self._chance.uniform(1, 10))
            except subprocess.TimeoutExpired:
                self._kill_one()
            else:
                return

    def _kill_one(self) -> None:
        spared = OF_AGENTS if self.agents_killed >= KILLS_OF_AGENTS_MAX else {}
        there = [
            kind
            for kind, find in KINDS.items()
            if kind not in spared and find(self.demonstration.data)
        ]
        if there:
            kind = self._chance.pick(there)
            kill_once(KINDS[kind], self.demonstration.data)
            self.killed.append(kind)

    @property
    def agents_killed(self) -> int:
        return sum(kind in OF_AGENTS for kind in self.killed)

    def __repr__(self) -> str:
        return f"seed {SEED}, after kills of {', '.join(self.killed) or 'nobody'}"


@pytest.fixture
def undisturbed(tmp_path: Path) -> Undisturbed:
    return Undisturbed(tmp_path / "undisturbed")


def test_random_kills_of_single_processes_change_nothing(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    chance = Chance(str(SEED))
    end, counted, number = time.monotonic() + SECONDS, Counter[str](), 0
    while time.monotonic() < end:
        number += 1
        data = tmp_path / f"data-{number}"
        disturbed = Disturbed(data, chance)
        try:
            disturbed.play()
            demonstration = disturbed.demonstration
            assert essence(demonstration.signature()) == undisturbed.signature, repr(disturbed)
            if not disturbed.agents_killed:
                launches = len(demonstration.launches())
                assert launches == undisturbed.launches, f"{disturbed}: begun once each"
            # A server that was killed last is cleared away by another process, not at once.
            left = still_there(everything_of, data)
            assert not left, f"{disturbed}: something is left"
        finally:
            clear_away(data)
        counted.update(disturbed.killed)
        counted["begun again"] += disturbed.begun - 1
    told = ", ".join(f"{count} of {kind}" for kind, count in sorted(counted.items()))
    sys.stdout.write(f"{number} examples; killed: {told}\n")
