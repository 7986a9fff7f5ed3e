"""What happens in a workspace without an agent: preparing it, checks, letting go of it.

All methods block and are called in threads, one at a time per workspace or check.
"""

from collections.abc import Callable
from pathlib import Path

from pointsman.graph.intents import CancelCheck, PrepareWorkspace, ReleaseWorkspace, StartCheck
from pointsman.graph.work import Receipt
from pointsman.runtime.durable import create_durably
from pointsman.runtime.hosts import restored
from pointsman.runtime.hosts.effects import (
    Effect,
    Effects,
    accepted,
    rejected,
    repeated,
    reused,
)
from pointsman.runtime.hosts.keeping import setups_folder, users_of
from pointsman.runtime.hosts.turns import Turns
from pointsman.runtime.processes.supervised import (
    OPEN_STATES,
    RecordCorruptError,
    SupervisedCommand,
    read_record,
)
from pointsman.runtime.worktrees.bootstrap import bootstrap, end_leftovers
from pointsman.runtime.worktrees.checks import (
    CheckRefusedError,
    check_command,
    check_environment,
    check_spec,
)
from pointsman.runtime.worktrees.git import GitKilledError, head_commit
from pointsman.runtime.worktrees.workspaces import (
    Workspace,
    WorkspaceRefusedError,
    WorkspaceState,
    Worktrees,
)


