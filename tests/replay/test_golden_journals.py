"""Goal: the journal of every released format opens, verifies and goes on with today's version.

Method: golden journals (``tests.harness.golden_journal`` says how they were made) are put into data
directories. They are never edited or made again. When the newest one fails here, a stored shape has
changed: raise its version and ``LAYOUT_VERSION``, add a step, and add a golden journal of its own.
"""

import gzip
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from pointsman.graph import commands as cmd
from pointsman.graph.advance import advance
from pointsman.graph.decide import decide
from pointsman.graph.events import RecordedEvent
from pointsman.graph.evidence import HeadReading
from pointsman.graph.evolve import fold
from pointsman.graph.project import project
from pointsman.graph.replies import Accepted
from pointsman.graph.results import GateDecision
from pointsman.graph.run import Run, RunState
from pointsman.runtime.care.backups import read_manifest
from pointsman.runtime.care.restoring import restore
from pointsman.runtime.care.verification import verify_data
from pointsman.runtime.cli.main import run as command_line
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.problems import PointsmanError
from pointsman.storage import codec
from pointsman.storage.codec import LAYOUT_VERSION
from pointsman.storage.journal import Journal, Transition
from pointsman.storage.keys import FORMAT_KEY, Table
from pointsman.storage.lmdb_environment import MAP_SIZE_BYTES, Environment, Txn
from pointsman.storage.lmdb_journal import LmdbJournal
from pointsman.storage.migration import format_of
from tests.harness.golden_journal import (
    ASKING,
    AT_CHECK,
    AT_GATE,
    COMPLETED,
    REVIEWED,
    REVIEWING,
    UNRESOLVED,
)
from tests.harness.keeping_process import KeepingProcess
from tests.harness.reviews import FROZEN

GOLDEN: Final = Path(__file__).parent / "journals"
FORMATS: Final = tuple(range(1, LAYOUT_VERSION + 1))
OLDER: Final = FORMATS[:-1]
LATER_MS: Final = 2_000_000_000_000
FIRST: Final = {
    AT_GATE: RunState.AWAITING_REVIEW,
    UNRESOLVED: RunState.UNRESOLVED,
    AT_CHECK: RunState.RUNNING,
    COMPLETED: RunState.COMPLETED,
}
FURTHER: Final = {
    REVIEWED: RunState.AWAITING_REVIEW,
    REVIEWING: RunState.RUNNING,
    ASKING: RunState.RUNNING,
}
STATES: Final = {1: FIRST, 2: FIRST, 3: {**FIRST, **FURTHER}}


def data_of(format_: int, folder: Path) -> DataDirectory:
    """Return a data directory with the golden journal of a format."""
    data = DataDirectory(folder / f"format-{format_}")
    data.journal.mkdir(parents=True, mode=0o700)
    content = gzip.decompress((GOLDEN / f"format-{format_}.mdb.gz").read_bytes())
    (data.journal / "data.mdb").write_bytes(content)
    return data


def migrated(data: DataDirectory) -> int:
    return command_line(["migrate", "--data", str(data.path)])


def send(journal: Journal, run_id: str, command: cmd.Command) -> Run:
    """Decide a command on the stored run, take every automatic step, and commit it all."""
    run = journal.run(run_id)
    assert run is not None
    verdict = decide(run, command, LATER_MS)
    assert isinstance(verdict, Accepted), verdict
    first, recorded, events = run.version, list[RecordedEvent](), verdict.events
    while events:
        for event in events:
            each = RecordedEvent(
                run_id=run_id, sequence=first + len(recorded), at_ms=LATER_MS, event=event
            )
            recorded.append(each)
            run = fold([each], run)
            assert run is not None
        events = advance(run)
    token = journal.lease(run_id)
    journal.commit(Transition(run_id, first, token, tuple(recorded), run, project(run)))
    return run


def test_there_is_a_golden_journal_of_every_format_and_of_no_other() -> None:
    names = {f"format-{number}.mdb.gz" for number in FORMATS}
    assert {path.name for path in GOLDEN.iterdir()} == names


@pytest.mark.parametrize("format_", FORMATS)
def test_a_golden_journal_opens_verifies_and_goes_on(format_: int, tmp_path: Path) -> None:
    data = data_of(format_, tmp_path)
    assert migrated(data) == 0
    assert verify_data(data) == (len(STATES[format_]), ())
    journal = LmdbJournal.open(data.journal)
    try:
        states = {summary.run_id: summary.state for summary in journal.runs()}
        assert states == STATES[format_]
        waiting = journal.run(AT_GATE)
        assert waiting is not None
        assert waiting.visit is not None
        assert waiting.visit.gate is not None
        approve = cmd.DecideGate(
            gate_id=waiting.visit.gate.gate_id,
            revision=waiting.visit.gate.revision,
            decision=GateDecision.APPROVE,
            decided_by="ann",
        )
        assert send(journal, AT_GATE, approve).state is RunState.COMPLETED
        unresolved = journal.run(UNRESOLVED)
        assert unresolved is not None
        assert unresolved.visit is not None
        assert unresolved.visit.unresolved is not None
        retry = cmd.RetryVisit(
            visit_id=unresolved.visit.visit_id,
            revision=unresolved.visit.unresolved.revision,
            requested_by="ann",
        )
        assert send(journal, UNRESOLVED, retry).state is RunState.RUNNING
    finally:
        journal.close()
    assert verify_data(data) == (len(STATES[format_]), ())


