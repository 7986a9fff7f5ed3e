"""Goal: a session that cannot go on is tried once, whatever is restarted; then a person decides."""

from pathlib import Path

import pytest

from pointsman.actors.host import ReportingAccess
from pointsman.graph.intents import ResumeExecution
from pointsman.graph.work import HostRunStatus, Receipt, Stop, WorkFailure
from tests.harness.fake_host import FakeHost
from tests.harness.gateway import GatewayServer
from tests.harness.journals import OpenJournal
from tests.integration.gateway.steps import both_journals


class SessionlessHost(FakeHost):
    """Finds no session to go on with, each time it is asked. ``asked`` are the keys."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.refuse("resume_execution", "not_resumable")

    async def resume(self, order: ResumeExecution, access: ReportingAccess) -> Receipt:
        self.asked.append(order.intent_id)
        return await super().resume(order, access)


@both_journals
@pytest.mark.parametrize("stop", [Stop(by="user"), None], ids=["by a person", "by the policy"])
def test_a_resume_that_was_refused_is_asked_for_no_more_after_a_restart(
    opener: OpenJournal, tmp_path: Path, definition: str, stop: Stop | None
) -> None:
    host = SessionlessHost()
    resumes = definition.replace("next: verdict", "resume: {max: 3}\n    next: verdict")
    with GatewayServer(opener, host, tmp_path) as server:
        run_id = server.start(resumes, task="greet")
        agent = host.launched("implement.1.1")
        server.until(run_id, "attempt_launched")
        lost = WorkFailure(code="process_lost", message="it is gone") if stop is None else None
        host.finish(
            agent.attempt_id, HostRunStatus.INTERRUPTED, stop=stop, failure=lost, resumable=True
        )
        server.until(run_id, "node_unresolved")
        if stop is not None:
            unresolved = server.view(run_id).unresolved
            assert unresolved is not None
            server.client.resume(
                run_id,
                attempt_id=agent.attempt_id,
                revision=unresolved.revision,
                requested_by="ann",
                command_id="resume-1",
            )
            server.until(run_id, "node_unresolved", 2)
        for _ in range(2):
            server.restart()
            offered = server.view(run_id).allowed_actions
            assert [each.action for each in offered] == ["retry", "cancel"]
        # Whatever was owed would have been done before this: the run does one thing at a time.
        server.client.retry(
            run_id,
            visit_id=offered[0].target,
            revision=offered[0].revision or 0,
            requested_by="ann",
            command_id="retry-1",
        )
        host.launched("implement.1.2")
        server.until(run_id, "attempt_launched", 2)
    assert len(host.asked) == 1
