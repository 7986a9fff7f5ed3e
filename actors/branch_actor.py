"""The branch actor: does a reviewer's outside work, in a process of its own.

It makes the frozen worktree, looks at the checkout, launches the agent, watches its work and
looks at the checkout again, each when the run asks for it. It writes no journal and tells
nobody but the caller who waits: what it did for a caller who is gone is found again under the
same keys. It knows no run, so that it serves whichever branch comes next.
"""

from pointsman.actors.branches import branch_of
from pointsman.actors.crash_points import CrashPoints
from pointsman.actors.host import Host
from pointsman.actors.intent_runner import IntentRunner
from pointsman.graph.commands import Command
from pointsman.graph.intents import Intent
from pointsman.graph.work import WorkAggregate


class BranchActor:
    """Performs intents of reviewers' branches. Plain asyncio; Ray only gives it a process."""

    def __init__(self, host: Host, reporting_url: str, crash: CrashPoints | None = None) -> None:
        self._host = host
        self._runner = IntentRunner(host, reporting_url, crash)

    async def perform(self, intent: Intent, token: str | None = None) -> Command | None:
        """Do what ``IntentRunner.perform`` does, for a branch."""
        assert branch_of(intent) is not None, f"{intent.intent_id} is no branch's"
        return await self._runner.perform(intent, token)

    async def look(self, attempt_id: str) -> WorkAggregate:
        """Return the work of a branch's attempt as the host shows it now."""
        return await self._host.inspect(attempt_id)