@pytest.mark.parametrize("format_", [each for each in FORMATS if REVIEWED in STATES[each]])
def test_reviews_questions_and_schedules_of_a_golden_journal_go_on(
    format_: int, tmp_path: Path
) -> None:
    data = data_of(format_, tmp_path)
    assert migrated(data) == 0
    journal = LmdbJournal.open(data.journal)
    try:
        reviewed = journal.run(REVIEWED)
        assert reviewed is not None
        assert reviewed.visit is not None
        assert reviewed.visit.gate is not None
        approve = cmd.DecideGate(
            gate_id=reviewed.visit.gate.gate_id,
            revision=reviewed.visit.gate.revision,
            review_set_id=reviewed.reviews["review"].review_set_id,
            decision=GateDecision.APPROVE,
            decided_by="ann",
            head=HeadReading(head_commit=FROZEN),
        )
        assert send(journal, REVIEWED, approve).state is RunState.COMPLETED
        cancelled = send(journal, REVIEWING, cmd.CancelRun(requested_by="ann"))
        assert cancelled.state is RunState.CANCELED
        asking = journal.run(ASKING)
        assert asking is not None
        assert asking.visit is not None
        assert asking.visit.attempt is not None
        answer = cmd.AnswerNativeRequest(
            attempt_id=asking.visit.attempt.attempt_id,
            request_id="one",
            allow=True,
            answered_by="ann",
        )
        send(journal, ASKING, answer)
        assert [each.kind for each in journal.outbox(ASKING)] == ["answer_request"]
        (schedule,) = journal.schedules.schedules()
        found = journal.schedules.occurrences(schedule.schedule_id)
        assert [each.state for each in found] == ["refused", "dispatched"]
    finally:
        journal.close()
    assert verify_data(data) == (len(STATES[format_]), ())


@pytest.mark.parametrize("format_", OLDER)
def test_an_older_journal_is_not_changed_by_looking_and_is_backed_up_before_it_is(
    format_: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = data_of(format_, tmp_path)
    before = (data.journal / "data.mdb").read_bytes()
    for looking in (["runs"], ["verify"], ["show", "last"]):
        assert command_line([*looking, "--data", str(data.path)]) == 6
        assert "PM0086" in capsys.readouterr().err
    assert (data.journal / "data.mdb").read_bytes() == before
    assert migrated(data) == 0
    backup = data.path / "backups" / f"format-{format_}"
    assert read_manifest(backup).journal_format == format_
    assert migrated(data) == 0, "again there is nothing to do"
    # A backup of an older version is migrated when it is restored.
    restored = DataDirectory(tmp_path / "restored")
    assert restore(backup, restored, LATER_MS).runs == len(STATES[format_])
    assert verify_data(restored) == (len(STATES[format_]), ())


@pytest.mark.parametrize("format_", OLDER)
def test_a_killed_migration_is_begun_again(format_: int, tmp_path: Path) -> None:
    data = data_of(format_, tmp_path)
    backup = data.path / "backups" / f"format-{format_}"
    stages: list[Callable[[], bool]] = [
        (data.journal / "lock.mdb").exists,
        backup.exists,
    ]
    with KeepingProcess() as process:
        for stage in stages:
            pid = process.begin("migrate", data.path, data.path)
            while not stage():
                pass
            os.kill(pid, signal.SIGKILL)
            process.ended()
            assert format_of(data.journal) in (format_, LAYOUT_VERSION)
    assert migrated(data) == 0
    assert verify_data(data) == (len(STATES[format_]), ())
    assert read_manifest(backup).journal_format == format_


def test_what_was_derived_wrongly_is_derived_anew(tmp_path: Path) -> None:
    data = data_of(LAYOUT_VERSION, tmp_path)
    _behind_its_back(data, lambda txn: txn.clear(Table.OUTBOX))
    _, problems = verify_data(data)
    assert {each.subject for each in problems} == {AT_CHECK, REVIEWED, REVIEWING}
    assert "migrate --rebuild" in problems[0].next
    assert command_line(["migrate", "--rebuild", "--data", str(data.path)]) == 0
    assert verify_data(data) == (len(STATES[LAYOUT_VERSION]), ())


def test_a_newer_journal_is_refused_by_every_command_and_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = data_of(LAYOUT_VERSION, tmp_path)

    def raise_format(txn: Txn) -> None:
        row = codec.FormatRow(format=LAYOUT_VERSION + 1)
        txn.put(Table.META, FORMAT_KEY, codec.encode(codec.FORMAT, FORMAT_KEY, row))

    _behind_its_back(data, raise_format)
    before = (data.journal / "data.mdb").read_bytes()
    backup = str(tmp_path / "backup")
    for words in (["runs"], ["serve"], ["migrate"], ["verify"], ["doctor"], ["backup", backup]):
        assert command_line([*words, "--data", str(data.path)]) == 6
        told = capsys.readouterr()
        assert "PM0012" in told.out + told.err, words
    assert (data.journal / "data.mdb").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [data.path.name]


def test_a_journal_whose_events_do_not_fold_is_not_migrated(tmp_path: Path) -> None:
    data = data_of(OLDER[-1], tmp_path)

    def lose_the_first(txn: Txn) -> None:
        key, _ = next(txn.forward(Table.EVENTS))
        txn.delete(Table.EVENTS, key)

    _behind_its_back(data, lose_the_first)
    assert migrated(data) == 6
    assert format_of(data.journal) == OLDER[-1]
    with pytest.raises(PointsmanError):
        verify_data(data)


def _behind_its_back(data: DataDirectory, change: Callable[[Txn], None]) -> None:
    environment = Environment.open(data.journal, MAP_SIZE_BYTES, read_only=False, any_format=True)
    environment.write(change)
    environment.close()
