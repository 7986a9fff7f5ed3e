"""Goal: a collector gets every span of every run that ends, whatever ends or fails in between.

Method: a real journal, followed into OpenTelemetry's own exporter in memory.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from pointsman.graph import ids
from pointsman.runtime.spans.otlp import Collector
from pointsman.runtime.spans.sending import SpanSender
from pointsman.runtime.spans.span import Span, ref_of
from pointsman.storage.journal_errors import JournalCorruptError
from pointsman.storage.lmdb_journal import LmdbJournal
from tests.harness.core import RUN_ID
from tests.harness.history import ToldProcess, ToldReview, Transitions, commit, renamed
from tests.harness.hosts import wait_until

OTHER_ID = ids.run_id(0, "01HZZZZZZZZZZZZZZZZZZZZZZY")


class Bench:
    """A journal that grows, and a collector that may be away."""

    def __init__(self, folder: Path) -> None:
        self.journal = LmdbJournal.open(folder / "journal")
        self.mark = folder / "spans-sent"
        self.exporter = InMemorySpanExporter()
        self.is_away = False
        self.refused = 0
        self._collector = Collector(self.exporter)

    def sender(self) -> SpanSender:
        """Return the next server's sender."""
        return SpanSender(self.journal, self.mark, self.send, lambda _: [])

    def send(self, spans: Sequence[Span]) -> bool:
        self.refused += self.is_away
        return not self.is_away and self._collector.send(spans)

    def commit(self, transitions: Transitions) -> None:
        for events in transitions:
            commit(self.journal, self.journal.run(events[0].run_id), events)

    def taken(self) -> list[ReadableSpan]:
        """What the collector has."""
        return list(self.exporter.get_finished_spans())

    def names(self) -> list[str]:
        return [each.name for each in self.taken()]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.journal.close()


def reviewed() -> Transitions:
    process = ToldReview()
    process.to_the_gate()
    process.approve()
    assert process.state.ended
    return process.transitions


def span_ids(bench: Bench) -> list[int]:
    return [each.context.span_id for each in bench.taken() if each.context is not None]


def test_a_collector_gets_a_run_with_its_visits_and_attempts_in_opentelemetrys_shape(
    bench: Bench,
) -> None:
    sender = bench.sender()
    bench.commit(reviewed())
    assert sender.send_all()
    (root,) = [each for each in bench.taken() if each.parent is None]
    assert root.name == "run change"
    assert root.context is not None
    assert (root.context.trace_id, root.context.span_id) == ref_of(RUN_ID)
    assert root.attributes is not None
    assert root.attributes["pointsman.run_id"] == RUN_ID
    assert root.resource.attributes["service.name"] == "pointsman"
    assert {each.status.status_code for each in bench.taken()} == {StatusCode.UNSET}
    (attempt,) = [each for each in bench.taken() if each.name == "attempt work"]
    assert [event.name for event in attempt.events] == ["launched", "reported"]


def test_the_variables_of_opentelemetry_name_the_service(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "trains")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=night")
    assert Collector(bench.exporter).send([Span(ref_of(RUN_ID), None, "run change", 1, 2)])
    (span,) = bench.taken()
    assert span.resource.attributes["service.name"] == "trains"
    assert span.resource.attributes["deployment.environment.name"] == "night"


def test_what_ended_before_anybody_collected_is_not_sent_and_what_was_open_is(
    bench: Bench,
) -> None:
    told = reviewed()
    bench.commit(renamed(told, OTHER_ID))
    bench.commit(told[:-1])
    sender = bench.sender()
    bench.commit(told[-1:])
    assert sender.send_all()
    assert [each.name for each in bench.taken() if each.parent is None] == ["run change"]
    assert "attempt work" not in bench.names()


def test_a_collector_that_is_away_gets_everything_once_when_it_is_back(bench: Bench) -> None:
    sender = bench.sender()
    told = reviewed()
    bench.is_away = True
    bench.commit(told[:5])
    assert not sender.send_all()
    bench.commit(told[5:])
    assert not sender.send_all()
    bench.is_away = False
    assert sender.send_all()
    assert len(span_ids(bench)) == len(set(span_ids(bench)))
    assert "run change" in bench.names()


@pytest.mark.parametrize("after", [1, 9, 20])
def test_whenever_a_server_ends_the_next_one_sends_the_rest(bench: Bench, after: int) -> None:
    told = reviewed()
    undisturbed = bench.sender()
    bench.commit(told[:after])
    assert undisturbed.send_all()
    bench.commit(told[after:])
    assert bench.sender().send_all()
    assert len(span_ids(bench)) == len(set(span_ids(bench)))
    assert len([each for each in bench.taken() if each.parent is None]) == 1
    known = set(span_ids(bench))
    assert all(each.parent is None or each.parent.span_id in known for each in bench.taken())


def test_what_is_sent_twice_after_a_crash_has_the_same_ids(bench: Bench) -> None:
    bench.mark.write_text("0")
    bench.commit(reviewed())
    assert bench.sender().send_all()
    first = bench.taken()
    bench.exporter.clear()
    bench.mark.write_text("0")
    assert bench.sender().send_all()
    assert [each.to_json() for each in bench.taken()] == [each.to_json() for each in first]


def test_nothing_new_is_nothing_sent(bench: Bench) -> None:
    sender = bench.sender()
    bench.commit(reviewed())
    assert sender.send_all()
    count = len(bench.taken())
    assert sender.send_all()
    assert bench.sender().send_all()
    assert len(bench.taken()) == count


def test_a_run_that_cannot_be_read_holds_up_no_other(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = bench.journal.events

    def damaged(run_id: str, after: int = -1, limit: int | None = None) -> object:
        if run_id == OTHER_ID:
            raise JournalCorruptError("a checksum is wrong")
        return read(run_id, after, limit)

    sender = bench.sender()
    bench.commit(renamed(reviewed(), OTHER_ID))
    bench.commit(reviewed())
    monkeypatch.setattr(bench.journal, "events", damaged)
    assert sender.send_all()
    assert [each.name for each in bench.taken() if each.parent is None] == ["run change"]


def test_a_mark_from_before_a_restore_is_none(bench: Bench) -> None:
    bench.mark.write_text("4711")
    sender = bench.sender()
    bench.commit(reviewed())
    assert sender.send_all()
    assert "run change" in bench.names()


def test_a_server_that_ends_sends_what_there_is(bench: Bench) -> None:
    sender = bench.sender()
    sender.start()
    bench.commit(reviewed())
    sender.stop()
    assert "run change" in bench.names()


def test_a_server_that_ends_while_the_collector_is_away_leaves_the_rest_to_the_next(
    bench: Bench,
) -> None:
    sender = bench.sender()
    bench.is_away = True
    sender.start()
    bench.commit(reviewed())
    wait_until(lambda: bench.refused > 0)
    sender.stop()
    bench.is_away = False
    assert bench.sender().send_all()
    assert "run change" in bench.names()


def test_many_runs_at_once_are_told_apart(bench: Bench) -> None:
    sender = bench.sender()
    stories = [ToldProcess().transitions, reviewed()]
    stories[0] = renamed(stories[0], OTHER_ID)
    while any(stories):
        for story in stories:
            if story:
                bench.commit([story.pop(0)])
                assert sender.send_all()
    assert [each.name for each in bench.taken() if each.parent is None] == ["run change"]
