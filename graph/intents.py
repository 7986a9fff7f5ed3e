"""Intents: work orders for the outside world, derived from a run's state (``owed``).

An intent's id is also the host's idempotency key. No secret stands in an intent.
"""

from typing import Annotated, Literal

from pydantic import Field

from pointsman.graph.changes import Change
from pointsman.graph.definition import AgentChoice, WorkspaceSetup
from pointsman.graph.events import SkillSnapshot
from pointsman.graph.model import Model
from pointsman.graph.review_events import Moment
from pointsman.graph.reviews import Uncommitted


class PrepareWorkspace(Model):
    """Make a git worktree and bootstrap it.

    The run's own stands on ``branch``, begun at ``base_commit``. A reviewer's has no branch: it
    is detached at exactly that commit, which the frozen change of ``review_set_id`` keeps alive.
    """

    kind: Literal["prepare_workspace"] = "prepare_workspace"
    intent_id: str
    run_id: str
    workspace_key: str
    repository: str
    base_commit: str
    branch: str | None
    setup: WorkspaceSetup
    review_set_id: str | None = None


class ReleaseWorkspace(Model):
    """Let go of the worktree; the host keeps whatever is not yet safe in a branch."""

    kind: Literal["release_workspace"] = "release_workspace"
    intent_id: str
    run_id: str
    workspace_key: str


class FreezeChange(Model):
    """Freeze the change under review at one commit, and keep that commit alive.

    The change's range begins where it left ``base_commit``. What becomes of uncommitted changes
    of the run's own worktree is said by ``uncommitted``.
    """

    kind: Literal["freeze_change"] = "freeze_change"
    intent_id: str
    run_id: str
    review_set_id: str
    repository: str
    change: Change
    base_commit: str
    uncommitted: Uncommitted


class VerifyCheckout(Model):
    """Look whether a reviewer's worktree is what was frozen. A pure read."""

    kind: Literal["verify_checkout"] = "verify_checkout"
    intent_id: str
    run_id: str
    attempt_id: str
    moment: Moment
    workspace_key: str
    commit: str


class ReadHead(Model):
    """Look where the change under review stands now, before ``visit_id`` goes on. A pure read.

    ``mark`` names the last move of its head until it was frozen at ``frozen_commit``, if known.
    """

    kind: Literal["read_head"] = "read_head"
    intent_id: str
    run_id: str
    visit_id: str
    repository: str
    change: Change
    frozen_commit: str
    mark: str | None = None


class LaunchExecution(Model):
    """Start an agent's work on one attempt.

    ``skill`` is what the host must find unchanged, at the launch and when the session goes on.
    """

    kind: Literal["launch_execution"] = "launch_execution"
    intent_id: str
    run_id: str
    attempt_id: str
    thread_id: str
    workspace_key: str
    agent: AgentChoice
    prompt: str
    env: dict[str, str] = {}
    skill: SkillSnapshot | None = None


class SendReminder(Model):
    """Deliver the one reminder to an attempt that settled without a report."""

    kind: Literal["send_reminder"] = "send_reminder"
    intent_id: str
    run_id: str
    attempt_id: str
    text: str


class InterruptExecution(Model):
    """End an attempt's work, its children and its background work included."""

    kind: Literal["interrupt_execution"] = "interrupt_execution"
    intent_id: str
    run_id: str
    attempt_id: str
    reason: str


class ResumeExecution(Model):
    """Go on with the same native session of an interrupted attempt."""

    kind: Literal["resume_execution"] = "resume_execution"
    intent_id: str
    run_id: str
    attempt_id: str


class AnswerRequest(Model):
    """Give a person's answer to a native request."""

    kind: Literal["answer_request"] = "answer_request"
    intent_id: str
    run_id: str
    attempt_id: str
    request_id: str
    allow: bool
    text: str | None = None


class StartCheck(Model):
    """Run a check's command once. ``command`` is an argument list, or a shell line."""

    kind: Literal["start_check"] = "start_check"
    intent_id: str
    run_id: str
    check_id: str
    workspace_key: str
    command: tuple[str, ...] | str
    env: dict[str, str]
    folder: str | None
    timeout_s: int


class CancelCheck(Model):
    """End a running check and all its processes."""

    kind: Literal["cancel_check"] = "cancel_check"
    intent_id: str
    run_id: str
    check_id: str


Intent = Annotated[
    PrepareWorkspace
    | ReleaseWorkspace
    | FreezeChange
    | VerifyCheckout
    | ReadHead
    | LaunchExecution
    | SendReminder
    | InterruptExecution
    | ResumeExecution
    | AnswerRequest
    | StartCheck
    | CancelCheck,
    Field(discriminator="kind"),
]
