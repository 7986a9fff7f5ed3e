"""Goal: what a person may ask over the wire is what the core's command holds, nothing more."""

from typing import Any

import pytest
from pydantic import ValidationError

from pointsman.graph import commands as cmd
from pointsman.graph.model import Model
from pointsman.graph.results import GateComment
from pointsman.runtime.wire import actions as acts

OF_THE_WIRE = {"command_id", "wait_s"}
# Read by the run's own actor right before an approval.
OF_NO_CLIENT = {"kind", "head"}
PAIRS: list[tuple[type[acts.ActionRequest], type[Model]]] = [
    (acts.GateRequest, cmd.DecideGate),
    (acts.CancelRequest, cmd.CancelRun),
    (acts.ResumeRequest, cmd.ResumeAttempt),
    (acts.RetryRequest, cmd.RetryVisit),
    (acts.ReviewAgainRequest, cmd.ReviewAgain),
    (acts.AnswerRequest, cmd.AnswerNativeRequest),
]
GATE: dict[str, Any] = {
    "command_id": "c",
    "gate_id": "r0-x.approve.1",
    "revision": 7,
    "decision": "request_changes",
    "decided_by": "ann",
}


@pytest.mark.parametrize("request_, command", PAIRS, ids=lambda each: each.__name__)
def test_a_request_has_the_fields_of_its_command(
    request_: type[acts.ActionRequest], command: type[Model]
) -> None:
    asked = set(request_.model_fields) - OF_THE_WIRE
    assert asked == set(command.model_fields) - OF_NO_CLIENT


def test_a_request_becomes_the_command_it_asks_for() -> None:
    comment = GateComment(path="a.py", line=3, text="Why?")
    request = acts.GateRequest(
        **GATE, comments=[comment], roles=["maintainer"], review_set_id="r0-x.reviewers.1"
    )
    command = acts.command_of(request)
    assert isinstance(command, cmd.DecideGate)
    assert (command.comments, command.roles) == ((comment,), ("maintainer",))
    assert command.review_set_id == "r0-x.reviewers.1"
    assert command.head is None


@pytest.mark.parametrize("changes", [{"decided_by": " "}, {"decided_by": ""}, {"head": None}])
def test_nobody_decides_namelessly_and_no_client_names_the_head(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        acts.GateRequest.model_validate(GATE | changes)
