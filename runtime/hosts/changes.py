"""The change under review as the host sees it: freezing it, its head, and the checkouts of it.

All methods block and are called in threads, one at a time per review set.
"""

from pathlib import Path
from typing import Final

from pointsman.graph.changes import RemoteRef, WorkspaceHead
from pointsman.graph.evidence import Checkout, HeadReading
from pointsman.graph.intents import FreezeChange, ReadHead, VerifyCheckout
from pointsman.graph.work import Receipt
from pointsman.runtime.durable import file_name
from pointsman.runtime.hosts.effects import Effects, accepted, rejected
from pointsman.runtime.hosts.turns import Turns
from pointsman.runtime.processes import process_table
from pointsman.runtime.worktrees.change_heads import (
    Pause,
    has_returned,
    remote_head,
    workspace_head,
)
from pointsman.runtime.worktrees.checkouts import verify
from pointsman.runtime.worktrees.frozen import FreezeRefusedError, freeze
from pointsman.runtime.worktrees.workspaces import Workspace, Worktrees

_END_PATIENCE_S: Final = process_table.GRACE_S + 10.0


class Changes:
    """The changes under review of one host. ``pause`` waits, and tells when the host closes."""

    def __init__(
        self, root: Path, effects: Effects, worktrees: Worktrees, turns: Turns, pause: Pause
    ):
        self._root = root
        self._effects = effects
        self._worktrees = worktrees
        self._turns = turns
        self._pause = pause

    def freeze(self, order: FreezeChange) -> Receipt:
        """Freeze a change once; the same order gets the same commit for good."""
        subject = order.review_set_id
        at = order.change.workspace_key if isinstance(order.change, WorkspaceHead) else subject
        # Until the receipt is recorded the whole is done again, so two hosts must take turns;
        # and nobody lets go of the worktree meanwhile.
        with self._turns.take(at):
            return self._effects.once(
                order.intent_id, order.kind, subject, lambda: self._freeze(order)
            )

    def _freeze(self, order: FreezeChange) -> Receipt:
        marker = str(self._root / "freezes" / file_name(order.review_set_id))
        # A commit's hooks, or a fetch, of a host that died.
        process_table.end_all(lambda: process_table.marked(marker), _END_PATIENCE_S)
        workspace = None
        if isinstance(order.change, WorkspaceHead):
            workspace = self._worktrees.find(order.change.workspace_key)
        sparse = self._left_out(workspace)
        try:
            frozen = freeze(order, workspace, sparse, self._pause, marker)
        except FreezeRefusedError as refusal:
            return rejected(order.intent_id, refusal.reason, str(refusal))
        found = {"remote": frozen.remote, "mark": frozen.mark}
        return accepted(
            order.intent_id,
            **{name: each for name, each in found.items() if each is not None},
            frozen_commit=frozen.frozen_commit,
            base_commit=frozen.base_commit,
            diff_stat=frozen.diff_stat,
            left_out="\n".join(frozen.left_out),
            committed=frozen.committed,
        )

    def verify(self, order: VerifyCheckout) -> Checkout:
        """Compare a reviewer's worktree with what was frozen."""
        workspace = self._worktrees.find(order.workspace_key)
        if workspace is None:
            return Checkout(unreadable=f"{order.workspace_key} was never made here")
        return verify(
            Path(workspace.path),
            Path(workspace.repository),
            order.commit,
            self._left_out(workspace),
        )

    def head(self, order: ReadHead) -> HeadReading:
        """Read where the change stands now."""
        repository = Path(order.repository)
        match order.change:
            case WorkspaceHead(workspace_key=key):
                reading = workspace_head(order.change, self._worktrees.find(key))
            case RemoteRef():
                reading = remote_head(repository, order.change, self._pause)
        if reading.head_commit is None:
            return reading
        returned = has_returned(repository, order.change, order.mark, order.frozen_commit)
        return reading.model_copy(update={"returned": returned})

    def _left_out(self, workspace: Workspace | None) -> frozenset[str]:
        return self._worktrees.left_out(workspace) if workspace is not None else frozenset()
