"""Work many runs through a real server for a long time and watch it: ``make soak``.

Runs of mixed scripted behaviour are begun one after the other, a few at a time: some pass, some go
back once, some are reviewed by several, some wait until they are canceled. The memory, open files,
threads and children of every process of the engine are read all the while. It fails if a run does
not end as its behaviour says, if anything is left over, if a process has grown without end, or if
the journal does not verify afterwards.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pointsman.graph.results import GateDecision
from pointsman.runtime.care.verification import verify_data
from pointsman.runtime.client import Client
from pointsman.runtime.views.queries import RunView
from tests.crash.test_killing_branch_actors import REVIEWED, write_scripts
from tests.harness.hosts import becomes_true
from tests.harness.processes import agents_of
from tests.harness.server import WORKFLOW, Server
from tests.harness.soak_watch import Watch

AT_ONCE_MAX: Final = 12
_LOOK_EVERY_S: Final = 1.0
_RUN_PATIENCE_S: Final = 600.0
_HANGING = "steps:\n  - hang\n"


@dataclass(frozen=True)
class Behaviour:
    """What a run does, and how it must end. ``cancels`` says that a person gives it up."""

    name: str
    definition: str
    ends: str
    decision: GateDecision = GateDecision.APPROVE
    cancels: bool = False


BEHAVIOURS: Final = (
    Behaviour("goes back once, approved", WORKFLOW, "completed"),
    Behaviour("reviewed by two, approved", REVIEWED, "completed"),
    Behaviour("refused at the gate", WORKFLOW, "failed", GateDecision.REQUEST_CHANGES),
    Behaviour(
        "hangs until canceled",
        WORKFLOW.replace("script: quick", "script: hanging"),
        "canceled",
        cancels=True,
    ),
)


@dataclass
class Soak:
    """The runs under way, and what came of the others."""

    server: Server
    runs: int
    begun: int = 0
    open: dict[str, tuple[Behaviour, float]] = field(default_factory=dict)
    ended: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    slowest_s: float = 0.0

    def turn(self, end: float) -> bool:
        """Look at every run once, and begin what may be begun; ``True`` when all is over."""
        may_begin = self.begun < self.runs and time.monotonic() < end
        if may_begin and len(self.open) < AT_ONCE_MAX:
            behaviour = BEHAVIOURS[self.begun % len(BEHAVIOURS)]
            run_id = self.server.begin(f"soak-{self.begun}", behaviour.definition)
            self.open[run_id] = (behaviour, time.monotonic())
            self.begun += 1
        with self.server.client() as client:
            for run_id in list(self.open):
                self._look(client, run_id)
        return not self.open and not may_begin

    def _look(self, client: Client, run_id: str) -> None:
        (behaviour, began), view = self.open[run_id], client.run(run_id)
        took = time.monotonic() - began
        if view.ended_at is not None:
            if view.state != behaviour.ends:
                self.wrong.append(f"{run_id} ({behaviour.name}) ended as {view.state}")
            self.ended[behaviour.name] += 1
            self.slowest_s = max(self.slowest_s, took)
            del self.open[run_id]
        elif view.gate is not None:
            self._decide(client, view, behaviour)
        elif behaviour.cancels and view.attempt is not None and view.open_work:
            client.cancel(run_id, requested_by="soak", command_id=f"cancel-{run_id}", wait_s=0)
        elif took > _RUN_PATIENCE_S:
            self.wrong.append(f"{run_id} ({behaviour.name}) is {view.state} after {took:.0f} s")
            del self.open[run_id]

    @staticmethod
    def _decide(client: Client, view: RunView, behaviour: Behaviour) -> None:
        assert view.gate is not None
        review = view.gate.review
        client.decide_gate(
            view.run_id,
            gate_id=view.gate.gate_id,
            revision=view.gate.revision,
            decision=behaviour.decision,
            decided_by="soak",
            command_id=f"decide-{view.gate.gate_id}",
            review_set_id=review.review_set_id if review is not None else None,
        )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def _work(soak: Soak, watch: Watch, minutes: float) -> None:
    end, next_look = time.monotonic() + 60 * minutes, 0.0

    def turn() -> bool:
        nonlocal next_look
        if time.monotonic() >= next_look:
            next_look = time.monotonic() + _LOOK_EVERY_S
            watch.look(sum(soak.ended.values()))
        return soak.turn(end)

    await becomes_true(turn, 60 * minutes + _RUN_PATIENCE_S)


def main() -> int:
    """Soak, print what was seen, and fail when something grew, broke or was left over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--runs", type=int, default=500)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    with Server(folder) as server:
        write_scripts(server)
        scripts = server.repository / ".pointsman" / "scripts"
        (scripts / "hanging.yaml").write_text(_HANGING)
        soak, watch = Soak(server, asked.runs), Watch(server.data.path)
        asyncio.run(_work(soak, watch, asked.minutes))
        left = agents_of(server.data.path)
        if left:
            soak.wrong.append(f"{len(left)} processes of agents and checks are left")
        server.stop()
        verified, found = verify_data(server.data)
        soak.wrong += map(str, found)
    for name, count in sorted(soak.ended.items()):
        _say(f"{count:5d}  {name}")
    _say(f"the slowest run took {soak.slowest_s:.1f} s; {verified} runs verified in the journal")
    for line in watch.table():
        _say(line)
    problems = [*soak.wrong, *watch.growth()]
    for problem in problems:
        _say(f"WRONG  {problem}")
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
