"""Goal: whichever process of a review dies, each reviewer works once, in one worktree, and the
group has one join result.

Method: one real server and two scripted reviewers, who are held until the test has done its harm;
then the same run with processes that end themselves before or after the acts that they do.
"""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.runtime.views.trace import trace_signature
from tests.harness.hosts import wait_until
from tests.harness.server import Server

pytestmark = pytest.mark.timeout(900)

REVIEWED = """
pointsman: 1
id: reviewed
name: Reviewed
entry: implement
nodes:
  implement:
    kind: agent
    agent: {provider: scripted, options: {script: change}}
    instructions: Change it.
    resume: {max: 20}
    next: reviewers
  reviewers:
    kind: parallel
    freeze: workspace
    branches:
      code:
        agent: {provider: scripted, mode: review, options: {script: review}}
        focus: bugs
        resume: {max: 20}
      security:
        agent: {provider: scripted, mode: review, options: {script: review}}
        focus: security
        resume: {max: 20}
    join: review
  review: {kind: join, of: reviewers, next: approve}
  approve:
    kind: gate
    title: Approve
    review: review
    decisions: {approve: done, request_changes: stopped}
  done: {kind: end}
  stopped: {kind: end, result: failed}
"""
CHANGE = """
steps:
  - write: {path: changed, text: "1"}
  - commit: Change
  - report: {outcome: completed, summary: Changed.}
"""
REVIEW = """
steps:
  - report: {outcome: completed, summary: Looks right.}
"""


def write_scripts(server: Server) -> None:
    scripts = server.repository / ".pointsman" / "scripts"
    (scripts / "change.yaml").write_text(CHANGE)
    (scripts / "review.yaml").write_text(REVIEW)


def begin_held(server: Server, name: str) -> tuple[str, Path]:
    """Start a run whose reviewers wait for a file; return its id, and that file."""
    awaited = server.repository.parent / f"harm-done-{name}"
    hold = f"steps:\n  - wait_for_file: {{path: {awaited}}}\n"
    script = server.repository / ".pointsman" / "scripts" / f"held-{name}.yaml"
    script.write_text(REVIEW.replace("steps:\n", hold))
    definition = REVIEWED.replace("script: review", f"script: held-{name}")
    return server.begin(name, definition), awaited


def history(server: Server, run_id: str) -> list[str]:
    """What the run did. Reviewers work side by side, so their order is no part of it."""
    with server.client() as client:
        return sorted(map(repr, trace_signature(client.trace(run_id))))


def counted(server: Server, run_id: str) -> Counter[str]:
    with server.client() as client:
        return Counter(entry.kind for entry in client.trace(run_id))


def until_reviewers_work(server: Server, run_id: str) -> None:
    wait_until(lambda: counted(server, run_id)["attempt_launched"] == 3)
    assert len(worktrees(server, run_id)) == 2


def worktrees(server: Server, run_id: str) -> list[Path]:
    return list((server.data.path / "workspaces").glob(f"*{run_id}.reviewers.1.*"))


def expect_one_review(server: Server, run_id: str) -> None:
    kinds = counted(server, run_id)
    assert (kinds["change_frozen"], kinds["review_forked"], kinds["join_committed"]) == (1, 1, 1)
    assert (kinds["workspace_prepared"], kinds["branch_ended"]) == (3, 2)
    assert kinds["attempt_launched"] == server.launches(run_id) == 3
    wait_until(lambda: not worktrees(server, run_id))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("branches")) as running:
        write_scripts(running)
        yield running


@pytest.fixture(scope="module")
def undisturbed(server: Server) -> list[str]:
    run_id = server.begin("undisturbed", REVIEWED)
    server.until(run_id, "awaiting_review")
    expect_one_review(server, run_id)
    return history(server, run_id)


@pytest.mark.parametrize("title", ["_BranchWorker", "_RunWorker", "_SupervisorActor", "_HostActor"])
def test_a_review_survives_the_death_of_an_actor(
    server: Server, undisturbed: list[str], title: str
) -> None:
    run_id, awaited = begin_held(server, title)
    until_reviewers_work(server, run_id)
    doomed, branches = server.actors(title), server.actors("_BranchWorker")
    assert doomed, "the actor has a process"
    for pid in doomed:
        os.kill(pid, signal.SIGKILL)
    if title == "_RunWorker":
        wait_until(lambda: not set(branches) & set(server.actors("_BranchWorker")))
    awaited.touch()
    server.until(run_id, "awaiting_review")
    assert history(server, run_id) == undisturbed
    expect_one_review(server, run_id)


def test_a_review_is_served_by_few_processes_and_waiting_by_none(server: Server) -> None:
    # Each pooled run worker keeps one idle for its next run.
    idle = set(server.actors("_BranchWorker"))
    run_id, awaited = begin_held(server, "few")
    until_reviewers_work(server, run_id)
    assert len(set(server.actors("_BranchWorker")) - idle) <= 2
    wait_until(lambda: len(set(server.actors("_BranchWorker")) - idle) <= 1, 60)
    awaited.touch()
    server.until(run_id, "awaiting_review")


# Each process must come further than what a run may owe at once, or it would die for ever.
@pytest.mark.slow
@pytest.mark.parametrize(
    "variable, place",
    [
        ("POINTSMAN_CRASH_BRANCH_AT", "before_act:2"),
        ("POINTSMAN_CRASH_BRANCH_AT", "after_act:2"),
        ("POINTSMAN_CRASH_AT", "before_act:4"),
        ("POINTSMAN_CRASH_AT", "after_commit:5"),
    ],
)
def test_actors_that_die_at_every_nth_step_still_bring_the_review_to_its_gate(
    tmp_path: Path, undisturbed: list[str], variable: str, place: str
) -> None:
    with Server(tmp_path, **{variable: place}) as dying:
        write_scripts(dying)
        run_id = dying.begin("dying", REVIEWED)
        dying.until(run_id, "awaiting_review", 400)
        assert history(dying, run_id) == undisturbed
        expect_one_review(dying, run_id)
