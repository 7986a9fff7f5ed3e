"""What several tests of the gateway do to a run on their way."""

from typing import Any

import pytest

from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.queries import GateView
from pointsman.runtime.wire.actions import CommandReply
from tests.harness.core import envelope
from tests.harness.gateway import GatewayServer

both_journals = pytest.mark.parametrize("opener", ["memory", "lmdb"], indirect=True)


def at_the_gate(server: GatewayServer, definition: str) -> tuple[str, GateView]:
    """Bring a run to its gate."""
    run_id = server.start(definition, task="greet")
    agent = server.host.launched("implement.1.1")
    server.report(agent.token, envelope(data={"safe": True}))
    server.host.finish(agent.attempt_id)
    server.until(run_id, "run_suspended")
    gate = server.view(run_id).gate
    assert gate is not None
    return run_id, gate


def decide(
    server: GatewayServer,
    run_id: str,
    gate: GateView,
    decision: str = "approve",
    *,
    command_id: str = "decide-1",
    revision: int | None = None,
    **more: Any,
) -> CommandReply:
    return server.client.decide_gate(
        run_id,
        gate_id=gate.gate_id,
        revision=gate.revision if revision is None else revision,
        decision=decision,
        decided_by="ann",
        command_id=command_id,
        **more,
    )


def refusal_of(excinfo: pytest.ExceptionInfo[PointsmanError]) -> str:
    return excinfo.value.code


def report(**changes: Any) -> dict[str, Any]:
    return envelope(**{"data": {"safe": True}, **changes})


def reports_in(server: GatewayServer, run_id: str) -> list[dict[str, Any]]:
    entries = server.client.trace(run_id)
    return [entry.data for entry in entries if entry.kind == "report_accepted"]
