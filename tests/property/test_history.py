"""Goal: the SQL tables are what an independent fold of the journal says, however it was copied.

Method: hypothesis tells a run, with reviewers or without; a second run tells the same story, with
its transitions between those of the first. The log is taken in batches of random sizes.
"""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointsman.graph.events import RecordedEvent
from pointsman.graph.project import project
from pointsman.graph.run import Run
from pointsman.storage.history.history import History, rebuild
from pointsman.storage.memory_journal import MemoryJournal
from tests.harness.acts import ACTS, JOURNEYS
from tests.harness.core import RUN_ID
from tests.harness.history import (
    ToldProcess,
    ToldReview,
    attention_of,
    commit,
    everything,
    renamed,
    rows,
)
from tests.harness.reviews import reviewed

OTHER = RUN_ID[:-1] + "y"


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    steps=JOURNEYS,
    reviews=st.booleans(),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4),
)
def test_the_tables_are_a_fold_of_the_journal_however_it_was_taken(
    steps: list[tuple[str, int]], reviews: bool, sizes: list[int]
) -> None:
    process = ToldReview(reviewed()) if reviews else ToldProcess()
    for act, pick in steps:
        ACTS[act](process, pick)
    journal = MemoryJournal()
    with tempfile.TemporaryDirectory(prefix="pointsman-history-") as folder:
        history = History.open(Path(folder) / "history.duckdb")
        one: Run | None = None
        two: Run | None = None
        again = renamed(process.transitions, OTHER)
        for number, (first, second) in enumerate(zip(process.transitions, again, strict=True)):
            one, two = commit(journal, one, first), commit(journal, two, second)
            if number % 5 == 0:
                history.take("0", journal, sizes[number // 5 % len(sizes)])
        while history.take("0", journal, sizes[0]):
            pass
        assert history.behind("0", journal) == 0
        taken = everything(history)
        _assert_events(history, [*_flat(process.transitions), *_flat(again)])
        for run in (one, two):
            assert run is not None
            _assert_run(history, run)
        for told in (process.transitions, again):
            _assert_attention(history, told)
        history.close()
        rebuild(Path(folder) / "history.duckdb", {"0": journal})
        rebuilt = History.open(Path(folder) / "history.duckdb")
        assert everything(rebuilt) == taken
        rebuilt.close()


def _flat(transitions: list[tuple[RecordedEvent, ...]]) -> list[RecordedEvent]:
    return [each for events in transitions for each in events]


def _assert_events(history: History, events: list[RecordedEvent]) -> None:
    query = "SELECT run_id, sequence, epoch_ms(occurred_at), kind FROM events"
    assert sorted(rows(history, query)) == sorted(
        (each.run_id, each.sequence, each.at_ms, each.event.kind) for each in events
    )
    entered = [each.event for each in events if each.event.kind == "node_entered"]
    assert sorted(rows(history, "SELECT visit_id, node, number FROM visits")) == sorted(
        (each.visit_id, each.node, each.number) for each in entered
    )
    reports = [each.event for each in events if each.event.kind == "report_accepted"]
    assert sorted(rows(history, "SELECT attempt_id, outcome, summary FROM reports")) == sorted(
        (each.attempt_id, each.outcome.value, each.summary) for each in reports
    )
    routes = [each for each in events if each.event.kind == "route_taken"]
    query = "SELECT run_id, sequence, route, reason, to_node FROM routes"
    assert sorted(rows(history, query)) == sorted(
        (each.run_id, each.sequence, each.event.route, each.event.reason.value, each.event.to)
        for each in routes
        if each.event.kind == "route_taken"
    )
    terms = [
        (each.run_id, each.sequence, rule_number, rule.name, term_number, term.field, term.holds)
        for each in routes
        if each.event.kind == "route_taken"
        for rule_number, rule in enumerate(each.event.considered, start=1)
        for term_number, term in enumerate(rule.terms, start=1)
    ]
    query = "SELECT run_id, sequence, rule_number, rule, term_number, field, holds FROM considered"
    assert sorted(rows(history, query)) == sorted(terms)


def _assert_run(history: History, run: Run) -> None:
    summary = project(run).summary
    query = f"""
        SELECT state, node, epoch_ms(started_at), epoch_ms(updated_at), epoch_ms(ended_at), events
        FROM runs WHERE run_id = '{run.run_id}'"""
    assert rows(history, query) == [
        (
            summary.state.value,
            summary.node,
            run.started_at_ms,
            run.updated_at_ms,
            run.ended_at_ms,
            run.version,
        )
    ]
    if run.visit is None:
        return
    query = f"""
        SELECT attempt_id FROM attempts
        WHERE visit_id = '{run.visit.visit_id}' AND branch IS NULL"""
    assert sorted(rows(history, query)) == sorted((e.attempt_id,) for e in run.visit.attempts)
    query = f"SELECT check_id, exit_code FROM checks WHERE visit_id = '{run.visit.visit_id}'"
    assert sorted(rows(history, query)) == sorted(
        (each.check_id, getattr(each.ended, "exit_code", None)) for each in run.visit.checks
    )


def _assert_attention(history: History, told: list[tuple[RecordedEvent, ...]]) -> None:
    query = f"""
        SELECT item_id, kind, branch, epoch_ms(opened_at), epoch_ms(closed_at)
        FROM attention_periods WHERE run_id = '{told[0][0].run_id}'"""
    found = rows(history, query)
    assert len(set(found)) == len(found)
    assert set(found) == attention_of(told)
