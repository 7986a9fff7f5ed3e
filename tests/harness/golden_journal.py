"""Makes a golden journal: a few real runs in today's format, kept as a file for later versions.

``python -m tests.harness.golden_journal FILE.mdb.gz``, once when a format is released; such a
file is never made again or edited. The runs: one that waits at its gate, one that is unresolved,
one whose check is owed, one that has completed; from format 3 on also one that waits at the gate of
a review, one whose reviewers are at work, one whose agent asks, and a schedule with occurrences.
"""

import gzip
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import lmdb

from pointsman.graph.project import project
from pointsman.graph.schedule import (
    Occurrence,
    OccurrenceState,
    Reason,
    Trigger,
    slot_occurrence_id,
)
from pointsman.graph.work import NativeRequest, RequestKind, WorkPhase
from pointsman.storage.journal import Transition
from pointsman.storage.lmdb_journal import LmdbJournal
from pointsman.storage.schedules import ScheduleChange
from tests.harness import core
from tests.harness.reviews import ReviewProcess
from tests.harness.schedules import a_schedule

AT_GATE, UNRESOLVED, AT_CHECK, COMPLETED, REVIEWED, REVIEWING, ASKING = (
    f"r0-{number:026d}" for number in range(1, 8)
)
REFUSED: Final = Reason(code="repository_empty", message="there is no commit")


def _at_gate() -> core.Process:
    return core.Process().work().run_check()


def _unresolved() -> core.Process:
    process = core.Process().launch()
    process.observe(phase=WorkPhase.GONE)
    return process


def _completed() -> core.Process:
    process = _at_gate()
    process.decide_gate()
    process.take("release_workspace", kept=False)
    return process


def _reviewing() -> core.Process:
    """One reviewer has reported, one is at work, one is not begun."""
    process = ReviewProcess().fork()
    process.launch_branch("code").report_of("code")
    process.launch_branch("security")
    return process


def _asking() -> core.Process:
    process = core.Process().launch()
    asked = NativeRequest(
        request_id="one", kind=RequestKind.APPROVAL, question="May I?", answerable="live"
    )
    process.observe(pending_requests=(asked,), phase=WorkPhase.WAITING_INPUT)
    return process


RUNS: Final[Mapping[str, Callable[[], core.Process]]] = {
    AT_GATE: _at_gate,
    UNRESOLVED: _unresolved,
    AT_CHECK: lambda: core.Process().work(),
    COMPLETED: _completed,
    REVIEWED: lambda: ReviewProcess().to_the_gate(),
    REVIEWING: _reviewing,
    ASKING: _asking,
}


def _committed(journal: LmdbJournal, process: core.Process) -> None:
    run = process.state
    journal.commit(
        Transition(
            run_id=run.run_id,
            expected_sequence=0,
            fencing_token=journal.lease(run.run_id),
            events=tuple(process.recorded),
            run=run,
            projection=project(run),
        )
    )


def _schedule(journal: LmdbJournal) -> None:
    """A schedule whose first slot made a run, and whose second could start none."""
    schedule = a_schedule(0)
    dispatched, refused = (
        Occurrence(
            occurrence_id=slot_occurrence_id(schedule.schedule_id, slot_ms),
            schedule_id=schedule.schedule_id,
            trigger=Trigger.SLOT,
            slot_ms=slot_ms,
            wish=schedule.wish,
            asked_by="ann",
            created_at_ms=slot_ms,
            state=state,
            run_id=run_id,
            settled_at_ms=slot_ms,
            reason=reason,
        )
        for slot_ms, state, run_id, reason in (
            (7_200_000, OccurrenceState.DISPATCHED, AT_GATE, None),
            (93_600_000, OccurrenceState.REFUSED, None, REFUSED),
        )
    )
    change = ScheduleChange(schedule.schedule_id, 0, schedule, occurrences=(dispatched, refused))
    journal.schedules.change(change)


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = LmdbJournal.open(Path(folder) / "journal")
        for run_id, made in RUNS.items():
            core.RUN_ID = run_id
            _committed(journal, made())
        _schedule(journal)
        journal.close()
        copy = Path(folder) / "copy"
        copy.mkdir()
        with lmdb.open(str(Path(folder) / "journal"), readonly=True) as env:
            env.copy(str(copy), compact=True)
        # No name and no time of its own, so that the same journal gives the same file.
        target.write_bytes(gzip.compress((copy / "data.mdb").read_bytes(), mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
