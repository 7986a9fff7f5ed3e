"""Goal: a schedule starts one run a slot, by the start that people use, whatever happens between.

Method: a real server over HTTP with a clock that the test sets; only the host is fake. The
scheduler looks when the test says so, so that nothing depends on waiting.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pointsman.actors.host import RepositoryRefused
from pointsman.actors.messages import Answer, Message
from pointsman.actors.workers import WorkerLostError
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.scheduling.schedule_views import RemoveSchedule
from tests.harness.journals import OpenJournal
from tests.harness.schedule_bench import ScheduleBench, schedule_bench
from tests.integration.gateway.steps import both_journals, refusal_of


@pytest.fixture
def bench(opener: OpenJournal, tmp_path: Path, definition: str) -> Iterator[ScheduleBench]:
    with schedule_bench(opener, tmp_path, definition) as made:
        yield made


@both_journals
def test_a_slot_starts_one_run_however_often_it_is_looked_at_and_after_a_restart(
    bench: ScheduleBench,
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


def test_a_dispatch_receipt_is_no_outcome(bench: ScheduleBench) -> None:
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
    bench: ScheduleBench,
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
    bench: ScheduleBench, policy: str, slots: list[str], passed_over: int
) -> None:
    bench.put(missed=policy)
    bench.at("2026-12-03T09:00+00:00")
    assert bench.slots == slots
    assert bench.client.get("nightly").passed_over == passed_over
    bench.at("2026-12-04T02:00:05+00:00")
    assert bench.slots == [*slots, "2026-12-04T02:00"]


def test_a_paused_schedule_starts_nothing_and_catches_nothing_up(bench: ScheduleBench) -> None:
    bench.put(missed="all")
    bench.put(missed="all", enabled=False, expected_revision=1)
    assert bench.client.get("nightly").next == []
    bench.at("2026-12-03T09:00+00:00")
    bench.put(missed="all", expected_revision=2)
    bench.at("2026-12-03T10:00+00:00")
    assert bench.slots == []
    bench.at("2026-12-04T02:00+00:00")
    assert bench.slots == ["2026-12-04T02:00"]


def test_a_slot_is_skipped_while_an_earlier_run_goes_on_if_so_asked(bench: ScheduleBench) -> None:
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


def test_however_many_slots_are_skipped_the_run_that_holds_them_back_is_found(
    bench: ScheduleBench,
) -> None:
    bench.put(cron="* * * * *", overlap="skip", missed="all")
    bench.at("2026-12-01T00:01+00:00")
    for moment in ("2026-12-01T00:45+00:00", "2026-12-01T01:30+00:00", "2026-12-01T02:10+00:00"):
        bench.at(moment)
    first, *skipped = reversed(bench.client.occurrences("nightly", 1_000))
    assert len(skipped) == 129
    assert {each.held_back_by for each in skipped} == {first.occurrence_id}
    assert bench.runs == [first.run_id]


def test_a_definition_that_broke_is_refused_with_its_reason_and_the_schedule_goes_on(
    bench: ScheduleBench,
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


def test_a_person_is_told_of_a_schedule_that_could_not_start_until_it_can(
    bench: ScheduleBench,
) -> None:
    bench.put()
    whole = bench.server.host.repository
    bench.server.host.repository = RepositoryRefused(
        code="repository_empty", message="there is no commit", mend=""
    )
    bench.at("2026-12-01T02:00+00:00")
    (item,) = bench.server.client.attention()
    assert (item.kind, item.run_id, item.schedule_id) == ("schedule_refused", None, "nightly")
    assert "no commit" in item.detail
    bench.server.host.repository = whole
    bench.at("2026-12-02T02:00+00:00")
    assert "schedule_refused" not in {each.kind for each in bench.server.client.attention()}


def test_what_a_manual_start_would_be_refused_refuses_an_occurrence_too(
    bench: ScheduleBench,
) -> None:
    bench.put()
    bench.server.host.repository = RepositoryRefused(code="repository_empty", message="", mend="")
    bench.at("2026-12-01T02:00+00:00")
    (refused,) = bench.occurrences()
    assert refused.reason is not None
    assert refused.reason.code == "repository_empty"
    with pytest.raises(PointsmanError) as told:
        bench.run()
    assert refusal_of(told) == "repository_empty"


def test_a_change_names_the_revision_it_was_read_at(bench: ScheduleBench) -> None:
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


@both_journals
def test_a_change_that_is_sent_again_gets_its_first_answer_and_happens_once(
    bench: ScheduleBench,
) -> None:
    first = bench.put(command_id="put")
    bench.server.restart()
    again = bench.put(command_id="put")
    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.revision == first.revision == bench.client.get("nightly").revision
    with pytest.raises(PointsmanError) as reused:
        bench.put(command_id="put", cron="30 3 * * *")
    assert refusal_of(reused) == "command_id_reused"


def test_a_schedule_whose_workflow_is_broken_can_be_paused_but_not_pointed_there_anew(
    bench: ScheduleBench,
) -> None:
    bench.put()
    bench.file.write_text("nodes: [")
    assert bench.put(enabled=False, expected_revision=1).revision == 2
    with pytest.raises(PointsmanError) as refused:
        bench.put(inputs={"task": "another"}, expected_revision=2)
    assert refusal_of(refused) == "definition_invalid"


def test_new_inputs_are_used_from_the_next_slot_on_and_lose_no_due_one(
    bench: ScheduleBench,
) -> None:
    bench.put()
    bench.clock.set("2026-12-01T02:00:20+00:00")
    bench.put(inputs={"task": "another"}, expected_revision=1)
    bench.server.fire_schedules()
    (occurrence,) = bench.occurrences()
    assert occurrence.run_id is not None
    assert bench.server.view(occurrence.run_id).inputs == {"task": "another"}


@pytest.mark.parametrize("inputs", [{"task": 2**70}, {"task": [["deep"]]}, {"task": None}])
def test_inputs_that_no_run_could_have_are_refused(
    bench: ScheduleBench, inputs: dict[str, Any]
) -> None:
    with pytest.raises(PointsmanError) as of_schedule:
        bench.put(inputs=inputs)
    assert refusal_of(of_schedule) == "input_invalid"
    with pytest.raises(PointsmanError) as of_host:
        bench.take("host-1", inputs=inputs)
    assert refusal_of(of_host) == "input_invalid"
    assert bench.runs == []


@both_journals
def test_a_persons_start_of_a_schedule_is_an_occurrence_of_its_own_made_once(
    bench: ScheduleBench,
) -> None:
    bench.put()
    first = bench.run("run-1")
    assert (first.trigger, first.slot, first.state) == ("manual", None, "dispatched")
    bench.server.restart()
    assert bench.run("run-1").run_id == first.run_id
    assert bench.run("run-2").run_id != first.run_id
    bench.at("2026-12-01T02:00+00:00")
    assert len(bench.runs) == 3
    assert [each.trigger for each in bench.occurrences()] == ["slot", "manual", "manual"]
    with pytest.raises(PointsmanError) as unknown:
        bench.run(name="nightlie")
    assert refusal_of(unknown) == "schedule_unknown"
    assert "did you mean 'nightly'?" in unknown.value.message


@both_journals
def test_one_occurrence_of_a_host_makes_one_run_and_two_make_two(bench: ScheduleBench) -> None:
    first = bench.take("host-1")
    bench.file.write_text(bench.file.read_text().replace("name: Change", "name: Edited"))
    again = bench.take("host-1")
    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.occurrence == first.occurrence
    bench.server.restart()
    assert bench.take("host-1").occurrence.run_id == first.occurrence.run_id
    assert bench.take("host-2").occurrence.run_id != first.occurrence.run_id
    assert len(bench.runs) == 2
    assert bench.take("host-1").occurrence.definition_digest == first.occurrence.definition_digest


def test_an_occurrence_id_stands_for_one_wish(bench: ScheduleBench) -> None:
    bench.put()
    bench.take("host-1")
    for other in ({"inputs": {"task": "another"}}, {"schedule": "nightly"}):
        with pytest.raises(PointsmanError) as reused:
            bench.take("host-1", **other)
        assert refusal_of(reused) == "command_id_reused"
    of_schedule = bench.take("host-2", schedule="nightly").occurrence
    assert (of_schedule.trigger, of_schedule.schedule_id) == ("host", "nightly")
    assert bench.occurrences() == [of_schedule]
    assert len(bench.runs) == 2


def test_a_refused_occurrence_of_a_host_is_judged_anew_when_it_is_told_again(
    bench: ScheduleBench,
) -> None:
    whole = bench.file.read_text()
    bench.file.write_text("nodes: [")
    with pytest.raises(PointsmanError) as refused:
        bench.take("host-1")
    assert refusal_of(refused) == "definition_invalid"
    bench.file.write_text(whole)
    assert bench.take("host-1").occurrence.state == "dispatched"
    assert len(bench.runs) == 1


def test_an_occurrence_waits_for_a_host_that_is_away_and_starts_once(bench: ScheduleBench) -> None:
    bench.put()
    bench.server.host.reachable = False
    bench.at("2026-12-01T02:00+00:00")
    assert bench.occurrences()[0].state == "pending"
    bench.server.restart()
    bench.server.host.reachable = True
    bench.at("2026-12-01T02:05+00:00")
    assert bench.occurrences()[0].state == "dispatched"
    assert bench.slots == ["2026-12-01T02:00"]


def test_a_start_whose_answer_was_lost_is_the_run_of_its_occurrence(bench: ScheduleBench) -> None:
    def lost(message: Message, answer: Answer) -> None:
        raise WorkerLostError("the answer was lost")

    bench.put()
    bench.server.tapped.after_tell = lost
    bench.at("2026-12-01T02:00+00:00")
    (occurrence,) = bench.occurrences()
    assert occurrence.state == "dispatched"
    assert bench.runs == [occurrence.run_id]


def test_whether_schedules_fire_is_told(bench: ScheduleBench) -> None:
    page = bench.client.page()
    assert (page.schedules, page.firing, page.trouble) == ([], False, None)


@pytest.mark.parametrize(
    "fields, code",
    [
        ({"cron": "0 25 * * *"}, "schedule_invalid"),
        ({"zone": "Mars/Base"}, "schedule_invalid"),
        ({"name": "Not A Name"}, "schedule_invalid"),
        ({"workflow": "chnge"}, "definition_unknown"),
        ({"inputs": {"tusk": "greet"}}, "input_invalid"),
        ({"repository": "/nowhere/at/all"}, "repository_missing"),
        ({"repository": "relative"}, "request_invalid"),
        ({"missed": "sometimes"}, "request_invalid"),
    ],
)
def test_a_schedule_that_could_never_start_is_refused_when_it_is_made(
    bench: ScheduleBench, fields: dict[str, Any], code: str
) -> None:
    with pytest.raises((PointsmanError, ValidationError)) as refused:
        bench.put(**fields)
    if isinstance(refused.value, PointsmanError):
        assert refused.value.code == code
    assert bench.client.page().schedules == []
