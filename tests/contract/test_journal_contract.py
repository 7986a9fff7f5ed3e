"""Goal: both journals keep every promise of the port, so that tests on the twin mean something.

Method: each test is written once against ``journal.Journal``. Whether a refused commit left
anything behind is seen in full dumps of all tables.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pointsman.graph.events import RecordedEvent
from pointsman.graph.run import RunState
from pointsman.storage.journal import TokenBinding
from pointsman.storage.journal_errors import (
    FencedError,
    JournalError,
    ReceiptConflictError,
    SequenceConflictError,
)
from tests.harness.journals import (
    DumpingJournal,
    OpenJournal,
    a_deadline,
    a_receipt,
    a_transition,
    an_intent,
    an_item,
    lmdb_opener,
    memory_opener,
    recorded,
    run_id,
    start,
)

ONE, TWO, THREE = run_id(1), run_id(2), run_id(3)


@pytest.fixture(params=[memory_opener, lmdb_opener], ids=["memory", "lmdb"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenJournal]:
    opener: Callable[[Path], OpenJournal] = request.param
    open_again = opener(tmp_path)
    journals: list[DumpingJournal] = []

    def open_one() -> DumpingJournal:
        journals.append(open_again())
        return journals[-1]

    yield open_one
    for each in journals:
        each.close()


@pytest.fixture
def journal(opened: OpenJournal) -> DumpingJournal:
    return opened()


def test_a_committed_transition_is_read_back_whole(journal: DumpingJournal) -> None:
    token = journal.lease(ONE)
    made = a_transition(
        ONE,
        token=token,
        count=3,
        outbox=[an_intent(ONE, 1)],
        deadlines=[a_deadline(ONE, 9)],
        attention=[an_item(ONE, 7)],
        receipt=a_receipt(ONE, "command"),
        tokens=(TokenBinding("digest", f"{ONE}.agent.1.1"),),
        inputs={"truth": True, "count": 1, "ratio": 1.0, "text": "1 – ✓", "large": 2**70},
    )
    journal.commit(made)
    assert journal.run(ONE) == made.run
    assert journal.events(ONE) == made.events
    assert journal.outbox(ONE) == made.projection.outbox
    assert journal.summary(ONE) == made.projection.summary
    assert journal.due(9) == made.projection.deadlines
    assert journal.attention() == made.projection.attention
    assert journal.receipt(ONE, "command") == made.receipt
    assert journal.attempt_of_token("digest") == f"{ONE}.agent.1.1"


def test_numbers_and_booleans_keep_their_kind(journal: DumpingJournal) -> None:
    start(journal, ONE, inputs={"truth": True, "count": 1, "ratio": 1.0})
    run = journal.run(ONE)
    assert run is not None
    assert {name: type(value) for name, value in run.inputs.items()} == {
        "truth": bool,
        "count": int,
        "ratio": float,
    }


def test_what_is_not_there_is_none_or_empty(journal: DumpingJournal) -> None:
    assert journal.run(ONE) is None
    assert journal.summary(ONE) is None
    assert journal.events(ONE) == ()
    assert journal.outbox(ONE) == ()
    assert journal.receipt(ONE, "command") is None
    assert journal.attempt_of_token("digest") is None
    assert journal.next_deadline_ms() is None
    assert not journal.runs()
    assert not journal.attention()
    assert not journal.due(10**15)
    assert not journal.active_runs()
    assert journal.log(0, 10) == ()


@pytest.mark.parametrize("strange", ["", "\0", "a\0b", "\x01", "x" * 5_000, "\ud800", "✓"])
def test_strange_ids_from_outside_are_simply_unknown(journal: DumpingJournal, strange: str) -> None:
    start(journal, ONE)
    assert journal.run(strange) is None
    assert journal.events(strange) == ()
    assert journal.receipt(ONE, strange) is None
    assert journal.receipt(strange, "command") is None
    assert journal.attempt_of_token(strange) is None


@pytest.mark.parametrize("command_id", ["", "\0", "x" * 5_000, "ü" * 201, "\x01abc"])
def test_receipts_are_kept_for_command_ids_of_any_shape(
    journal: DumpingJournal, command_id: str
) -> None:
    token = start(journal, ONE, receipt=a_receipt(ONE, command_id))
    assert journal.receipt(ONE, command_id) == a_receipt(ONE, command_id)
    assert journal.receipt(ONE, command_id + "x") is None
    again = a_transition(ONE, 1, token=token, receipt=a_receipt(ONE, command_id))
    with pytest.raises(ReceiptConflictError):
        journal.commit(again)


def test_events_are_paged_in_order_and_only_of_their_run(journal: DumpingJournal) -> None:
    start(journal, TWO, count=2)
    token = start(journal, ONE, count=300)
    start(journal, THREE, count=2)
    journal.commit(a_transition(ONE, 300, token=token, count=2))
    assert journal.events(ONE) == recorded(ONE, 0, 302)
    assert journal.events(ONE, after=254, limit=3) == recorded(ONE, 255, 3)
    assert journal.events(ONE, after=300) == recorded(ONE, 301, 1)
    assert journal.events(ONE, after=301) == ()
    assert journal.events(ONE, limit=0) == ()


def test_leases_rise_by_one_for_each_run_alone(journal: DumpingJournal) -> None:
    assert [journal.lease(ONE), journal.lease(ONE), journal.lease(TWO)] == [1, 2, 1]


def test_a_commit_with_a_token_older_than_the_lease_writes_nothing(
    journal: DumpingJournal,
) -> None:
    stale = start(journal, ONE, outbox=[an_intent(ONE, 1)])
    newer = journal.lease(ONE)
    before = journal.dump()
    with pytest.raises(FencedError):
        journal.commit(a_transition(ONE, 1, token=stale, receipt=a_receipt(ONE, "command")))
    assert journal.dump() == before
    journal.commit(a_transition(ONE, 1, token=newer))


@pytest.mark.parametrize("token", [0, 1, 2])
def test_a_commit_without_a_lease_writes_nothing(journal: DumpingJournal, token: int) -> None:
    before = journal.dump()
    with pytest.raises(FencedError):
        journal.commit(a_transition(ONE, token=token))
    assert journal.dump() == before


def test_a_token_that_was_never_leased_is_refused(journal: DumpingJournal) -> None:
    token = start(journal, ONE)
    with pytest.raises(FencedError):
        journal.commit(a_transition(ONE, 1, token=token + 1))


def test_a_stale_writer_is_told_so_before_anything_else(journal: DumpingJournal) -> None:
    stale = start(journal, ONE, receipt=a_receipt(ONE, "command"))
    journal.lease(ONE)
    with pytest.raises(FencedError):
        journal.commit(a_transition(ONE, 5, token=stale, receipt=a_receipt(ONE, "command")))


@pytest.mark.parametrize("first", [0, 1, 3])
def test_a_commit_at_another_sequence_than_the_next_writes_nothing(
    journal: DumpingJournal, first: int
) -> None:
    token = start(journal, ONE, count=2, attention=[an_item(ONE, 5)])
    before = journal.dump()
    with pytest.raises(SequenceConflictError):
        journal.commit(a_transition(ONE, first, token=token, receipt=a_receipt(ONE, "command")))
    assert journal.dump() == before


def test_an_answered_command_is_never_answered_again(journal: DumpingJournal) -> None:
    token = start(journal, ONE, receipt=a_receipt(ONE, "command"))
    before = journal.dump()
    with pytest.raises(ReceiptConflictError):
        journal.commit(a_transition(ONE, 1, token=token, receipt=a_receipt(ONE, "command")))
    assert journal.dump() == before


def test_two_runs_started_by_one_command_are_one(journal: DumpingJournal) -> None:
    start(journal, ONE, receipt=a_receipt(ONE, "command", scope="start"))
    token = journal.lease(TWO)
    before = journal.dump()
    with pytest.raises(ReceiptConflictError):
        journal.commit(
            a_transition(TWO, token=token, receipt=a_receipt(TWO, "command", scope="start"))
        )
    assert journal.dump() == before
    answered = journal.receipt("start", "command")
    assert answered is not None
    assert answered.run_id == ONE


def test_the_same_command_id_in_another_scope_is_another_command(journal: DumpingJournal) -> None:
    start(journal, ONE, receipt=a_receipt(ONE, "command"))
    start(journal, TWO, receipt=a_receipt(TWO, "command"))
    assert journal.receipt(TWO, "command") == a_receipt(TWO, "command")


def test_a_commit_that_fails_midway_leaves_every_table_as_it_was(journal: DumpingJournal) -> None:
    token = start(
        journal,
        ONE,
        outbox=[an_intent(ONE, 1)],
        deadlines=[a_deadline(ONE, 9)],
        tokens=(TokenBinding("digest", "attempt 1"),),
    )
    before = journal.dump()
    with pytest.raises(AssertionError):
        journal.commit(
            a_transition(
                ONE,
                1,
                token=token,
                count=5,
                attention=[an_item(ONE, 5)],
                receipt=a_receipt(ONE, "command"),
                tokens=(TokenBinding("digest", "attempt 2"),),
            )
        )
    assert journal.dump() == before


def test_the_outbox_is_replaced_by_what_is_owed_now(journal: DumpingJournal) -> None:
    token = start(journal, ONE, outbox=[an_intent(ONE, 2), an_intent(ONE, 1)])
    start(journal, TWO, outbox=[an_intent(TWO, 1)])
    assert journal.outbox(ONE) == (an_intent(ONE, 1), an_intent(ONE, 2))
    owed = [an_intent(ONE, 2, "remember it well"), an_intent(ONE, 3)]
    journal.commit(a_transition(ONE, 1, token=token, outbox=owed))
    assert journal.outbox(ONE) == tuple(owed)
    journal.commit(a_transition(ONE, 2, token=token))
    assert journal.outbox(ONE) == ()
    assert journal.outbox(TWO) == (an_intent(TWO, 1),)


def test_deadlines_are_replaced_and_fall_due_earliest_first(journal: DumpingJournal) -> None:
    token = start(journal, ONE, deadlines=[a_deadline(ONE, 300), a_deadline(ONE, 70_000, 2)])
    start(journal, TWO, deadlines=[a_deadline(TWO, 200)])
    assert journal.next_deadline_ms() == 200
    assert journal.due(199) == ()
    assert journal.due(300) == (a_deadline(TWO, 200), a_deadline(ONE, 300))
    assert journal.due(300, limit=1) == (a_deadline(TWO, 200),)
    journal.commit(a_transition(ONE, 1, token=token, deadlines=[a_deadline(ONE, 100)]))
    assert journal.due(10**15) == (a_deadline(ONE, 100), a_deadline(TWO, 200))
    journal.commit(a_transition(ONE, 2, token=token))
    assert journal.next_deadline_ms() == 200


def test_attention_is_replaced_and_the_longest_waiting_comes_first(
    journal: DumpingJournal,
) -> None:
    token = start(journal, ONE, attention=[an_item(ONE, 500), an_item(ONE, 100, 2)])
    start(journal, TWO, attention=[an_item(TWO, 300)])
    assert [item.since_ms for item in journal.attention()] == [100, 300, 500]
    assert journal.attention(limit=1) == (an_item(ONE, 100, 2),)
    renamed = an_item(ONE, 500, title="Approve now")
    journal.commit(a_transition(ONE, 1, token=token, attention=[renamed]))
    assert journal.attention() == (an_item(TWO, 300), renamed)
    journal.commit(a_transition(ONE, 2, token=token))
    assert journal.attention() == (an_item(TWO, 300),)


def test_runs_are_listed_newest_first_whatever_the_order_of_their_changes(
    journal: DumpingJournal,
) -> None:
    start(journal, TWO)
    token = start(journal, ONE)
    start(journal, THREE)
    journal.commit(a_transition(ONE, 1, token=token))
    assert [each.run_id for each in journal.runs()] == [THREE, TWO, ONE]
    assert [each.run_id for each in journal.runs(limit=2)] == [THREE, TWO]


def test_runs_are_listed_by_the_state_they_are_in_now(journal: DumpingJournal) -> None:
    tokens = {run: start(journal, run) for run in map(run_id, range(6))}
    for number, state in ((1, RunState.FAILED), (2, RunState.UNRESOLVED), (4, RunState.FAILED)):
        run = run_id(number)
        journal.commit(a_transition(run, 1, token=tokens[run], state=state))

    def listed(*states: RunState, limit: int = 100) -> list[str]:
        return [each.run_id for each in journal.runs(frozenset(states), limit)]

    assert listed(RunState.RUNNING) == [run_id(5), run_id(3), run_id(0)]
    assert listed(RunState.FAILED, RunState.UNRESOLVED) == [run_id(4), run_id(2), run_id(1)]
    assert listed(RunState.FAILED, RunState.RUNNING, limit=3) == [run_id(5), run_id(4), run_id(3)]
    assert listed(RunState.COMPLETED) == listed() == []


def test_a_run_is_active_while_it_owes_an_intent_or_has_open_work(journal: DumpingJournal) -> None:
    token = start(journal, TWO, outbox=[an_intent(TWO, 1)])
    start(journal, ONE, open_work=["attempt"])
    start(journal, THREE, attention=[an_item(THREE, 5)], deadlines=[a_deadline(THREE, 5)])
    assert journal.active_runs() == (ONE, TWO)
    journal.commit(a_transition(TWO, 1, token=token, open_work=["attempt"]))
    assert journal.active_runs() == (ONE, TWO)
    journal.commit(a_transition(TWO, 2, token=token, state=RunState.COMPLETED))
    assert journal.active_runs() == (ONE,)


def test_the_log_is_contiguous_in_the_order_of_commits(journal: DumpingJournal) -> None:
    one, two = journal.lease(ONE), journal.lease(TWO)
    positions = [
        journal.commit(a_transition(ONE, token=one, count=2)),
        journal.commit(a_transition(TWO, token=two)),
        journal.commit(a_transition(ONE, 2, token=one, count=3)),
    ]
    with pytest.raises(SequenceConflictError):
        journal.commit(a_transition(ONE, 2, token=one))
    positions.append(journal.commit(a_transition(TWO, 1, token=two)))
    assert positions == [1, 2, 3, 4]
    entries = journal.log(0, 10)
    assert [each.position for each in entries] == positions
    assert [(each.run_id, each.first_sequence, each.last_sequence) for each in entries] == [
        (ONE, 0, 1),
        (TWO, 0, 0),
        (ONE, 2, 4),
        (TWO, 1, 1),
    ]
    assert journal.log(1, 2) == entries[1:3]
    assert journal.log(4, 10) == ()


def test_stored_events_are_those_of_the_log_in_whole_transitions(journal: DumpingJournal) -> None:
    assert journal.last_position() == 0
    assert journal.stored_events(0, 10) == ()
    one, two = journal.lease(ONE), journal.lease(TWO)
    journal.commit(a_transition(ONE, token=one, count=2))
    journal.commit(a_transition(TWO, token=two))
    journal.commit(a_transition(ONE, 2, token=one, count=3))
    assert journal.last_position() == 3
    stored = journal.stored_events(0, 10)
    assert [each[:3] for each in stored] == [
        (1, ONE, 0),
        (1, ONE, 1),
        (2, TWO, 0),
        (3, ONE, 2),
        (3, ONE, 3),
        (3, ONE, 4),
    ]
    events = {run: journal.events(run) for run in (ONE, TWO)}
    for each in stored:
        assert RecordedEvent.model_validate_json(each.text) == events[each.run_id][each.sequence]
    assert journal.stored_events(0, 1) == stored[:2]
    assert journal.stored_events(0, 3) == stored[:3]
    assert journal.stored_events(2, 1) == stored[3:]
    assert journal.stored_events(3, 1) == ()


def test_a_journal_opened_again_has_everything(opened: OpenJournal) -> None:
    journal = opened()
    token = start(journal, ONE, outbox=[an_intent(ONE, 1)], receipt=a_receipt(ONE, "command"))
    before = journal.dump()
    journal.close()
    again = opened()
    assert again.dump() == before
    assert again.commit(a_transition(ONE, 1, token=token)) == 2
    assert again.lease(ONE) == token + 1


def test_a_closed_journal_refuses_every_call(journal: DumpingJournal) -> None:
    token = start(journal, ONE)
    journal.close()
    journal.close()
    calls: list[Callable[[], object]] = [
        lambda: journal.lease(ONE),
        lambda: journal.commit(a_transition(ONE, 1, token=token)),
        lambda: journal.run(ONE),
        lambda: journal.events(ONE),
        lambda: journal.receipt(ONE, "command"),
        journal.runs,
        lambda: journal.due(5),
        lambda: journal.log(0, 5),
    ]
    for call in calls:
        with pytest.raises(JournalError, match="closed"):
            call()
