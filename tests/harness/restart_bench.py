"""Tell how fast a machine is back after a kill of everything: ``make bench-restart``.

Runs are put into a real LMDB journal: many that wait at a gate, and some that owe the outside
something. A start is timed twice over copies of it: in one event loop with the real actors and a
host in memory (what the engine itself costs), and as a real server with its processes of Ray's and
the real host, which finds no such repository and says so.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import structlog

from pointsman.actors.clock import SystemClock
from pointsman.graph import ids
from pointsman.graph.events import RecordedEvent
from pointsman.graph.project import project
from pointsman.graph.run import Run
from pointsman.storage.journal import Journal, Transition
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.harness.core import BASE_COMMIT, RUN_ID, Process, workflow
from tests.harness.fake_host import FakeHost
from tests.harness.hosts import becomes_true
from tests.harness.in_process import InProcessSupervisor
from tests.harness.server import Server

FIRST_COMMIT_S_MAX: Final = 5.0
ALL_LEASED_S_MAX: Final = 15.0
_PATIENCE_S: Final = 300.0
_LOG_ROWS_MAX: Final = 100_000


class Story:
    """A run as the core made it, to be told again under other ids."""

    def __init__(self, process: Process) -> None:
        assert process.run is not None
        self._run = process.run.model_dump_json()
        self._events = [each.model_dump_json() for each in process.recorded]

    def put(self, journal: Journal, run_id: str) -> None:
        run = Run.model_validate_json(self._run.replace(RUN_ID, run_id))
        told = (each.replace(RUN_ID, run_id) for each in self._events)
        events = tuple(RecordedEvent.model_validate_json(each) for each in told)
        journal.commit(
            Transition(
                run_id=run_id,
                expected_sequence=0,
                fencing_token=journal.lease(run_id),
                events=events,
                run=run,
                projection=project(run),
            )
        )


def waiting_at_a_gate() -> Process:
    """Return a run that waits for a person and owes nothing."""
    gate = {"kind": "gate", "title": "Look", "decisions": {"approve": "done"}}
    process = Process(workflow(entry="look", nodes={"look": gate, "done": {"kind": "end"}}))
    if "prepare_workspace" in process.owed():
        process.take("prepare_workspace", path="/w", branch="b", head_commit=BASE_COMMIT)
    assert not process.owed()
    return process


def seed(folder: Path, waiting: int, active: int) -> list[str]:
    """Fill a journal; return the ids of the active runs."""
    journal = LmdbJournal.open(folder)
    story, owing = Story(waiting_at_a_gate()), Story(Process())
    for number in range(waiting):
        story.put(journal, ids.run_id(0, f"0{number:025d}"))
    found = [ids.run_id(0, f"1{number:025d}") for number in range(active)]
    for run_id in found:
        owing.put(journal, run_id)
    assert set(journal.active_runs()) == set(found), "the waiting ones owe nothing"
    journal.close()
    return found


class Figures:
    """When the first commit came, and the commit of the last of the active runs."""

    def __init__(self, journal: Journal, active: list[str]) -> None:
        self._journal, self._left = journal, set(active)
        self._position = len(journal.log(0, _LOG_ROWS_MAX))
        self._began = time.monotonic()
        self.first_s: float | None = None
        self.all_s = 0.0

    def look(self) -> bool:
        for entry in self._journal.log(self._position, _LOG_ROWS_MAX):
            self._position = entry.position
            self._left.discard(entry.run_id)
            if self.first_s is None:
                self.first_s = time.monotonic() - self._began
        self.all_s = time.monotonic() - self._began
        return not self._left


def in_one_loop(folder: Path, active: list[str]) -> Figures:
    """Start the real supervisor and run actors over a host in memory."""

    async def measured() -> Figures:
        journal = LmdbJournal.open(folder)
        figures = Figures(journal, active)
        supervisor = InProcessSupervisor(journal, FakeHost(), SystemClock())
        await supervisor.start()
        await becomes_true(figures.look, _PATIENCE_S)
        await supervisor.stop()
        return figures

    return asyncio.run(measured())


def as_a_server(folder: Path, journal_folder: Path, active: list[str]) -> Figures:
    """Start ``serve`` on the journal, from the beginning of its process."""
    server = Server(folder)
    server.data.path.mkdir()
    shutil.copytree(journal_folder, server.data.journal)
    journal = LmdbJournal.open(server.data.journal, read_only=True)
    figures = Figures(journal, active)
    began = time.monotonic()
    watch = threading.Thread(
        target=lambda: asyncio.run(becomes_true(figures.look, _PATIENCE_S)), daemon=True
    )
    watch.start()
    with server:
        # What any server costs here, so that a busy machine does not pass for a slow start.
        sys.stdout.write(f"a real server    answers after {time.monotonic() - began:5.2f} s\n")
        watch.join()
    journal.close()
    return figures


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="restart-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _tell(what: str, measure: Callable[[], Figures]) -> bool:
    figures, well = measure(), True
    assert figures.first_s is not None
    for name, seconds, most in (
        ("to the first commit", figures.first_s, FIRST_COMMIT_S_MAX),
        ("to a commit of every active run", figures.all_s, ALL_LEASED_S_MAX),
    ):
        well = well and seconds <= most
        sys.stdout.write(
            f"{what:<16} {name:<34} {seconds:7.2f} s = {seconds / most:5.2f} of {most:g} s\n"
        )
        sys.stdout.flush()
    return well


def main() -> int:
    """Measure, print, and fail when a bound is passed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--waiting", type=int, default=10_000)
    parser.add_argument("--active", type=int, default=100)
    asked = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with _folder() as folder:
        began = time.monotonic()
        active = seed(folder / "journal", asked.waiting, asked.active)
        took = time.monotonic() - began
        sys.stdout.write(f"{asked.waiting} waiting and {asked.active} active runs: {took:.1f} s\n")
        shutil.copytree(folder / "journal", folder / "copy")
        well = _tell("one event loop", lambda: in_one_loop(folder / "copy", active))
        whole = _tell(
            "a real server", lambda: as_a_server(folder / "server", folder / "journal", active)
        )
    return 0 if well and whole else 1


if __name__ == "__main__":
    sys.exit(main())