class Places:
    """The workspaces and checks of one host."""

    def __init__(
        self,
        root: Path,
        effects: Effects,
        worktrees: Worktrees,
        turns: Turns,
        is_closing: Callable[[], bool],
    ):
        self._root = root
        self._effects = effects
        self._worktrees = worktrees
        self._turns = turns
        self._is_closing = is_closing

    def prepare(self, order: PrepareWorkspace) -> Receipt:
        """Make the worktree ready, or find it ready."""
        # Until the receipt is recorded the whole is done again, so two hosts must take turns.
        with self._turns.take(order.workspace_key):
            return self._effects.once(
                order.intent_id, order.kind, order.workspace_key, lambda: self._prepare(order)
            )

    def _prepare(self, order: PrepareWorkspace) -> Receipt:
        # What is prepared is launched in: a restored run must not get there by itself.
        if (why := self._effects.why_forgotten(order.intent_id)) is not None:
            return rejected(order.intent_id, restored.REASON, why)
        unwanted = self._unwanted(order.workspace_key)
        if unwanted.exists():
            return _overtaken(order)
        setups = self._setups(order.workspace_key)
        end_leftovers(setups)
        try:
            workspace = self._worktrees.make(order, str(setups))
            if workspace.state is not WorkspaceState.READY:
                bootstrap(
                    order.setup,
                    Path(workspace.repository),
                    Path(workspace.path),
                    setups,
                    self._is_closing,
                    unwanted.exists,
                )
                self._worktrees.mark(workspace, WorkspaceState.READY)
            head = head_commit(Path(workspace.path))
        except WorkspaceRefusedError as refusal:
            return rejected(order.intent_id, refusal.reason, str(refusal))
        except GitKilledError:
            if not unwanted.exists():
                raise
            return _overtaken(order)  # letting go of it has killed git
        on_branch = {} if workspace.branch is None else {"branch": workspace.branch}
        return accepted(
            order.intent_id,
            path=workspace.path,
            head_commit=head or workspace.base_commit,
            **on_branch,
        )

    def _setups(self, workspace_key: str) -> Path:
        return setups_folder(self._root, workspace_key)

    def _unwanted(self, workspace_key: str) -> Path:
        return self._setups(workspace_key) / "unwanted.json"

    def give_up_preparing(self, workspace_key: str) -> None:
        """Have no set-up command begin any more and end the one that runs; for good.

        To be called before ``release``, which waits for a preparation under way.
        """
        marker = self._unwanted(workspace_key)
        marker.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        create_durably(marker, "{}")
        end_leftovers(self._setups(workspace_key))

    def release(
        self, order: ReleaseWorkspace, open_work: list[tuple[str, SupervisedCommand]]
    ) -> Receipt:
        """Let go of the worktree unless something is in it or at work in it."""

        def act() -> Receipt:
            if end_leftovers(self._setups(order.workspace_key)):
                return accepted(order.intent_id, kept=True, why="its set-up cannot be ended")
            workspace = self._worktrees.find(order.workspace_key)
            if workspace is not None and users_of(workspace, open_work):
                return accepted(order.intent_id, kept=True, why="work is going on in it")
            kept, why = self._worktrees.release(order.workspace_key)
            return accepted(order.intent_id, kept=kept, why=why)

        with self._turns.take(order.workspace_key):
            return self._effects.once(order.intent_id, order.kind, order.workspace_key, act)

    def start_check(self, order: StartCheck) -> Receipt:
        """Start a check's command, at most once."""
        effect = self._effects.read(order.intent_id)
        workspace = self._worktrees.find(order.workspace_key)
        command = check_command(self._root, order.check_id)
        if effect is None:
            effect = self._claim_check(order, workspace, command)
        if (effect.kind, effect.subject) != (order.kind, order.check_id):
            return reused(effect)
        assert effect.receipt is not None, f"{effect.key} starts a check and has no receipt"
        if effect.command is None or command.is_decided():
            return repeated(effect.receipt)
        try:
            if workspace is None:
                raise CheckRefusedError("workspace_missing", f"{order.workspace_key} is gone")
            spec = check_spec(order, workspace)
        except CheckRefusedError as refusal:
            command.forbid(str(refusal))
            receipt = rejected(order.intent_id, refusal.reason, str(refusal))
            self._effects.settle(effect.model_copy(update={"command": None}), receipt)
            return receipt
        started = command.start(spec, check_environment(order, workspace))
        return effect.receipt if started else repeated(effect.receipt)

    def _claim_check(
        self, order: StartCheck, workspace: Workspace | None, command: SupervisedCommand
    ) -> Effect:
        key, refusal = order.intent_id, None
        if workspace is None or workspace.state is not WorkspaceState.READY:
            refusal = rejected(key, "workspace_missing", f"{order.workspace_key} is not prepared")
        elif command.is_decided():
            refusal = rejected(key, "interrupted", "the check was canceled or has another key")
        else:
            try:
                check_spec(order, workspace)
            except CheckRefusedError as error:
                refusal = rejected(key, error.reason, str(error))
        folder = None if refusal is not None else str(command.folder.relative_to(self._root))
        return self._effects.claim(
            Effect(
                key=key,
                kind=order.kind,
                subject=order.check_id,
                receipt=refusal or accepted(key, log=str(command.log)),
                command=folder,
            )
        )

    def cancel_check(self, order: CancelCheck) -> Receipt:
        """End a check, or keep it from ever starting."""

        def act() -> Receipt:
            command = check_command(self._root, order.check_id)
            if command.forbid("canceled"):
                return accepted(order.intent_id, left=0)
            return accepted(order.intent_id, left=command.end())

        return self._effects.once(order.intent_id, order.kind, order.check_id, act)

    def open_checks(self) -> list[tuple[str, SupervisedCommand]]:
        """List the checks that are not over, after a restart of the host."""
        found: list[tuple[str, SupervisedCommand]] = []
        parent = self._root / "effects"
        for path in parent.glob("*.json") if parent.is_dir() else ():
            try:
                effect = read_record(path, Effect)
            except RecordCorruptError:
                continue  # told to whoever asks for it; the others must not suffer
            if effect is None or effect.kind != "start_check" or effect.command is None:
                continue
            command = SupervisedCommand(self._root / effect.command)
            if command.state() in OPEN_STATES:
                found.append((effect.subject, command))
        return found


def _overtaken(order: PrepareWorkspace) -> Receipt:
    """Answer an order that was overtaken by the one to let go of its workspace."""
    return rejected(order.intent_id, "workspace_released", "it was let go of before")
