"""Goal: whoever looks at a run is told what it allows, as commands that can be copied."""

from pathlib import Path

import pytest

from pointsman.graph.allowed import Action
from pointsman.graph.results import GateComment, GateDecision
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.rendering import comments, headline, next_steps, outcome
from pointsman.runtime.cli.steering import offered
from pointsman.runtime.cli.terminal import Terminal
from pointsman.runtime.config import DataDirectory
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.queries import view_of
from tests.harness.core import RUN_ID, Process


@pytest.fixture
def call(tmp_path: Path) -> Invocation:
    return Invocation(DataDirectory(tmp_path), Terminal(json=True), command="pointsman")


def test_a_gate_offers_its_decisions_and_the_end(call: Invocation) -> None:
    view = view_of(Process().work(data={"risk": "low"}).run_check().state)
    assert headline(view) == "Waits for a person at approve: Approve the change"
    assert [command for _, command in next_steps(call, view)] == [
        "pointsman approve zzzzzzzz",
        "pointsman request-changes zzzzzzzz --note 'what should change'",
        "pointsman cancel zzzzzzzz",
    ]


def test_a_run_at_work_is_to_be_waited_for(call: Invocation) -> None:
    view = view_of(Process().launch().state)
    assert headline(view) == "Under way at implement"
    assert [command for _, command in next_steps(call, view)] == [
        "pointsman wait zzzzzzzz",
        "pointsman cancel zzzzzzzz",
    ]


def test_commands_name_the_data_directory_when_it_was_named(tmp_path: Path) -> None:
    data = tmp_path / "with blank"
    call = Invocation(DataDirectory(data), Terminal(json=True), data, command="pointsman")
    assert call.next_command("runs") == f"pointsman runs --data '{data}'"


def test_an_ended_run_offers_nothing(call: Invocation) -> None:
    process = Process().work(data={"risk": "low"}).run_check()
    process.decide_gate()
    view = view_of(process.state)
    assert next_steps(call, view) == []
    document = outcome(call, view)
    assert (document["run"], document["state"]) == (RUN_ID, "completed")
    assert document["visits"] == {
        "implement": 1,
        "tests": 1,
        "verdict": 1,
        "approve": 1,
        "done": 1,
    }


def test_comments_are_shown_with_their_places_and_the_commit_they_are_about() -> None:
    process = Process().launch()
    process.report(data={"risk": "low"})
    process.observe(head_commit="4" * 40)
    process.run_check()
    assert list(comments(view_of(process.state))) == []
    given = (
        GateComment(path="a.py", line=3, text="Why?"),
        GateComment(path="b.md", text="Say why."),
    )
    process.decide_gate(GateDecision.REQUEST_CHANGES, comments=given)
    assert list(comments(view_of(process.state))) == [
        ("Comments at approve on 4444444444", ["a.py:3: Why?", "b.md: Say why."])
    ]


def test_what_is_not_allowed_names_the_next_command(call: Invocation) -> None:
    view = view_of(Process().launch().state)
    with pytest.raises(PointsmanError, match=r"it allows: cancel\. Next:  pointsman wait zzz"):
        offered(call, view, Action.APPROVE)
