"""What the engine asks of a host (``wf-host/1``): the Protocol that every host implements.

Every effect is idempotent on its intent's id: asked again, it answers ``already`` with the
first receipt and acts no second time. ``lookup`` tells whether an effect was ever taken,
without acting. Calls raise ``HostUnavailableError`` when the host cannot be reached; the
effect may then have happened or not, and the caller looks it up before asking again.
"""

from typing import Protocol

from pointsman.graph.evidence import Checkout, HeadReading
from pointsman.graph.intents import (
    AnswerRequest,
    CancelCheck,
    FreezeChange,
    InterruptExecution,
    LaunchExecution,
    PrepareWorkspace,
    ReadHead,
    ReleaseWorkspace,
    ResumeExecution,
    SendReminder,
    StartCheck,
    VerifyCheckout,
)
from pointsman.graph.model import Model
from pointsman.graph.work import CheckState, Found, NotFound, Receipt, Unknown, WorkAggregate


class HostUnavailableError(Exception):
    """The host cannot be reached now; look the effect up before asking again."""


class ReportingAccess(Model):
    """Where and as whom an agent reports. The token is a secret: never logged or persisted."""

    url: str
    token: str


class ProviderCapability(Model):
    """What one provider of the host can do, as proven by its probe."""

    provider: str
    version: str | None
    modes: tuple[str, ...]
    resume: bool
    unavailable: str | None = None


class RepositoryState(Model):
    """What a run may start from: a repository's committed head and what it leaves out."""

    path: str
    head_commit: str
    branch: str | None
    uncommitted_paths: tuple[str, ...]


class RepositoryRefused(Model):
    """Why a run cannot start from a folder. ``code`` is stable, ``mend`` says what to do."""

    code: str
    message: str
    mend: str


class KeptWorkspace(Model):
    """A worktree that is on disk, and why it has not been removed.

    ``removable`` tells whether pruning would remove it: nothing could be lost and nobody works
    there. ``role`` is ``primary``, or the reviewer's branch.
    """

    workspace_key: str
    run_id: str
    role: str
    path: str
    repository: str
    commit: str | None
    why: str
    removable: bool


class Host(Protocol):
    """One environment in which agents, checks and worktrees live."""

    async def providers(self) -> tuple[ProviderCapability, ...]:
        """List the providers with their eligibility."""
        ...

    async def inspect_repository(self, path: str) -> RepositoryState | RepositoryRefused:
        """Tell whether a run can start from this folder, and at which commit."""
        ...

    async def lookup(self, idempotency_key: str) -> Found | NotFound | Unknown:
        """Tell whether an effect was taken, without acting."""
        ...

    async def prepare_workspace(self, order: PrepareWorkspace) -> Receipt:
        """Make the worktree, copy files, run set-up and checks.

        Without a ``branch`` it is detached at exactly the order's commit, in a folder of its own;
        many at once in one repository are made one after the other.
        ``host_ref`` has ``path``, ``head_commit`` and ``branch``. A rejection's ``reason`` is
        one of ``workspace_foreign``, ``commit_missing``, ``copy_missing``, ``copy_refused``,
        ``setup_failed``, ``setup_timed_out``, ``setup_check_failed``, ``disk_full``,
        ``git_failed``. Cut short by a crash, all is done again from the first set-up command.
        """
        ...

    async def release_workspace(self, order: ReleaseWorkspace) -> Receipt:
        """Remove the worktree if it is clean; else keep it.

        The branch is always kept. ``host_ref`` has ``kept`` (bool) and ``why``.
        """
        ...

    async def freeze_change(self, order: FreezeChange) -> Receipt:
        """Freeze the change at one commit; the same order gets the same commit for good.

        ``host_ref`` has ``frozen_commit``, ``base_commit`` (where the change's range begins),
        ``diff_stat`` (text), ``left_out`` (uncommitted paths, one a line), ``committed`` (bool),
        ``remote`` (where a ref was found) and, where a log of the head's moves is kept, ``mark``
        (its last move until now). A rejection's ``reason`` is one of ``change_uncommitted``,
        ``change_empty``, ``change_missing``, ``change_unreachable``, ``change_unrelated``,
        ``branch_changed``, ``workspace_unfinished``, ``workspace_missing``, ``commit_missing``,
        ``disk_full``, ``git_failed``.
        """
        ...

    async def verify_checkout(self, order: VerifyCheckout) -> Checkout:
        """Look at a reviewer's worktree. A pure read, by content and not by recorded times."""
        ...

    async def read_head(self, order: ReadHead) -> HeadReading:
        """Tell where the change stands now. A pure read, never answered from what was cached.

        Where a log of the head's moves is kept, ``returned`` tells whether it was another commit
        since the order's ``mark``.
        """
        ...

    async def workspaces(self) -> tuple[KeptWorkspace, ...]:
        """List the worktrees on disk, and why each is kept."""
        ...

    async def prune_workspaces(self, keys: tuple[str, ...]) -> tuple[KeptWorkspace, ...]:
        """Remove those of the named worktrees that are removable; return what was removed."""
        ...

    async def launch(self, order: LaunchExecution, access: ReportingAccess) -> Receipt:
        """Start the agent; ``host_ref`` has ``thread_id`` and ``host_run_id``.

        The order's skill is looked at right before the start: it must lie where the order says,
        with the same fingerprint. A rejection's ``reason`` is one of ``workspace_missing``,
        ``provider_unknown``, ``skill_missing``, ``skill_changed``, ``interrupted`` (before it
        began), ``key_reused``, or the provider's own.
        """
        ...

    async def send(self, order: SendReminder, access: ReportingAccess) -> Receipt:
        """Deliver a follow-up message as a further turn of the same native session."""
        ...

    async def interrupt(self, order: InterruptExecution) -> Receipt:
        """End the attempt's whole process tree; answers when nothing of it is left.

        ``host_ref`` has ``left`` (number of processes that could not be ended).
        """
        ...

    async def resume(self, order: ResumeExecution, access: ReportingAccess) -> Receipt:
        """Go on with the native session; ``host_ref`` has ``continuity``
        (``native``, ``forked``, ``fresh`` or ``impossible``). Only ``native`` counts.

        The launch's skill is looked at again, and the resume rejected for the same reasons.
        """
        ...

    async def answer(self, order: AnswerRequest) -> Receipt:
        """Give a person's answer to a native request."""
        ...

    async def inspect(self, attempt_id: str) -> WorkAggregate:
        """Return the attempt's work aggregate now. A pure read."""
        ...

    async def start_check(self, order: StartCheck) -> Receipt:
        """Start a check's command; the outcome is read with ``inspect_check``."""
        ...

    async def inspect_check(self, check_id: str) -> CheckState:
        """Return what is known of a check. A pure read."""
        ...

    async def cancel_check(self, order: CancelCheck) -> Receipt:
        """End the check's whole process tree; answers when nothing of it is left."""
        ...
