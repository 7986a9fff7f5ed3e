"""Executions: starting, continuing, interrupting and answering an agent's work, once each.

All methods block and are called in threads, one at a time per attempt. The engine gives its
orders for an attempt one after the other; what may still overlap (an interruption and a launch
whose host died in the middle of it) is decided by who makes the turn's start marker.
"""

from pathlib import Path
from typing import Final

from pointsman.actors.host import ReportingAccess
from pointsman.graph.events import SkillSnapshot
from pointsman.graph.intents import (
    AnswerRequest,
    InterruptExecution,
    LaunchExecution,
    ResumeExecution,
    SendReminder,
)
from pointsman.graph.model import JsonScalar
from pointsman.graph.work import HostRunCause, Receipt, ReceiptStatus
from pointsman.runtime import skills
from pointsman.runtime.hosts.aggregate import is_interrupted
from pointsman.runtime.hosts.attempts import AttemptFolder, AttemptRecord, TurnFolder
from pointsman.runtime.hosts.effects import (
    Effect,
    Effects,
    accepted,
    rejected,
    repeated,
    reused,
)
from pointsman.runtime.processes.environment import inherited, its_span
from pointsman.runtime.processes.supervised import (
    OPEN_STATES,
    CommandSpec,
    CommandState,
    RecordCorruptError,
    SupervisedCommand,
)
from pointsman.runtime.providers.base import (
    REPORT_TOKEN,
    REPORT_URL,
    AnswerFile,
    ProviderRefusedError,
    Providers,
    Turn,
)
from pointsman.runtime.worktrees.workspaces import WorkspaceState, Worktrees

# A reminder only asks for the report of work that was done with the skill as it was.
_DEMAND_SKILL: Final = frozenset({HostRunCause.LAUNCH, HostRunCause.RESUME})
_STOPPED_BEFORE: Final = "the attempt was interrupted before this turn began"


