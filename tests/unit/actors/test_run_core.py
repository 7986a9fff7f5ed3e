"""The one writer of a run: what it answered is durable, whatever instant it dies at."""

from collections.abc import Callable

import pytest

from pointsman.actors.messages import Message, Unavailable
from pointsman.actors.run_core import RunCore
from pointsman.graph import commands as cmd
from pointsman.graph.evolve import fold
from pointsman.graph.project import project
from pointsman.graph.rejections import Rejected
from pointsman.graph.replies import Reply
from pointsman.graph.work import Receipt, ReceiptStatus
from pointsman.storage.journal import Transition
from pointsman.storage.journal_errors import FencedError, JournalFullError
from pointsman.storage.memory_journal import MemoryDisk, MemoryJournal
from tests.harness.core import BASE_COMMIT, RUN_ID, workflow


class Clock:
    """Stands still until told."""

    def __init__(self) -> None:
        self.at_ms = 1_000_000

    def now_ms(self) -> int:
        return self.at_ms


class PowerCutError(BaseException):
    """The process ended here."""


def start(**changes: object) -> Message:
    command = cmd.StartRun(
        run_id=RUN_ID,
        workflow=workflow(),
        definition_source="test",
        inputs={"task": "greet"},
        repository="/repo",
        base_commit=BASE_COMMIT,
        base_branch="main",
        started_by="test",
    )
    return Message(RUN_ID, command.model_copy(update=changes), command_id="start-1")


def prepared(core: RunCore) -> Message:
    (intent,) = core.outbox
    receipt = Receipt(
        idempotency_key=intent.intent_id,
        status=ReceiptStatus.ACCEPTED,
        host_ref={"path": "/w", "branch": "b", "head_commit": BASE_COMMIT},
    )
    return Message(RUN_ID, cmd.RecordReceipt(intent_id=intent.intent_id, receipt=receipt))


def core_on(journal: MemoryJournal, run_id: str = RUN_ID) -> RunCore:
    return RunCore(journal, Clock(), run_id, journal.lease(run_id))


def assert_consistent(disk: MemoryDisk) -> None:
    journal = MemoryJournal(disk)
    run = journal.run(RUN_ID)
    if run is None:
        assert journal.events(RUN_ID) == ()
        return
    assert fold(journal.events(RUN_ID)) == run
    assert journal.outbox(RUN_ID) == project(run).outbox
    assert journal.summary(RUN_ID) == project(run).summary


def test_a_started_run_is_durable_with_its_first_steps_and_owed_work() -> None:
    disk = MemoryDisk()
    core = core_on(MemoryJournal(disk))
    assert core.handle(start()) == Reply(run_id=RUN_ID)
    kinds = [each.event.kind for each in MemoryJournal(disk).events(RUN_ID)]
    assert kinds == ["run_started", "route_taken", "node_entered"]
    assert [each.kind for each in core.outbox] == ["prepare_workspace"]
    assert_consistent(disk)


def test_the_same_command_id_gets_the_first_answer_also_from_another_process() -> None:
    disk = MemoryDisk()
    core_on(MemoryJournal(disk)).handle(start())
    again = core_on(MemoryJournal(disk)).handle(start())
    assert again == Reply(run_id=RUN_ID, duplicate=True)
    assert MemoryJournal(disk).run(RUN_ID).version == 3  # type: ignore[union-attr]


def test_a_start_retried_under_a_freshly_minted_run_id_answers_with_the_first_run() -> None:
    disk = MemoryDisk()
    core_on(MemoryJournal(disk)).handle(start())
    other = RUN_ID[:-1] + "0"
    message = Message(other, start(run_id=other, base_commit="moved").command, "start-1")
    assert core_on(MemoryJournal(disk), other).handle(message) == Reply(
        run_id=RUN_ID, duplicate=True
    )
    assert MemoryJournal(disk).run(other) is None


def test_a_command_id_used_for_another_wish_is_refused() -> None:
    disk = MemoryDisk()
    core = core_on(MemoryJournal(disk))
    core.handle(start())
    answer = core.handle(start(inputs={"task": "other"}))
    assert isinstance(answer, Rejected)
    assert answer.code == "command_id_reused"


def test_a_refused_command_is_judged_anew_under_its_id() -> None:
    disk = MemoryDisk()
    core = core_on(MemoryJournal(disk))
    core.handle(start())
    cancel = Message(RUN_ID, cmd.CancelRun(requested_by="ann"), "cancel-1")
    assert isinstance(core.handle(cancel), Reply)
    second = Message(RUN_ID, cmd.CancelRun(requested_by="ann"), "cancel-2")
    assert isinstance(core.handle(second), Rejected)
    assert core.handle(cancel) == Reply(run_id=RUN_ID, duplicate=True)
    assert MemoryJournal(disk).receipt(RUN_ID, "cancel-2") is None


def test_a_full_disk_refuses_the_command_and_leaves_the_run_as_it_was() -> None:
    disk = MemoryDisk()
    core_on(MemoryJournal(disk)).handle(start())

    def full(_: Transition) -> None:
        raise JournalFullError("no space")

    core = core_on(MemoryJournal(disk, before_commit=full))
    before = core.run
    answer = core.handle(prepared(core))
    assert isinstance(answer, Unavailable)
    assert answer.code == "journal_full"
    assert core.run == before
    assert_consistent(disk)


def test_a_writer_whose_lease_was_taken_over_is_fenced_and_writes_nothing() -> None:
    disk = MemoryDisk()
    old = core_on(MemoryJournal(disk))
    old.handle(start())
    core_on(MemoryJournal(disk))
    with pytest.raises(FencedError):
        old.handle(prepared(old))
    assert_consistent(disk)


def cut_once() -> Callable[[Transition], None]:
    def cut(_: Transition) -> None:
        raise PowerCutError

    return cut


@pytest.mark.parametrize("place", ["before_commit", "after_commit"])
@pytest.mark.parametrize("step", ["start", "prepared"])
def test_a_power_cut_around_a_commit_and_a_redelivery_lead_to_one_and_the_same_history(
    place: str, step: str
) -> None:
    undisturbed, disk = MemoryDisk(), MemoryDisk()
    core = core_on(MemoryJournal(undisturbed))
    core.handle(start())
    core.handle(prepared(core))

    if step == "prepared":
        core_on(MemoryJournal(disk)).handle(start())
    doomed = core_on(MemoryJournal(disk, **{place: cut_once()}))
    with pytest.raises(PowerCutError):
        doomed.handle(start() if step == "start" else prepared(doomed))
    assert_consistent(disk)

    after = core_on(MemoryJournal(disk))
    assert isinstance(after.handle(start()), Reply)
    if after.outbox[0].kind == "prepare_workspace":
        after.handle(prepared(after))
    assert [each.event for each in MemoryJournal(disk).events(RUN_ID)] == [
        each.event for each in MemoryJournal(undisturbed).events(RUN_ID)
    ]
    assert_consistent(disk)
