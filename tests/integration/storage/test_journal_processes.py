"""Goal: what was acknowledged survives the death of its process, and several processes may write.

Method: child processes commit a known row of transitions (``nth_transition``); the same row in the
memory twin says what the journal must hold afterwards.
"""

import threading
from pathlib import Path
from random import Random  # noqa: TID251  seeded

from pointsman.storage.journal import Journal
from pointsman.storage.lmdb_journal import LmdbJournal
from pointsman.storage.memory_journal import MemoryJournal
from tests.harness.journal_process import JournalProcess
from tests.harness.journals import nth_transition, run_id, start

ONE = run_id(1)
MAP_SIZE = 1 << 30
TINY_MAP_SIZE = 1 << 16
KILLS = 20
SEED = 8_841


def contents(journal: Journal) -> dict[str, object]:
    """Return everything the port tells of the first run and the shard."""
    told: dict[str, object] = {
        name: getattr(journal, name)() for name in ("runs", "attention", "active_runs")
    }
    told |= {name: getattr(journal, name)(ONE) for name in ("run", "summary", "events", "outbox")}
    return told | {"due": journal.due(10**9), "log": journal.log(0, 10**6)}


def test_every_acknowledged_commit_survives_a_kill_and_nothing_is_partial(tmp_path: Path) -> None:
    draw = Random(SEED)
    twin = MemoryJournal()
    token = twin.lease(ONE)
    committed = 0
    with JournalProcess(tmp_path / "journal") as process:
        for number in range(KILLS):
            pid = int(process.ask("fork"))
            process.ask("open", MAP_SIZE)
            if number == 0:
                process.ask("lease", 1)
            process.tell("write", 1, committed, 10**6, token, draw.randrange(40_000))
            heard = [process.hear() for _ in range(draw.randrange(1, 12))]
            heard += process.kill_fork(pid)
            # The kill may cut the last line short; a whole one ends with its position.
            acknowledged = [int(line.split()[0]) for line in heard if len(line.split()) == 2]
            committed = _assert_whole(tmp_path / "journal", twin, committed, acknowledged[-1] + 1)


def _assert_whole(folder: Path, twin: MemoryJournal, before: int, acknowledged: int) -> int:
    """Compare with the twin after as many transitions as there are; return how many."""
    journal = LmdbJournal.open(folder)
    try:
        there = len(journal.log(0, 10**6))
        assert there >= acknowledged
        for number in range(before, there):
            run = journal.run(ONE)
            assert run is not None
            filling = len(str(run.inputs["filling"]))
            twin.commit(nth_transition(ONE, number, 1, filling))
            assert journal.receipt(ONE, f"command {number}") is not None
            assert journal.attempt_of_token(f"token {number} of {ONE}") == f"{ONE}.{number}"
        assert journal.receipt(ONE, f"command {there}") is None
        assert contents(journal) == contents(twin)
        return there
    finally:
        journal.close()


def test_a_writer_whose_lease_was_taken_over_is_fenced_off_in_its_own_process(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "journal"
    with JournalProcess(folder) as one, JournalProcess(folder) as two:
        assert one.ask("open", MAP_SIZE) == two.ask("open", MAP_SIZE) == "done"
        writers = [(one, two), (two, one)]
        for number in range(10):
            writer, other = writers[number % 2]
            token = int(writer.ask("lease", 1))
            assert token == number + 1
            assert other.ask("commit", 1, number, token - 1, 0) == "FencedError"
            assert writer.ask("commit", 1, number, token, 0) == str(number + 1)
            assert other.ask("commit", 1, number, token, 0) == "SequenceConflictError"
    twin = MemoryJournal()
    for number in range(10):
        twin.commit(nth_transition(ONE, number, twin.lease(ONE)))
    journal = LmdbJournal.open(folder)
    assert contents(journal) == contents(twin)
    journal.close()


def test_the_map_grows_under_two_writing_processes_and_a_reader(tmp_path: Path) -> None:
    folder, filling, commits = tmp_path / "journal", 20_000, 60
    reader = LmdbJournal.open(folder, map_size=TINY_MAP_SIZE)
    with JournalProcess(folder) as one, JournalProcess(folder) as two:
        for number, process in enumerate((one, two), start=1):
            assert process.ask("open", TINY_MAP_SIZE) == "done"
            assert process.ask("lease", number) == "1"
            process.tell("write", number, 0, commits, 1, filling)
        for heard in range(commits):
            assert one.hear().split()[0] == two.hear().split()[0] == str(heard)
            # The reader's map is still the first one: it must notice, not read past its end.
            assert [each.version > heard for each in reader.runs()] == [True, True]
        assert one.hear() == two.hear() == "done"
    assert [each.position for each in reader.log(0, 10**6)] == list(range(1, 2 * commits + 1))
    assert start(reader, run_id(3)) == 1
    reader.close()


def test_threads_of_a_process_share_its_journal_while_the_map_grows(tmp_path: Path) -> None:
    journal = LmdbJournal.open(tmp_path / "journal", map_size=TINY_MAP_SIZE)
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            token = journal.lease(run_id(number))
            for nth in range(30):
                journal.commit(nth_transition(run_id(number), nth, token, filling=10_000))
                journal.runs()
        except BaseException as error:  # noqa: BLE001  asserted on below, in the test's thread
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(journal.log(0, 1_000)) == 4 * 30
    journal.close()
