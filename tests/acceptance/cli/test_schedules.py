"""Goal: a server that a person started starts what was scheduled, once, and across its own death.

Method: the real program; the schedule fires every minute, so the test waits for one of them.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.runtime import discovery
from tests.harness.command_line import CommandLine
from tests.harness.hosts import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.ray, pytest.mark.timeout(900)]

NEXT_MINUTE_S = 100.0


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[CommandLine]:
    with CommandLine(tmp_path, LC_ALL="C") as made:
        yield made


def serve(shell: CommandLine) -> None:
    shell.begin("serve")
    wait_until(lambda: discovery.running_server(shell.data) is not None)


def test_a_schedule_fires_while_a_server_runs_and_a_killed_server_starts_nothing_again(
    shell: CommandLine,
) -> None:
    shell("schedule", "add", "minutely", "--workflow", "quick", "--cron", "* * * * *")
    assert not shell.json("schedules")["firing"]
    serve(shell)
    wait_until(lambda: shell.json("schedules")["schedules"][0]["last"] is not None, NEXT_MINUTE_S)
    assert shell.json("schedules")["firing"]
    shell("schedule", "pause", "minutely")
    before = shell.json("schedule", "show", "minutely")["occurrences"]
    assert {each["trigger"] for each in before} == {"slot"}
    server = discovery.running_server(shell.data)
    assert server is not None
    os.kill(server.pid, signal.SIGKILL)
    wait_until(lambda: discovery.running_server(shell.data) is None)
    serve(shell)
    manual = shell.json("schedule", "run", "minutely", "--detach")["occurrence"]
    after = shell.json("schedule", "show", "minutely")["occurrences"]
    made = [(each["occurrence_id"], each["run_id"]) for each in after]
    assert made == [
        (manual["occurrence_id"], manual["run_id"]),
        *((each["occurrence_id"], each["run_id"]) for each in before),
    ]
    assert len(shell.json("runs")["runs"]) == len(after)
    shell("wait", manual["run_id"])
    (shown,) = shell.json("schedules")["schedules"]
    assert (shown["last"]["state"], shown["last"]["run_state"]) == ("dispatched", "awaiting_review")
