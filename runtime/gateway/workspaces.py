"""The worktrees that are still on disk, why each is kept, and removing those nobody needs.

The host knows what would be lost and who works there; the journal knows which runs have ended.
Only what both agree on is removed: a run that goes on, or waits, may need its worktrees.
"""

from typing import NamedTuple

from pointsman.actors.host import Host, HostUnavailableError, KeptWorkspace
from pointsman.graph import ids
from pointsman.graph.run import Run
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.queries import known_summary
from pointsman.runtime.wire.workspaces import (
    PruneReply,
    PruneRequest,
    WorkspacesPage,
    WorkspaceView,
)
from pointsman.storage.journal import Journal


class Workspaces(NamedTuple):
    """All worktrees of a host, judged by what the journal says of their runs."""

    journal: Journal
    host: Host

    async def page(self) -> WorkspacesPage:
        """List the worktrees; raises ``host_unavailable``."""
        return WorkspacesPage(workspaces=await self._found())

    async def prune(self, request: PruneRequest) -> PruneReply:
        """Remove removable worktrees of ended runs.

        Raises ``run_unknown`` and ``host_unavailable``.
        """
        for run_id in request.run_ids:
            known_summary(self.journal, run_id)
        wanted = set(request.run_ids)
        found = [each for each in await self._found() if not wanted or each.run_id in wanted]
        keys = tuple(each.workspace_key for each in found if each.removable)
        try:
            gone = await self.host.prune_workspaces(keys) if keys else ()
        except HostUnavailableError as error:
            raise _unavailable(error) from error
        removed = {each.workspace_key for each in gone}
        return PruneReply(
            removed=[each for each in found if each.workspace_key in removed],
            kept=[_not_removed(each) for each in found if each.workspace_key not in removed],
        )

    async def _found(self) -> list[WorkspaceView]:
        try:
            kept = await self.host.workspaces()
        except HostUnavailableError as error:
            raise _unavailable(error) from error
        return [self._judged(each) for each in kept]

    def _judged(self, kept: KeptWorkspace) -> WorkspaceView:
        known = ids.shard_of(kept.run_id) is not None
        run = self.journal.run(kept.run_id) if known else None
        why = _needed(run)
        if why is None and kept.removable:
            kept = kept.model_copy(update={"why": "its run has ended and nothing would be lost"})
        return WorkspaceView(
            **{
                **kept.model_dump(),
                "run_state": run.state.value if run is not None else None,
                "why": why or kept.why,
                "removable": kept.removable and why is None,
            }
        )


def _needed(run: Run | None) -> str | None:
    if run is None:
        return "its run is not in this journal; remove it by hand if nobody needs it"
    if run.ended:
        return None
    return f"its run has not ended: it is {run.state}"


def _not_removed(view: WorkspaceView) -> WorkspaceView:
    if not view.removable:
        return view
    why = "it was changed or came into use meanwhile"
    return view.model_copy(update={"why": why, "removable": False})


def _unavailable(error: HostUnavailableError) -> PointsmanError:
    return PointsmanError("host_unavailable", f"the host did not answer: {error}")
