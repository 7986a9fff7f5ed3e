"""Goal: a reviewer is told exactly what to review, where, and how to report for its own branch."""

from typing import Any

from pointsman.graph.intents import LaunchExecution
from pointsman.graph.owed import owed_intents
from tests.harness.core import field
from tests.harness.reviews import BRANCHES, FROZEN, OTHER, ReviewProcess, reviewed, reviewer

GROUP: dict[str, Any] = {"kind": "parallel", "freeze": "workspace", "join": "review"}
BASE = "1" * 40


def launches(process: ReviewProcess) -> dict[str, LaunchExecution]:
    """Bring every branch to its launch and return what each is told."""
    for name in [each.branch for each in process.review.branches]:
        process.prepare(name)
        process.verify(name)
    orders = [e for e in owed_intents(process.state) if isinstance(e, LaunchExecution)]
    return {each.attempt_id.split(".")[-2]: each for each in orders}


def test_each_reviewer_is_told_the_commit_the_range_the_diff_and_its_own_folder() -> None:
    told = launches(ReviewProcess().fork())
    assert list(told) == list(BRANCHES)
    for name, launch in told.items():
        assert f"at commit {FROZEN}" in launch.prompt
        assert f"{BASE}..{FROZEN}" in launch.prompt
        assert " a.py | 1 +" in launch.prompt
        assert f"/w/{name}," in launch.prompt
        others = [each for each in BRANCHES if each != name]
        assert not any(f"/w/{other}" in launch.prompt for other in others)
        assert "the head of branch pointsman/" in launch.prompt
        assert "do not change files" in launch.prompt
        assert "Commit what you want to keep" not in launch.prompt


def test_each_reviewer_works_in_its_own_worktree_and_thread() -> None:
    told = launches(ReviewProcess().fork())
    assert len({each.workspace_key for each in told.values()}) == 3
    assert len({each.thread_id for each in told.values()}) == 3
    assert all(":primary" not in each.workspace_key for each in told.values())


def test_each_reviewer_has_its_focus_its_instructions_and_its_own_contract() -> None:
    branches = {
        "code": reviewer(focus="correctness", instructions="Read every line."),
        "ux": reviewer(
            focus="what people see",
            report={"fields": {"verdict": field("enum", "fine", "ugly", required=True)}},
        ),
    }
    found = [{"field": "join.review.code.blockers", "gt": 0}]
    back = {"to": "work", "repeat": {"max": 1, "at_limit": "look"}}
    rules = [{"name": "blockers", "when": {"any": found}, **back}]
    verdict = {"kind": "decision", "rules": rules, "otherwise": "approve"}
    group = {**GROUP, "branches": branches}
    told = launches(ReviewProcess(reviewed(verdict=verdict, reviewers=group)).fork())
    code, ux = told["code"].prompt, told["ux"].prompt
    assert "Your focus: correctness" in code
    assert "Read every line." in code
    assert "blockers" in code
    assert "verdict" not in code
    assert "Your focus: what people see" in ux
    assert "verdict" in ux
    assert "ugly" in ux
    assert "blockers" not in ux


def test_a_reviewer_of_an_input_is_told_the_change_by_its_name() -> None:
    branches = {each: reviewer() for each in BRANCHES}
    freeze = {"input": "change", "remote": "upstream"}
    group = {**GROUP, "freeze": freeze, "branches": branches}
    top = {"inputs": {"change": field("string", required=True)}}
    process = ReviewProcess(reviewed(top=top, reviewers=group), change="#12").fork()
    for launch in launches(process).values():
        assert "Review refs/pull/12/head at upstream as it was frozen" in launch.prompt


def test_a_reviewers_inputs_stand_in_its_prompt_and_in_no_others() -> None:
    branches = {"code": reviewer(inputs={"task": "run.input.task"}), "ux": reviewer()}
    made = reviewed(("code", "ux"), reviewers={**GROUP, "branches": branches})
    told = launches(ReviewProcess(made, task="mend the login").fork())
    assert "mend the login" in told["code"].prompt
    assert "mend the login" not in told["ux"].prompt


def test_a_change_of_nothing_has_no_empty_diff_in_the_prompt() -> None:
    process = ReviewProcess().to_the_group().freeze(diff_stat="")
    (prompt, *_) = [each.prompt for each in launches(process).values()]
    assert "\n\n\n" not in prompt


def test_the_second_generation_is_told_of_its_own_commit_only() -> None:
    process = ReviewProcess().to_the_gate()
    process.see_head(OTHER)
    process.review_again()
    process.freeze(OTHER)
    for launch in launches(process).values():
        assert OTHER in launch.prompt
        assert FROZEN not in launch.prompt


def test_a_retry_is_told_the_same_as_the_first_try() -> None:
    process = ReviewProcess().fork()
    first = launches(process)["code"].prompt
    process.take_for("code", "launch_execution", host_run_id="1")
    process.stop("code")
    process.retry_branch("code")
    process.verify("code")
    again = next(e for e in owed_intents(process.state) if isinstance(e, LaunchExecution))
    assert again.prompt == first


def test_the_reminder_of_a_reviewer_has_its_own_contract() -> None:
    process = ReviewProcess().fork().launch_branch("code")
    process.observe_branch("code")
    (reminder,) = process.owed_by("code")
    assert "blockers" in getattr(reminder, "text", "")