class Executions:
    """The attempts of one host."""

    def __init__(self, root: Path, effects: Effects, worktrees: Worktrees, providers: Providers):
        self._root = root
        self._effects = effects
        self._worktrees = worktrees
        self._providers = providers

    def attempt(self, attempt_id: str) -> AttemptFolder:
        return AttemptFolder(self._root, attempt_id)

    def open_turns(self) -> list[tuple[str, SupervisedCommand]]:
        """List the attempts whose latest turn is not over, after a restart of the host."""
        found: list[tuple[str, SupervisedCommand]] = []
        parent = self._root / "attempts"
        for folder in parent.iterdir() if parent.is_dir() else ():
            try:
                turn = _open_turn(folder)
            except RecordCorruptError:
                continue  # told to whoever asks for it; the others must not suffer
            if turn is not None:
                found.append((turn.attempt_id, SupervisedCommand(Path(turn.turn_folder))))
        return found

    def launch(self, order: LaunchExecution, access: ReportingAccess) -> Receipt:
        """Start the first turn."""
        attempt = self.attempt(order.attempt_id)
        effect = self._effects.read(order.intent_id)
        if effect is None:
            effect = self._claim(order, attempt, self._judge_launch(order, attempt), 1)
        return self._begin(effect, order, access)

    def _judge_launch(self, order: LaunchExecution, attempt: AttemptFolder) -> Receipt | None:
        """Refuse a launch, or prepare its folder."""
        key = order.intent_id
        if order.agent.provider not in self._providers:
            known = ", ".join(sorted(self._providers)) or "none"
            return rejected(
                key, "provider_unknown", f"no provider {order.agent.provider}; there is: {known}"
            )
        workspace = self._worktrees.find(order.workspace_key)
        if workspace is None or workspace.state is not WorkspaceState.READY:
            return rejected(key, "workspace_missing", f"{order.workspace_key} is not prepared")
        if attempt.turn(1).command.state() is CommandState.FORBIDDEN:
            return rejected(key, "interrupted", _STOPPED_BEFORE)
        record = AttemptRecord(
            order=order,
            workspace=workspace.path,
            repository=workspace.repository,
            env=workspace.env | order.env,
        )
        turn = attempt.turn(1)
        if not attempt.keep(record):
            return rejected(key, "key_reused", f"{order.attempt_id} was launched by another effect")
        described = attempt.describe(1, HostRunCause.LAUNCH, key, order.prompt)
        if not turn.claim(described):
            return rejected(key, "key_reused", f"{order.attempt_id} was launched by another effect")
        return None

    def send(self, order: SendReminder, access: ReportingAccess) -> Receipt:
        """Start a further turn with a message."""
        return self._go_on(order, access, HostRunCause.WORKFLOW_MESSAGE, order.text)

    def resume(self, order: ResumeExecution, access: ReportingAccess) -> Receipt:
        """Start a further turn that goes on where the interrupted one stopped."""
        return self._go_on(order, access, HostRunCause.RESUME, None)

    def _go_on(
        self,
        order: SendReminder | ResumeExecution,
        access: ReportingAccess,
        cause: HostRunCause,
        text: str | None,
    ) -> Receipt:
        attempt = self.attempt(order.attempt_id)
        effect = self._effects.read(order.intent_id)
        if effect is None:
            turns = attempt.turns()
            ordinal = turns[-1].ordinal + 1 if turns else 1
            refusal = self._judge_going_on(order, attempt, turns)
            if refusal is None:
                described = attempt.describe(ordinal, cause, order.intent_id, text)
                # The key is claimed before the turn's folder is made: a turn that no effect
                # owns would look as if it were about to begin, for ever.
                effect = self._claim(order, attempt, None, ordinal)
                if not attempt.turn(ordinal).claim(described):
                    raise AssertionError(f"turn {ordinal} of {order.attempt_id} is another's")
            else:
                effect = self._claim(order, attempt, refusal, ordinal)
        elif effect.command is not None and effect.subject == order.attempt_id:
            turn = TurnFolder(self._root / effect.command, int(Path(effect.command).name))
            turn.claim(attempt.describe(turn.ordinal, cause, order.intent_id, text))
            if cause is HostRunCause.WORKFLOW_MESSAGE:
                self._hold_back_if_stopped(attempt, turn)
        return self._begin(effect, order, access)

    @staticmethod
    def _hold_back_if_stopped(attempt: AttemptFolder, turn: TurnFolder) -> None:
        """Never begin a reminder's turn that was claimed before an interruption overtook it."""
        if turn.ordinal > 1 and attempt.turn(turn.ordinal - 1).stop() is not None:
            turn.command.forbid(_STOPPED_BEFORE)

    @staticmethod
    def _judge_going_on(
        order: SendReminder | ResumeExecution, attempt: AttemptFolder, turns: tuple[TurnFolder, ...]
    ) -> Receipt | None:
        """Refuse a further turn unless the native session provably goes on."""
        key, resuming = order.intent_id, isinstance(order, ResumeExecution)
        impossible: dict[str, JsonScalar] = {"continuity": "impossible"} if resuming else {}
        if not turns or attempt.record() is None:
            return rejected(key, "attempt_unknown", "it was never launched here", **impossible)
        last = turns[-1]
        if last.command.state() in OPEN_STATES or not last.command.is_decided():
            return rejected(key, "attempt_active", "its latest turn is not over", **impossible)
        session = attempt.session()
        if session is None or not session.resumable:
            message = "its native session cannot be continued"
            return rejected(key, "not_resumable", message, **impossible)
        if resuming and not is_interrupted(last):
            return rejected(key, "not_interrupted", "its latest turn came to its end", **impossible)
        if not resuming and (last.stop() is not None or is_interrupted(last)):
            return rejected(key, "interrupted", "the attempt was interrupted")
        return None

    def _claim(
        self,
        order: LaunchExecution | SendReminder | ResumeExecution,
        attempt: AttemptFolder,
        refusal: Receipt | None,
        ordinal: int,
    ) -> Effect:
        folder = attempt.turn(ordinal).folder.relative_to(self._root)
        host_ref: dict[str, JsonScalar] = {"host_run_id": f"{order.attempt_id}-t{ordinal}"}
        if isinstance(order, LaunchExecution):
            host_ref["thread_id"] = order.thread_id
        if isinstance(order, ResumeExecution):
            host_ref["continuity"] = "native"
        return self._effects.claim(
            Effect(
                key=order.intent_id,
                kind=order.kind,
                subject=order.attempt_id,
                receipt=refusal or accepted(order.intent_id, **host_ref),
                command=str(folder) if refusal is None else None,
            )
        )

    def _begin(
        self,
        effect: Effect,
        order: LaunchExecution | SendReminder | ResumeExecution,
        access: ReportingAccess,
    ) -> Receipt:
        """Start the turn an effect has claimed, unless that was decided before."""
        if (effect.kind, effect.subject) != (order.kind, order.attempt_id):
            return reused(effect)
        assert effect.receipt is not None, f"{effect.key} starts a turn and has no receipt"
        if effect.command is None:
            return repeated(effect.receipt)
        folder = TurnFolder(self._root / effect.command, int(Path(effect.command).name))
        if folder.command.is_decided():
            return repeated(effect.receipt)
        turn = folder.turn()
        assert turn is not None, f"{folder.folder} was claimed and says not for what"
        try:
            started = folder.command.start(*self._command(turn, access))
        except ProviderRefusedError as refusal:
            folder.command.forbid(str(refusal))
            receipt = rejected(order.intent_id, refusal.code, str(refusal))
            self._effects.settle(effect.model_copy(update={"command": None}), receipt)
            return receipt
        return effect.receipt if started else repeated(effect.receipt)

    def _command(self, turn: Turn, access: ReportingAccess) -> tuple[CommandSpec, dict[str, str]]:
        record = self.attempt(turn.attempt_id).record()
        assert record is not None, f"{turn.attempt_id} has no order"
        provider = self._providers.get(turn.agent.provider)
        if provider is None:
            raise ProviderRefusedError(
                "provider_unknown", f"the provider {turn.agent.provider} is gone"
            )
        if turn.cause in _DEMAND_SKILL and record.order.skill is not None:
            _demand_unchanged(record.order.skill)
        line = provider.command(turn, access)
        spec = CommandSpec(
            command=line.argv,
            cwd=turn.workspace,
            timeout_s=None,
            await_background=True,
            secrets=line.secrets,
        )
        reporting = {REPORT_URL: access.url, REPORT_TOKEN: access.token}
        environment = inherited(provider.passed_variables) | record.env | line.env | reporting
        return spec, environment | its_span(turn.attempt_id)

    def interrupt(self, order: InterruptExecution) -> Receipt:
        """End everything of an attempt, and keep what was on its way from ever starting."""

        def act() -> Receipt:
            attempt = self.attempt(order.attempt_id)
            turns = attempt.turns()
            last = turns[-1] if turns else attempt.turn(1)
            last.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not _was_cut_off(last):  # who did that stays told
                last.ask_to_stop(order.reason)
            if last.command.forbid(order.reason):
                return accepted(order.intent_id, left=0)
            return accepted(order.intent_id, left=last.command.end())

        return self._effects.once(order.intent_id, order.kind, order.attempt_id, act)

    def answer(self, order: AnswerRequest) -> Receipt:
        """Hand a person's answer to the agent, once."""
        key = order.intent_id

        def act() -> Receipt:
            found = self.attempt(order.attempt_id).requested(order.request_id)
            if found is None:
                return rejected(key, "request_unknown", f"no request {order.request_id}")
            turn, local_id = found
            if turn.command.state() not in OPEN_STATES:
                return rejected(key, "request_gone", "the agent that asked is no longer there")
            if not turn.answer(local_id, AnswerFile(allow=order.allow, text=order.text)):
                return rejected(key, "request_answered", "it was answered differently before")
            return accepted(key)

        return self._effects.once(key, order.kind, order.attempt_id, act)


def _was_cut_off(turn: TurnFolder) -> bool:
    try:
        return is_interrupted(turn)
    except RecordCorruptError:
        return False  # nobody can tell; what there may be of it is ended all the same


def _demand_unchanged(skill: SkillSnapshot) -> None:
    if (found := skills.fault(skill)) is not None:
        raise ProviderRefusedError(found.code, found.message)


def _open_turn(attempt: Path) -> Turn | None:
    ordinals = [int(entry.name) for entry in (attempt / "turns").glob("[0-9]*")]
    if not ordinals:
        return None
    last = TurnFolder(attempt / "turns" / str(max(ordinals)), max(ordinals))
    return last.turn() if last.command.state() in OPEN_STATES else None


def is_taken(receipt: Receipt) -> bool:
    """Tell whether a receipt stands for work that was begun."""
    return receipt.status is not ReceiptStatus.REJECTED
