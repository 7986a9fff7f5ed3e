"""Goal: the program does what its help says, with and without a server, for people and programs.

Method: one data directory for all tests of this file. The demonstration runs without a server;
then a run that never ends by itself keeps a background server up, which all later commands use.
That makes two starts of the runtime.
"""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from pointsman.runtime import discovery
from tests.harness.command_line import PATIENCE_S, PROGRAM, CommandLine
from tests.harness.hosts import git
from tests.harness.processes import agents_of

pytestmark = [pytest.mark.slow, pytest.mark.ray, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """A shell with next to nothing in its environment: no home, no path, no UTF-8 locale."""
    with CommandLine(tmp_path_factory.mktemp("command-line"), LC_ALL="C") as made:
        yield made


@pytest.fixture(scope="module")
def demonstration(shell: CommandLine) -> subprocess.CompletedProcess[str]:
    """The demonstration, run once without any server."""
    return shell("demo", "--json")


@pytest.fixture(scope="module")
def endless(shell: CommandLine, demonstration: Any) -> str:
    """A run that goes on until it is canceled, in a background server."""
    assert discovery.running_server(shell.data) is None, "the demonstration left its server"
    started: str = shell.json("run", "endless", "--detach")["run"]
    assert discovery.running_server(shell.data) is not None
    return started


def until(stream: IO[str] | None, words: str) -> None:
    """Read a program's lines until one has the words."""
    assert stream is not None
    for line in stream:
        if words in line:
            return
    raise AssertionError(f"the program ended without saying {words!r}")


_LOADED_BY_HELP = """
import sys
from pointsman.runtime.cli.main import run
run(["--help"])
print(sorted({"pydantic", "ray", "rich", "httpx", "fastapi", "lmdb"} & set(sys.modules)))
"""


def test_help_answers_at_once_because_nothing_heavy_is_loaded() -> None:
    told = subprocess.run(
        [PROGRAM.with_name("python"), "-c", _LOADED_BY_HELP],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines()[-1] == "[]"


BRANCHES = ("correctness", "security", "ux")


def test_the_demonstration_stops_at_the_gate_after_both_permitted_repeats(
    demonstration: subprocess.CompletedProcess[str],
) -> None:
    shown = json.loads(demonstration.stdout)
    assert shown["state"] == "awaiting_review"
    assert shown["visits"] == {
        "implement": 3,
        "unit-tests": 3,
        "tests-verdict": 3,
        "reviewers": 2,
        "review": 2,
        "review-verdict": 2,
        "approve": 1,
    }
    assert [each["exit_code"] for each in shown["checks"]] == [1, 0, 0]
    counted = [each["rule"] for each in shown["routes"] if each["counted"]]
    assert counted == ["tests failed", "a reviewer wants changes"]
    assert "timetable/__init__.py" in shown["diff_stat"]
    assert shown["commit"] == git(Path(shown["repository"]), "rev-parse", shown["branch"])
    assert f"{PROGRAM} approve" in shown["next"][0]


def test_the_demonstration_tells_both_reviews_with_their_frozen_commits(
    demonstration: subprocess.CompletedProcess[str],
) -> None:
    shown = json.loads(demonstration.stdout)
    first, second = shown["reviews"]
    assert [each["outcome"] for each in shown["reviews"]] == ["all_completed"] * 2
    assert {name: each["verdict"] for name, each in first["branches"].items()} == {
        "correctness": "approve",
        "security": "approve",
        "ux": "request_changes",
    }
    assert {each["verdict"] for each in second["branches"].values()} == {"approve"}
    assert first["frozen_commit"] != second["frozen_commit"] == shown["commit"]
    attempts = {
        said["attempt_id"] for each in (first, second) for said in each["branches"].values()
    }
    assert len(attempts) == 2 * len(BRANCHES), "a new generation has attempts of its own"


def test_progress_is_told_on_the_side_one_line_a_step(
    demonstration: subprocess.CompletedProcess[str],
) -> None:
    assert "unit-tests · visit 1 · exit 1" in demonstration.stderr
    assert "tests-verdict · tests failed → implement (repeat 1 of 1)" in demonstration.stderr
    assert "\x1b" not in demonstration.stderr, "no colours or cursor tricks without a terminal"


def test_a_demonstration_that_waits_is_shown_again_without_starting_anything(
    shell: CommandLine, demonstration: subprocess.CompletedProcess[str]
) -> None:
    again = shell("demo")
    assert json.loads(demonstration.stdout)["branch"] in again.stdout
    assert "waits for you" in again.stderr
    assert "approve last" in again.stdout


def test_reading_commands_need_no_server(
    shell: CommandLine, demonstration: subprocess.CompletedProcess[str]
) -> None:
    run_id = json.loads(demonstration.stdout)["run"]
    (row,) = shell.json("runs")["runs"]
    (item,) = shell.json("attention")["items"]
    assert (row["run_id"], row["state"]) == (run_id, "awaiting_review")
    assert (item["run_id"], item["kind"]) == (run_id, "awaiting_review")
    assert shell.json("show", run_id[-8:])["gate"]["offered"] == ["approve", "request_changes"]
    entries = shell.lines("trace", "last")
    assert [each["sequence"] for each in entries] == list(range(len(entries)))
    assert {each["subject"].partition(".")[2] for each in shell.lines("logs", "last")} == {
        "implement.1.1",
        "unit-tests.1.1",
        "implement.2.1",
        "unit-tests.2.1",
        "implement.3.1",
        "unit-tests.3.1",
        *(f"reviewers.{visit}.{branch}.1" for visit in (1, 2) for branch in BRANCHES),
    }


def test_a_detached_run_is_durable_and_lives_in_a_background_server(
    shell: CommandLine, endless: str
) -> None:
    assert shell.json("show", endless)["state"] == "running"
    assert "server.json" in {path.name for path in shell.data.path.iterdir()}


def test_approving_completes_the_demonstration(
    shell: CommandLine, demonstration: subprocess.CompletedProcess[str], endless: str
) -> None:
    waiting = json.loads(demonstration.stdout)["run"]
    shown = shell.json("approve", waiting, "--note", "Good.")
    assert shown["state"] == "completed"
    again = shell.json("approve", waiting, code=3)
    assert (again["code"], again["status"]) == ("run_ended", 409)


def test_a_run_ends_with_0_at_its_gate_and_with_1_when_changes_fail_it(
    shell: CommandLine, endless: str
) -> None:
    waiting = shell.json("run", "quick")
    assert waiting["state"] == "awaiting_review"
    assert shell.json("wait", waiting["run"])["state"] == "awaiting_review"
    failed = shell.json("request-changes", waiting["run"], "--note", "Not so.", code=1)
    assert failed["state"] == "failed"
    assert shell.json("wait", waiting["run"], code=1)["state"] == "failed"


def test_an_agents_question_ends_with_4_and_an_answer_lets_it_go_on(
    shell: CommandLine, endless: str
) -> None:
    asked = shell.json("run", "asks", code=4)
    kinds = {item["run_id"]: item["kind"] for item in shell.json("attention")["items"]}
    assert kinds[asked["run"]] == "native_request"
    assert shell.json("answer", asked["run"])["state"] == "awaiting_review"


def test_an_unresolved_run_ends_with_4_and_a_retry_lets_it_go_on(
    shell: CommandLine, endless: str
) -> None:
    unresolved = shell.json("run", "crashes", code=4)
    assert unresolved["unresolved"]["reason"] == "work_failed"
    assert shell.json("resume", unresolved["run"], code=3)["code"] == "not_allowed"
    assert shell.json("retry", unresolved["run"])["state"] == "awaiting_review"


def test_ctrl_c_leaves_the_run_durable_and_says_how_to_go_on(
    shell: CommandLine, endless: str
) -> None:
    following = shell.begin("run", "endless")
    until(following.stderr, "agent at work")
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=PATIENCE_S)
    assert following.returncode == 130
    assert "The run is durable; it goes on with:" in err
    assert "Traceback" not in err
    newest = shell.json("runs", "--limit", "1")["runs"][0]
    assert newest["state"] == "running"
    shell("cancel", newest["run_id"])


def test_logs_can_be_followed(shell: CommandLine, endless: str) -> None:
    following = shell.begin("logs", endless, "--follow")
    until(following.stdout, "work.1.1 | At it.")
    following.send_signal(signal.SIGINT)
    following.communicate(timeout=PATIENCE_S)
    assert following.returncode == 130


def test_cancel_answers_when_the_whole_process_tree_is_gone(
    shell: CommandLine, endless: str
) -> None:
    assert agents_of(shell.data.path) != set()
    shown = shell.json("cancel", endless, "--reason", "Enough.")
    assert (shown["state"], shown["still_ending"]) == ("canceled", [])
    assert agents_of(shell.data.path) == set()
    assert shell.json("wait", endless, code=5)["state"] == "canceled"
    assert shell.json("cancel", endless, code=3)["code"] == "run_ended"
