"""Goal: worktrees are listed with why they are kept; none is removed that a run may need."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.actors.host import KeptWorkspace
from pointsman.runtime.problems import PointsmanError
from tests.harness.core import envelope
from tests.harness.fake_host import FakeHost, Launched
from tests.harness.gateway import GatewayServer
from tests.harness.journals import OpenJournal
from tests.integration.gateway.steps import refusal_of


class UntidyHost(FakeHost):
    """A host with worktrees that nobody has removed; ``hold`` keeps those it is asked to prune."""

    def __init__(self) -> None:
        super().__init__()
        self.left: dict[str, KeptWorkspace] = {}
        self.hold = False

    def leave(self, run_id: str, role: str, why: str = "clean", *, removable: bool) -> str:
        key = f"wf:{run_id}.reviewers.1.{role}"
        self.left[key] = KeptWorkspace(
            workspace_key=key,
            run_id=run_id,
            role=role,
            path=f"/work/{role}",
            repository="/repo",
            commit="1" * 40,
            why=why,
            removable=removable,
        )
        return key

    async def workspaces(self) -> tuple[KeptWorkspace, ...]:
        return (*await super().workspaces(), *self.left.values())

    async def prune_workspaces(self, keys: tuple[str, ...]) -> tuple[KeptWorkspace, ...]:
        return () if self.hold else tuple(self.left.pop(key) for key in keys)


@pytest.fixture
def host() -> UntidyHost:
    return UntidyHost()


@pytest.fixture
def server(opener: OpenJournal, tmp_path: Path, host: UntidyHost) -> Iterator[GatewayServer]:
    with GatewayServer(opener, host, tmp_path) as running:
        yield running


@pytest.fixture
def ended(server: GatewayServer, run_id: str, agent: Launched) -> str:
    assert server.client.cancel(run_id, requested_by="ann", command_id="c-1").ended
    return run_id


def test_the_worktree_of_a_run_that_goes_on_is_kept(
    server: GatewayServer, run_id: str, agent: Launched, host: UntidyHost
) -> None:
    key = host.leave(run_id, "ux", removable=True)
    found = {each.role: each for each in server.client.workspaces()}
    assert {each.why for each in found.values()} == {"its run has not ended: it is running"}
    assert not any(each.removable for each in found.values())
    reply = server.client.prune_workspaces()
    assert (reply.removed, len(reply.kept)) == ([], 2)
    assert key in host.left


def test_a_run_that_waits_for_a_person_keeps_its_worktrees(
    server: GatewayServer, run_id: str, agent: Launched, host: UntidyHost
) -> None:
    host.leave(run_id, "ux", removable=True)
    server.report(agent.token, envelope(data={"safe": True}))
    host.finish(agent.attempt_id)
    server.until(run_id, "run_suspended")
    reply = server.client.prune_workspaces([run_id])
    assert reply.removed == []
    assert reply.kept[0].why == "its run has not ended: it is awaiting_review"


def test_of_an_ended_run_what_is_clean_is_removed_and_what_is_not_is_kept_with_the_reason(
    server: GatewayServer, ended: str, host: UntidyHost
) -> None:
    clean = host.leave(ended, "ux", removable=True)
    dirty = host.leave(ended, "code", "uncommitted changes: a.py", removable=False)
    reply = server.client.prune_workspaces()
    assert [each.workspace_key for each in reply.removed] == [clean]
    assert [(each.workspace_key, each.why) for each in reply.kept] == [
        (dirty, "uncommitted changes: a.py")
    ]
    assert server.client.prune_workspaces().removed == []


def test_only_the_worktrees_of_the_runs_that_are_named_are_removed(
    server: GatewayServer, ended: str, host: UntidyHost
) -> None:
    stranger = host.leave("r0-01hzzzzzzzzzzzzzzzzzzzzzzy", "ux", removable=True)
    mine = host.leave(ended, "code", removable=True)
    reply = server.client.prune_workspaces([ended])
    assert [each.workspace_key for each in reply.removed] == [mine]
    (kept,) = server.client.prune_workspaces().kept
    assert (kept.workspace_key, kept.run_state) == (stranger, None)
    assert kept.why.startswith("its run is not in this journal")


def test_what_came_into_use_meanwhile_is_told_as_kept(
    server: GatewayServer, ended: str, host: UntidyHost
) -> None:
    host.leave(ended, "ux", removable=True)
    host.hold = True
    reply = server.client.prune_workspaces()
    assert reply.removed == []
    assert reply.kept[0].why == "it was changed or came into use meanwhile"


def test_an_unknown_run_is_told(server: GatewayServer) -> None:
    with pytest.raises(PointsmanError) as excinfo:
        server.client.prune_workspaces(["r0-00000000000000000000000001"])
    assert refusal_of(excinfo) == "run_unknown"
