"""Goal: the scripted agent does what its script says, keeps its place, and reports exactly once.

Method: the real program under the real host, reporting to a stub of the workflow's endpoint.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from pointsman.actors.crash_points import HOST_VARIABLE, CrashPoint
from pointsman.actors.host import ReportingAccess
from pointsman.graph.definition import AgentMode
from pointsman.graph.work import HostRunStatus
from pointsman.runtime.processes.supervised import CommandState
from tests.harness.hosts import ATTEMPT, NOWHERE, LocalBench, git
from tests.harness.report_stub import ACCEPTED, ReportStub

REPORT = "report: {outcome: completed, summary: Done, data: {risk: low, files: 1}, evidence: [a]}"


@pytest.fixture
def endpoint() -> Iterator[ReportStub]:
    with ReportStub() as stub:
        yield stub


def log(bench: LocalBench, ordinal: int = 1) -> str:
    return bench.turn_command(ordinal).log.read_text()


def test_files_are_written_changed_and_committed(ready: LocalBench) -> None:
    ready.launch(
        "steps:\n"
        '- write: {path: src/ü.txt, text: "one\\n"}\n'
        '- append: {path: src/ü.txt, text: "two\\n"}\n'
        "- replace: {path: src/ü.txt, old: one, new: eins}\n"
        "- delete: README.md\n"
        "- commit: Change things\n"
        "- commit: Nothing left\n"
        "- run: [git, log, '-1', '--format=%an %s']\n"
    )
    work = ready.until_quiet()
    assert work.runs[0].exit_code == 0, log(ready)
    assert git(ready.workspace, "show", "HEAD:src/ü.txt") == "eins\ntwo"
    assert git(ready.workspace, "ls-files", "README.md") == ""
    assert "Scripted Agent Change things" in log(ready)


def test_a_report_goes_to_the_workflows_tool(ready: LocalBench, endpoint: ReportStub) -> None:
    ready.launch(f"steps: [{{{REPORT}}}]", access=endpoint.access)
    assert ready.until_quiet().runs[0].exit_code == 0, log(ready)
    assert endpoint.reports == [
        {
            "protocol_version": 1,
            "retry_key": "turn-1-step-0",
            "outcome": "completed",
            "summary": "Done",
            "data": {"risk": "low", "files": 1},
            "evidence": ["a"],
        }
    ]
    assert "receipt-1" in log(ready)


def test_a_report_can_be_repeated_exactly_and_be_wrong(
    ready: LocalBench, endpoint: ReportStub
) -> None:
    ready.launch(
        f"steps: [{{{REPORT}}}, report_again, {{report_raw: {{outcome: 7}}}}, read_contract]",
        access=endpoint.access,
    )
    assert ready.until_quiet().runs[0].exit_code == 0, log(ready)
    first, second, third = endpoint.reports
    assert first == second
    assert third == {"outcome": 7}
    assert endpoint.calls[-1][0] == "workflow_report_contract"


def test_a_refused_report_ends_the_agent_with_a_failure(ready: LocalBench) -> None:
    def refuse(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"ok": False, "code": "invalid", "fields": []}

    with ReportStub(refuse) as stub:
        ready.launch(f"steps: [{{{REPORT}}}]", access=stub.access)
        assert ready.until_quiet().runs[0].status is HostRunStatus.FAILED
    assert '"code": "invalid"' in log(ready)


def test_a_token_that_is_not_known_is_not_tried_again(
    ready: LocalBench, endpoint: ReportStub
) -> None:
    stranger = ReportingAccess(url=endpoint.access.url, token="somebody-else's")
    ready.launch(f"steps: [{{{REPORT}}}]", access=stranger)
    assert ready.until_quiet().runs[0].status is HostRunStatus.FAILED
    assert "unauthorized" in log(ready)
    assert endpoint.calls == []


def test_a_report_waits_for_an_engine_that_is_starting_again(ready: LocalBench) -> None:
    stub = ReportStub()
    ready.launch(f"steps: [{{touch: up}}, {{{REPORT}}}]", access=stub.access)
    ready.until(lambda: '"begun": true' in progress(ready) and '"report"' in progress(ready))
    with stub:
        assert ready.until_quiet().runs[0].exit_code == 0, log(ready)
    assert len(stub.reports) == 1


def progress(bench: LocalBench) -> str:
    file = bench.turn_folder().parents[1] / "session" / "progress.json"
    return file.read_text() if file.exists() else ""


def test_a_report_cut_short_is_resumed_under_the_same_retry_key(ready: LocalBench) -> None:
    def answer_late(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if len(stub.reports) == 1:
            raise ConnectionAbortedError("the answer is lost after it was committed")
        return ACCEPTED

    stub = ReportStub(answer_late)
    with stub:
        ready.launch(f"steps: [{{{REPORT}}}]", access=stub.access)
        ready.until(lambda: stub.reports != [])
        ready.interrupt()
        ready.resume(access=stub.access)
        ready.until(lambda: ready.turn_command(2).state() is CommandState.ENDED)
        ready.until_quiet()
    assert len(stub.reports) >= 2
    assert {report["retry_key"] for report in stub.reports} == {"turn-1-step-0"}


def test_a_visit_and_a_try_have_steps_of_their_own(ready: LocalBench) -> None:
    script = (
        "{steps: [{say: usual}], visits: {2: [{say: second visit}]}, tries: {2: [{say: again}]}}"
    )
    told = []
    for visit, try_number in ((1, 1), (2, 1), (2, 2), (3, 1)):
        attempt = f"{ATTEMPT[:-4]}.{visit}.{try_number}"
        ready.launch(script, attempt)
        ready.until_quiet(attempt)
        told.append(ready.turn_command(1, attempt).log.read_text().strip())
    assert told == ["usual", "second visit", "again", "usual"]


def test_a_script_is_found_in_the_project_and_fixed_at_the_launch(ready: LocalBench) -> None:
    scripts = ready.repository / ".pointsman" / "scripts"
    scripts.mkdir(parents=True)
    (scripts / "mine.yaml").write_text(
        "steps: [{touch: up}, {wait_for_file: {path: go}}, {say: a}]"
    )
    ready.call(ready.host.launch(ready.launch_order("mine"), ReportStub().access))
    ready.until((ready.workspace / "up").exists)
    (scripts / "mine.yaml").write_text("steps: [{say: b}]")
    (ready.workspace / "go").touch()
    ready.until_quiet()
    assert log(ready) == "a\n"


def test_a_resumed_session_survives_a_kill_at_the_step(ready: LocalBench) -> None:
    ready.launch(
        "steps: [{append: {path: out, text: 1}}, {run: 'test -e go || kill -9 $PPID'},"
        " {append: {path: out, text: '2'}}]".replace("text: 1", "text: '1'")
    )
    assert ready.until_quiet().resumable
    (ready.workspace / "go").touch()
    ready.resume()
    ready.until(lambda: ready.turn_command(2).state() is CommandState.ENDED)
    assert ready.until_quiet().runs[1].exit_code == 0
    assert (ready.workspace / "out").read_text() == "12"


def test_a_session_is_there_before_its_process_and_resumable_whenever_that_is_killed(
    ready: LocalBench,
) -> None:
    dying = {HOST_VARIABLE: CrashPoint.BEFORE_RUN.value}
    script = ready.script("steps: [{touch: up}]")
    order = ready.launch_order(script).model_copy(update={"env": dying})
    ready.call(ready.host.launch(order, NOWHERE))
    work = ready.until_quiet()
    assert (work.runs[0].status, work.resumable) == (HostRunStatus.INTERRUPTED, True)
    assert not (ready.workspace / "up").exists()


def test_a_session_killed_before_its_first_step_begins_with_it_when_it_is_resumed(
    ready: LocalBench,
) -> None:
    ready.launch("steps: [{touch: up}, {wait_for_file: {path: go}}]")
    ready.until((ready.workspace / "up").exists)
    ready.interrupt()
    (ready.turn_folder().parents[1] / "session" / "progress.json").unlink()
    (ready.workspace / "up").unlink()
    (ready.workspace / "go").touch()
    assert ready.resume().host_ref["continuity"] == "native"
    assert ready.until_quiet().runs[1].status is HostRunStatus.COMPLETED, log(ready, 2)
    assert (ready.workspace / "up").exists()


def test_a_reminder_killed_before_its_first_step_is_kept_by_the_resumed_turn(
    ready: LocalBench,
) -> None:
    ready.launch(
        "{steps: [{say: forgot}], on_reminder: [{touch: up}, {wait_for_file: {path: go}}]}"
    )
    ready.until_quiet()
    place = ready.turn_folder().parents[1] / "session" / "progress.json"
    before_the_reminder = place.read_bytes()
    ready.send()
    ready.until((ready.workspace / "up").exists)
    ready.interrupt()
    place.write_bytes(before_the_reminder)
    (ready.workspace / "up").unlink()
    (ready.workspace / "go").touch()
    assert ready.resume().host_ref["continuity"] == "native"
    assert ready.until_quiet().runs[2].status is HostRunStatus.COMPLETED, log(ready, 3)
    assert (ready.workspace / "up").exists()


@pytest.mark.parametrize(
    "step",
    [
        "write: {path: a.txt, text: a}",
        "append: {path: README.md, text: a}",
        "replace: {path: README.md, old: sample, new: a}",
        "delete: README.md",
        "touch: a.txt",
        "commit: Mine",
    ],
)
def test_a_reviewer_is_denied_each_editing_step(ready: LocalBench, step: str) -> None:
    order = ready.launch_order(ready.script(f"steps: [{{{step}}}, {{say: went on}}]"))
    agent = order.agent.model_copy(update={"mode": AgentMode.REVIEW})
    ready.call(ready.host.launch(order.model_copy(update={"agent": agent}), NOWHERE))
    assert ready.until_quiet().runs[0].status is HostRunStatus.FAILED
    assert f"denied in review mode: {step.partition(':')[0]}" in log(ready)
    assert "went on" not in log(ready)
    assert git(ready.workspace, "status", "--porcelain") == ""
