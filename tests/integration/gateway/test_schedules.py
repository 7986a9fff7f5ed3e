"""Goal: a schedule starts one run a slot, by the start that people use, whatever happens between.

Method: a real server over HTTP with a clock that the test sets; only the host is fake. The
scheduler looks when the test says so, so that nothing depends on waiting.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pointsman.actors.host import RepositoryRefused
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.schedule_client import ScheduleClient
from pointsman.runtime.schedule_views import (
    OccurrenceView,
    PutSchedule,
    RemoveSchedule,
    RunSchedule,
    ScheduleReply,
)
from tests.harness.fake_clock import FakeClock
from tests.harness.fake_host import FakeHost
from tests.harness.gateway import OPERATOR_TOKEN, GatewayServer
from tests.harness.journals import OpenJournal
from tests.integration.gateway.steps import both_journals, refusal_of


class Bench:
    """A server, its clock, a project with one workflow, and what tests do to schedules."""

    def __init__(self, server: GatewayServer, clock: FakeClock, project: Path, text: str) -> None:
        self.server = server
        self.clock = clock
        self.project = project
        self.file = project / ".pointsman" / "workflows" / "change.yaml"
        self.file.parent.mkdir(parents=True)
        self.file.write_text(text)
        self.client = ScheduleClient(server.url, OPERATOR_TOKEN)
        self._commands = 0

    def command(self) -> str:
        self._commands += 1
        return f"command-{self._commands}"

    def put(self, name: str = "nightly", **fields: Any) -> ScheduleReply:
        body: dict[str, Any] = {
            "command_id": self.command(),
            "workflow": "change",
            "repository": str(self.project),
            "inputs": {"task": "greet"},
            "cron": "0 2 * * *",
            "requested_by": "ann",
        }
        return self.client.put(name, PutSchedule.model_validate(body | fields))

    def at(self, moment: str) -> None:
        """Set the clock and let the scheduler look once."""
        self.clock.set(moment)
        self.server.fire_schedules()

    def run(self, command_id: str = "run-1", name: str = "nightly") -> OccurrenceView:
        body = RunSchedule(command_id=command_id, requested_by="ann")
        return self.client.run(name, body).occurrence

    def occurrences(self, name: str = "nightly") -> list[OccurrenceView]:
        return self.client.occurrences(name)

    @property
    def slots(self) -> list[str | None]:
        """The slots that became occurrences, the oldest first."""
        return [each.slot and each.slot[:16] for each in reversed(self.occurrences())]

    @property
    def runs(self) -> list[str]:
        return [row.run_id for row in self.server.client.runs()]


@pytest.fixture
def bench(opener: OpenJournal, tmp_path: Path, definition: str) -> Iterator[Bench]:
    clock = FakeClock("2026-12-01T00:00+00:00")
    server = GatewayServer(opener, FakeHost(), tmp_path)
    server.clock = clock
    project = tmp_path / "project"
    with server:
        bench = Bench(server, clock, project, definition)
        yield bench
        bench.client.close()


@both_journals
def test_a_slot_starts_one_run_however_often_it_is_looked_at_and_after_a_restart(
    bench: Bench,
) -> None:
    bench.put()
    bench.at("2026-12-01T01:59:59+00:00")
    assert bench.runs == []
    for _ in range(3):
        bench.at("2026-12-01T02:00:01+00:00")
    bench.server.restart()
    bench.at("2026-12-01T02:00:30+00:00")
    (occurrence,) = bench.occurrences()
    assert occurrence.occurrence_id == "nightly@2026-12-01T02:00Z"
    assert (occurrence.state, occurrence.trigger) == ("dispatched", "slot")
    assert bench.runs == [occurrence.run_id]
    assert bench.client.get("nightly").next[0] == "2026-12-02T02:00+00:00"


def test_a_dispatch_receipt_is_no_outcome(bench: Bench) -> None:
    bench.put()
    bench.at("2026-12-01T02:00+00:00")
    (before,) = bench.occurrences()
    assert (before.state, before.run_state) == ("dispatched", "running")
    assert before.run_id is not None
    bench.server.client.cancel(before.run_id, requested_by="ann", command_id="cancel")
    (after,) = bench.occurrences()
    assert (after.state, after.run_state) == ("dispatched", "canceled")
    assert after.settled_at == before.settled_at


def test_a_clock_that_jumps_back_and_forth_starts_no_slot_twice_and_silences_nothing(
    bench: Bench,
) -> None:
    bench.put()
    bench.at("2026-12-01T02:00+00:00")
    bench.at("2026-11-30T12:00+00:00")
    bench.at("2026-12-01T02:00:10+00:00")
    bench.at("2036-01-01T02:00+00:00")
    bench.at("2026-12-01T03:00+00:00")
    bench.at("2026-12-02T02:00+00:00")
    assert bench.slots.count("2026-12-01T02:00") == 1
    assert bench.slots.count("2026-12-02T02:00") == 1
    assert len(bench.runs) == len(bench.slots)


@pytest.mark.parametrize(
    "policy, slots, passed_over",
    [
        ("skip", [], 3),
        ("latest", ["2026-12-03T02:00"], 2),
        ("all", ["2026-12-01T02:00", "2026-12-02T02:00", "2026-12-03T02:00"], 0),
    ],
)
def test_missed_slots_follow_the_policy(
    bench: Bench, policy: str, slots: list[str], passed_over: int
) -> None:
    bench.put(missed=policy)
    bench.at("2026-12-03T09:00+00:00")
    assert bench.slots == slots
    assert bench.client.get("nightly").passed_over == passed_over
    bench.at("2026-12-04T02:00:05+00:00")
    assert bench.slots == [*slots, "2026-12-04T02:00"]


def test_a_paused_schedule_starts_nothing_and_catches_nothing_up(bench: Bench) -> None:
    bench.put(missed="all")
    bench.put(missed="all", enabled=False, expected_revision=1)
    assert bench.client.get("nightly").next == []
    bench.at("2026-12-03T09:00+00:00")
    bench.put(missed="all", expected_revision=2)
    bench.at("2026-12-03T10:00+00:00")
    assert bench.slots == []
    bench.at("2026-12-04T02:00+00:00")
    assert bench.slots == ["2026-12-04T02:00"]


def test_a_slot_is_skipped_while_an_earlier_run_goes_on_if_so_asked(bench: Bench) -> None:
    bench.put(overlap="skip")
    bench.at("2026-12-01T02:00+00:00")
    bench.at("2026-12-02T02:00+00:00")
    skipped, first = bench.occurrences()
    assert (skipped.state, skipped.run_id) == ("skipped", None)
    assert skipped.reason is not None
    assert skipped.reason.code == "overlap"
    assert first.run_id is not None
    bench.server.client.cancel(first.run_id, requested_by="ann", command_id="cancel")
    bench.at("2026-12-03T02:00+00:00")
    assert [each.state for each in bench.occurrences()] == ["dispatched", "skipped", "dispatched"]


def test_a_definition_that_broke_is_refused_with_its_reason_and_the_schedule_goes_on(
    bench: Bench,
) -> None:
    bench.put()
    whole = bench.file.read_text()
    bench.file.write_text(whole.replace("entry: implement", "entry: imlpement"))
    bench.at("2026-12-01T02:00+00:00")
    bench.file.write_text(whole)
    bench.at("2026-12-02T02:00+00:00")
    good, bad = bench.occurrences()
    assert (bad.state, bad.run_id) == ("refused", None)
    assert bad.reason is not None
    assert bad.reason.code == "definition_invalid"
    assert "imlpement" in bad.reason.message
    assert good.state == "dispatched"


def test_what_a_manual_start_would_be_refused_refuses_an_occurrence_too(bench: Bench) -> None:
    bench.put()
    bench.server.host.repository = RepositoryRefused(code="repository_empty", message="", mend="")
    bench.at("2026-12-01T02:00+00:00")
    (refused,) = bench.occurrences()
    assert refused.reason is not None
    assert refused.reason.code == "repository_empty"
    with pytest.raises(PointsmanError) as told:
        bench.run()
    assert refusal_of(told) == "repository_empty"


def test_a_change_names_the_revision_it_was_read_at(bench: Bench) -> None:
    first = bench.put()
    with pytest.raises(PointsmanError) as taken:
        bench.put()
    assert refusal_of(taken) == "schedule_conflict"
    assert bench.put(cron="30 3 * * *", expected_revision=first.revision).revision == 2
    with pytest.raises(PointsmanError) as stale:
        bench.put(expected_revision=1)
    assert stale.value.details == {"revision": 2, "expected_revision": 1}
    late = RemoveSchedule(command_id="late", requested_by="ann", expected_revision=1)
    with pytest.raises(PointsmanError):
        bench.client.remove("nightly", late)
    gone = RemoveSchedule(command_id="gone", requested_by="ann", expected_revision=2)
    assert bench.client.remove("nightly", gone).revision is None
    assert bench.client.remove("nightly", gone).duplicate
    assert bench.client.page().schedules == []
