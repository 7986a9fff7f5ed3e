"""Makes a golden journal: a few real runs in today's format, kept as a file for later versions.

``python -m tests.harness.golden_journal FILE.mdb.gz``, once when a format is released; such a
file is never made again or edited. The runs: one that waits at its gate, one that is unresolved,
one whose check is owed, one that has completed.
"""

import gzip
import sys
import tempfile
from pathlib import Path

import lmdb

from pointsman.graph.project import project
from pointsman.graph.work import WorkPhase
from pointsman.storage.journal import Transition
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.harness import core

AT_GATE, UNRESOLVED, AT_CHECK, COMPLETED = (f"r0-{number:026d}" for number in range(1, 5))


def _process(run_id: str) -> core.Process:
    core.RUN_ID = run_id
    process = core.Process()
    match run_id:
        case _ if run_id == UNRESOLVED:
            process.launch()
            process.observe(phase=WorkPhase.GONE)
        case _ if run_id == AT_CHECK:
            process.work()
        case _:
            process.work()
            process.run_check()
    if run_id == COMPLETED:
        process.decide_gate()
        process.take("release_workspace", kept=False)
    return process


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


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = LmdbJournal.open(Path(folder) / "journal")
        for run_id in (AT_GATE, UNRESOLVED, AT_CHECK, COMPLETED):
            _committed(journal, _process(run_id))
        journal.close()
        copy = Path(folder) / "copy"
        copy.mkdir()
        with lmdb.open(str(Path(folder) / "journal"), readonly=True) as env:
            env.copy(str(copy), compact=True)
        # No name and no time of its own, so that the same journal gives the same file.
        target.write_bytes(gzip.compress((copy / "data.mdb").read_bytes(), mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
