"""Goal: a subscription tells every event once, in order, from any cursor, over any interruption."""

import threading
from pathlib import Path

import httpx
import pytest

from pointsman.runtime.client import StreamEvent
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.queries import RunView
from tests.harness.core import envelope
from tests.harness.gateway import OPERATOR_TOKEN, GatewayServer


@pytest.fixture
def failed_run(server: GatewayServer, definition: str) -> str:
    """A run that has ended and has nothing left to do."""
    run_id = server.start(definition, task="greet")
    agent = server.host.launched("implement.1.1")
    server.report(agent.token, envelope(data={"safe": True, "risk": "high"}))
    server.host.finish(agent.attempt_id)
    server.until(run_id, "workspace_released")
    return run_id


def sequences(events: list[StreamEvent]) -> list[int]:
    return [event.entry.sequence for event in events if event.event == "entry"]


def test_an_ended_run_is_told_from_its_first_event_to_its_last_and_then_the_end(
    server: GatewayServer, failed_run: str
) -> None:
    events = list(server.client.follow(failed_run))
    assert sequences(events) == list(range(server.view(failed_run).version))
    assert events[-1].event == "end"
    assert events[-1].data == {"run_id": failed_run, "state": "failed"}


def test_every_event_resumes_right_after_itself(server: GatewayServer, failed_run: str) -> None:
    events = [e for e in server.client.follow(failed_run) if e.event == "entry"]
    for event in events[::4]:
        assert event.cursor is not None
        rest = list(server.client.follow(failed_run, event.cursor))
        assert sequences(rest) == list(range(event.entry.sequence + 1, len(events)))


def test_the_header_of_a_reconnect_wins_over_the_address(
    server: GatewayServer, failed_run: str
) -> None:
    response = httpx.get(
        f"{server.url}/api/runs/{failed_run}/events?after=0",
        headers={"Authorization": f"Bearer {OPERATOR_TOKEN}", "Last-Event-ID": "2"},
    )
    ids = [line for line in response.text.splitlines() if line.startswith("id:")]
    assert ids[0] == "id: 3"


def test_a_cursor_of_another_journal_gets_a_snapshot_and_no_invented_event(
    server: GatewayServer, failed_run: str
) -> None:
    snapshot, end = list(server.client.follow(failed_run, 10_000))
    assert (snapshot.event, end.event) == ("snapshot", "end")
    view = RunView.model_validate_json(snapshot.model_dump_json(include={"data"})[8:-1])
    assert view == server.view(failed_run)
    assert snapshot.cursor == str(view.version - 1)


@pytest.mark.parametrize("cursor", ["x", "-2", "1;a", "1;a=x", "1;a=-1", "1.5"])
def test_a_cursor_that_is_none_is_refused_before_the_stream_begins(
    server: GatewayServer, failed_run: str, cursor: str
) -> None:
    with pytest.raises(PointsmanError) as refused:
        list(server.client.output(failed_run, cursor))
    assert refused.value.code == "request_invalid"


def test_a_follower_of_a_server_that_restarts_sees_every_event_once(
    server: GatewayServer, definition: str
) -> None:
    run_id = server.start(definition, task="greet")
    agent = server.host.launched("implement.1.1")
    launched, seen = threading.Event(), list[StreamEvent]()
    client = server.client

    def follow() -> None:
        for event in client.follow(run_id):
            seen.append(event)
            if event.event == "entry" and event.entry.kind == "attempt_launched":
                launched.set()

    follower = threading.Thread(target=follow)
    follower.start()
    assert launched.wait(20)
    server.restart(keep_client=True)
    server.report(agent.token, envelope(data={"safe": True, "risk": "high"}))
    server.host.finish(agent.attempt_id)
    follower.join(20)
    assert seen[-1].event == "end"
    assert sequences(seen) == list(range(server.view(run_id).version))


def test_output_comes_between_the_events_it_belongs_between(
    server: GatewayServer, definition: str, tmp_path: Path
) -> None:
    run_id = server.start(definition, task="greet")
    agent = server.host.launched("implement.1.1")
    log = tmp_path / "agent.log"
    log.write_bytes(b"first\nsecond\r\nno newline at the end \xff")
    server.output_logs = [(agent.attempt_id, log)]
    server.report(agent.token, envelope(data={"safe": True, "risk": "high"}))
    server.host.finish(agent.attempt_id)
    server.until(run_id, "run_failed")
    told = [
        event.data["line"] if event.event == "output" else event.data.get("kind", event.event)
        for event in server.client.output(run_id)
    ]
    lines = ["first", "second", "no newline at the end \ufffd"]
    settled = told.index("attempt_settled")
    assert told[settled - 3 : settled] == lines
    assert told[-1] == "end"


def test_output_resumes_within_a_log(
    server: GatewayServer, failed_run: str, tmp_path: Path
) -> None:
    log = tmp_path / "agent.log"
    log.write_text("".join(f"line {number}\n" for number in range(10)))
    server.output_logs = [(f"{failed_run}.implement.1.1", log)]
    events = list(server.client.output(failed_run))
    fifth = next(e for e in events if e.data.get("line") == "line 5")
    assert fifth.cursor is not None
    assert failed_run not in fifth.cursor
    rest = list(server.client.output(failed_run, fifth.cursor))
    assert [e.data["line"] for e in rest if e.event == "output"] == [
        f"line {number}" for number in range(6, 10)
    ]
    assert sequences(rest) == sequences(events[events.index(fifth) :])


def test_each_turn_of_an_attempt_is_read_from_its_own_beginning(
    server: GatewayServer, failed_run: str, tmp_path: Path
) -> None:
    attempt = f"{failed_run}.implement.1.1"
    for number, text in enumerate(("a long first turn\n", "short\n", "third\n"), start=1):
        (tmp_path / f"{number}.log").write_text(text)
        server.output_logs.append((attempt, tmp_path / f"{number}.log"))
    events = [e for e in server.client.output(failed_run) if e.event == "output"]
    lines = ["a long first turn", "short", "third"]
    assert [e.data["line"] for e in events] == lines
    for number, event in enumerate(events):
        assert event.cursor is not None
        rest = server.client.output(failed_run, event.cursor)
        assert [e.data["line"] for e in rest if e.event == "output"] == lines[number + 1 :]


def test_a_line_still_being_printed_waits_for_its_end(
    server: GatewayServer, definition: str, tmp_path: Path
) -> None:
    run_id = server.start(definition, task="greet")
    agent = server.host.launched("implement.1.1")
    log = tmp_path / "agent.log"
    log.write_text("whole\nhal")
    server.output_logs = [(agent.attempt_id, log)]
    seen = []
    for event in server.client.output(run_id):
        if event.event != "output":
            continue
        seen.append(event.data["line"])
        if seen == ["whole"]:
            with log.open("a") as more:
                more.write("f a line\n")
        else:
            break
    assert seen == ["whole", "half a line"]
