"""A local host in the middle of a review: orders for freezing, reviewers' worktrees and heads."""

from pathlib import Path
from typing import Final

from pointsman.actors.host import KeptWorkspace
from pointsman.graph.changes import RemoteRef, WorkspaceHead
from pointsman.graph.definition import AgentChoice, WorkspaceSetup
from pointsman.graph.evidence import Checkout, HeadReading
from pointsman.graph.intents import (
    FreezeChange,
    LaunchExecution,
    PrepareWorkspace,
    ReadHead,
    ReleaseWorkspace,
    VerifyCheckout,
)
from pointsman.graph.review_events import Moment
from pointsman.graph.reviews import Uncommitted
from pointsman.graph.work import Receipt
from pointsman.runtime.durable import file_name
from pointsman.runtime.worktrees.frozen_refs import frozen_ref
from tests.harness.hosts import RUN, WORKSPACE, LocalBench, git

REVIEW_SET: Final = f"{RUN}.reviews.1"
OWN_HEAD: Final = WorkspaceHead(workspace_key=WORKSPACE, branch=f"pointsman/{RUN}")


class HostReviewBench(LocalBench):
    """One host, its repository and one review set."""

    @staticmethod
    def key(branch: str) -> str:
        return f"wf:{REVIEW_SET}.{branch}"

    @staticmethod
    def attempt(branch: str) -> str:
        return f"{REVIEW_SET}.{branch}.1"

    def tree(self, branch: str) -> Path:
        """The worktree of a reviewer."""
        return self.data.resolve() / "workspaces" / file_name(self.key(branch))

    def change(self, text: str = "changed\n", name: str = "change.txt") -> str:
        """Commit something in the run's own worktree; return the commit."""
        (self.workspace / name).write_text(text)
        git(self.workspace, "add", "--all")
        git(self.workspace, "commit", "--quiet", "--message", f"Change {name}")
        return git(self.workspace, "rev-parse", "HEAD")

    def freeze_order(
        self,
        change: WorkspaceHead | RemoteRef = OWN_HEAD,
        uncommitted: Uncommitted = Uncommitted.REFUSE,
        review_set: str = REVIEW_SET,
        base: str = "main",
    ) -> FreezeChange:
        return FreezeChange(
            intent_id=f"wf:{review_set}:freeze",
            run_id=RUN,
            review_set_id=review_set,
            repository=str(self.repository),
            change=change,
            base_commit=git(self.repository, "rev-parse", base),
            uncommitted=uncommitted,
        )

    def freeze(
        self,
        change: WorkspaceHead | RemoteRef = OWN_HEAD,
        uncommitted: Uncommitted = Uncommitted.REFUSE,
        review_set: str = REVIEW_SET,
        base: str = "main",
    ) -> Receipt:
        order = self.freeze_order(change, uncommitted, review_set, base)
        return self.call(self.host.freeze_change(order))

    def frozen(self, review_set: str = REVIEW_SET) -> str | None:
        """What is kept alive for a review set."""
        ref = frozen_ref(RUN, review_set)
        told = git(self.repository, "for-each-ref", "--format=%(objectname)", ref)
        return told or None

    def reviewer_order(
        self, branch: str, commit: str, setup: WorkspaceSetup | None = None
    ) -> PrepareWorkspace:
        return PrepareWorkspace(
            intent_id=f"{self.key(branch)}:prepare",
            run_id=RUN,
            workspace_key=self.key(branch),
            repository=str(self.repository),
            base_commit=commit,
            branch=None,
            setup=setup or WorkspaceSetup(),
            review_set_id=REVIEW_SET,
        )

    def prepare_reviewer(
        self, branch: str = "code", commit: str = "", setup: WorkspaceSetup | None = None
    ) -> str:
        """Give a reviewer a worktree, by default at the repository's head; return the commit."""
        commit = commit or git(self.repository, "rev-parse", "HEAD")
        order = self.reviewer_order(branch, commit, setup)
        receipt = self.call(self.host.prepare_workspace(order))
        assert receipt.reason is None, receipt.message
        return commit

    def verify(self, commit: str, branch: str = "code") -> Checkout:
        order = VerifyCheckout(
            intent_id="verify",
            run_id=RUN,
            attempt_id=self.attempt(branch),
            moment=Moment.SETTLEMENT,
            workspace_key=self.key(branch),
            commit=commit,
        )
        return self.call(self.host.verify_checkout(order))

    def head(
        self,
        change: WorkspaceHead | RemoteRef = OWN_HEAD,
        frozen: str = "0" * 40,
        mark: str | None = None,
    ) -> HeadReading:
        order = ReadHead(
            intent_id="head",
            run_id=RUN,
            visit_id=REVIEW_SET,
            repository=str(self.repository),
            change=change,
            frozen_commit=frozen,
            mark=mark,
        )
        return self.call(self.host.read_head(order))

    def release_reviewer(self, branch: str = "code", number: int = 1) -> Receipt:
        order = ReleaseWorkspace(
            intent_id=f"release {branch} {number}", run_id=RUN, workspace_key=self.key(branch)
        )
        return self.call(self.host.release_workspace(order))

    def kept(self) -> dict[str, KeptWorkspace]:
        """The worktrees on disk by their role."""
        return {each.role: each for each in self.call(self.host.workspaces())}

    def prune(self, *branches: str) -> list[str]:
        """Prune the worktrees of reviewers; return whose were removed."""
        keys = tuple(self.key(branch) for branch in branches)
        return [each.role for each in self.call(self.host.prune_workspaces(keys))]

    def review_order(self, script: str, branch: str = "code") -> LaunchExecution:
        attempt = self.attempt(branch)
        return LaunchExecution(
            intent_id=f"wf:{attempt}:launch",
            run_id=RUN,
            attempt_id=attempt,
            thread_id=f"wf-{attempt}",
            workspace_key=self.key(branch),
            agent=AgentChoice.model_validate(
                {"provider": "scripted", "mode": "review", "options": {"script": script}},
                strict=False,
            ),
            prompt="Review the change.",
        )
