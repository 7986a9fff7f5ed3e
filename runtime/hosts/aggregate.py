"""The work aggregate of an attempt, read from its folders and the process table.

A pure read: what it finds wanting (a dead runner's leftovers, say) is the watch's to mend, and
until then the work counts as active.
"""

import signal
from pathlib import Path
from typing import Final

from pointsman.graph.work import (
    BackgroundTask,
    HostRun,
    HostRunCause,
    HostRunStatus,
    Stop,
    WorkAggregate,
    WorkFailure,
    WorkPhase,
)
from pointsman.runtime.hosts.attempts import AttemptFolder, TurnFolder
from pointsman.runtime.processes.supervised import (
    OPEN_STATES,
    CommandState,
    Ending,
    RecordCorruptError,
)
from pointsman.runtime.worktrees.checkouts import head_of
from pointsman.runtime.worktrees.git import GitError, GitTimeoutError
from pointsman.runtime.worktrees.linked_worktrees import standing

_FAILURE_TAIL_CHARS_MAX: Final = 1_000
# Signals a person or the system sends to end a program; any other is the program's own crash.
_STOPPED_BY_HAND: Final = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})


def aggregate(attempt: AttemptFolder) -> WorkAggregate:
    """Read everything the host knows of an attempt."""
    try:
        return _aggregate(attempt)
    except RecordCorruptError as error:
        return WorkAggregate(
            attempt_id=attempt.attempt_id,
            host_sequence=0,
            phase=WorkPhase.GONE,
            failure=WorkFailure(code="record_corrupt", message=str(error)),
        )


def _aggregate(attempt: AttemptFolder) -> WorkAggregate:
    turns = attempt.turns()
    if not turns:
        return WorkAggregate(attempt_id=attempt.attempt_id, host_sequence=0, phase=WorkPhase.GONE)
    # Counted first: whatever is added while we read belongs to a later sequence.
    sequence = sum(len(turn.command.fingerprint()) for turn in turns)
    last = turns[-1]
    state = last.command.state()
    native = last.native_work()
    is_open = state in OPEN_STATES
    requests = last.open_requests() if is_open else ()
    session = attempt.session()
    work = WorkAggregate(
        attempt_id=attempt.attempt_id,
        host_sequence=sequence,
        phase=_phase(state, bool(requests)),
        runs=tuple(run for turn in turns if (run := _run(attempt, turn)) is not None),
        children=native.children if is_open else (),
        background=(*native.background, *_background(last, state)) if is_open else (),
        owed_wakes=native.owed_wakes if is_open else 0,
        pending_requests=requests,
        session_id=session.session_id if session is not None else None,
        resumable=session is not None and session.resumable and is_interrupted(last),
        stop=_stop(last, state),
        failure=_failure(last, state),
    )
    return _with_workspace(work, attempt) if work.phase is WorkPhase.QUIET else work


def _phase(state: CommandState, is_asking: bool) -> WorkPhase:
    if state is CommandState.NOT_STARTED:
        return WorkPhase.PREPARING
    if state in OPEN_STATES:
        return WorkPhase.WAITING_INPUT if is_asking else WorkPhase.ACTIVE
    return WorkPhase.QUIET


def _run(attempt: AttemptFolder, turn: TurnFolder) -> HostRun | None:
    status = _status(turn, turn.command.state())
    if status is None:
        return None
    asked = turn.turn()
    ending = _ending(turn)
    return HostRun(
        host_run_id=f"{attempt.attempt_id}-t{turn.ordinal}",
        ordinal=turn.ordinal,
        status=status,
        cause=asked.cause if asked is not None else HostRunCause.LAUNCH,
        cause_key=asked.cause_key if asked is not None else None,
        exit_code=ending.exit_code if ending is not None else None,
    )


def _ending(turn: TurnFolder) -> Ending | None:
    return turn.command.exit_record() or turn.command.main_ending()


def _status(turn: TurnFolder, state: CommandState) -> HostRunStatus | None:
    """Judge one turn; ``None`` while it has not begun."""
    match state:
        case CommandState.NOT_STARTED:
            return None
        case CommandState.FORBIDDEN | CommandState.LOST:
            return HostRunStatus.INTERRUPTED
        case CommandState.RUNNING | CommandState.ORPHANED:
            return HostRunStatus.ACTIVE
        case CommandState.BACKGROUND | CommandState.ENDED:
            ending = _ending(turn)
            assert ending is not None, f"{turn.folder} has ended and says not how"
            if ending.interrupted or _is_killed(ending):
                return HostRunStatus.INTERRUPTED
            if ending.exit_code:
                return HostRunStatus.FAILED
            # What an agent does inside its process ends with it, well though it may say it ended.
            return HostRunStatus.INTERRUPTED if _cut_off(turn) else HostRunStatus.COMPLETED


def _cut_off(turn: TurnFolder) -> str | None:
    """Name what an agent still had to do inside its process; told of one that has ended."""
    native = turn.native_work()
    counted = {
        "sub-agents": sum(not child.settled for child in native.children),
        "background tasks": len(native.background),
        "wakes": native.owed_wakes,
    }
    return ", ".join(f"{count} {what}" for what, count in counted.items() if count) or None


def _is_killed(ending: Ending) -> bool:
    return ending.signal in _STOPPED_BY_HAND or ending.signal == signal.SIGKILL


def is_interrupted(turn: TurnFolder) -> bool:
    """Tell whether a turn is over without having come to its own end."""
    state = turn.command.state()
    return state not in OPEN_STATES and _status(turn, state) is HostRunStatus.INTERRUPTED


def _background(turn: TurnFolder, state: CommandState) -> tuple[BackgroundTask, ...]:
    """List what outlives the main process; while that runs, its children are its own affair."""
    if state is not CommandState.BACKGROUND:
        return ()
    return tuple(
        BackgroundTask(task_id=task_id, description=program)
        for task_id, program in turn.command.background()
    )


def _stop(turn: TurnFolder, state: CommandState) -> Stop | None:
    if state in (CommandState.FORBIDDEN, CommandState.LOST):
        return Stop(by="engine") if turn.stop() is not None else None
    ending = turn.command.exit_record()
    if ending is None:
        return None
    if ending.interrupted:
        return Stop(by="engine" if turn.stop() is not None else "user")
    return Stop(by="user") if ending.signal in _STOPPED_BY_HAND else None


def _failure(turn: TurnFolder, state: CommandState) -> WorkFailure | None:
    if (told := turn.failure()) is not None:
        return told
    if state is CommandState.LOST:
        message = "the agent's processes were lost: their supervising process was killed"
        return WorkFailure(code="process_lost", message=message)
    ending = turn.command.exit_record()
    if ending is None or ending.interrupted:
        return None
    if ending.error is not None:
        return WorkFailure(code="not_executable", message=ending.error)
    if ending.signal == signal.SIGKILL:
        return WorkFailure(code="process_lost", message="the agent's process was killed")
    if ending.exit_code == 0 and (left := _cut_off(turn)) is not None:
        message = f"the agent's process ended, and with it what it still had to do: {left}"
        return WorkFailure(code="process_lost", message=message)
    if ending.exit_code == 0 or ending.signal in _STOPPED_BY_HAND:
        return None
    tail = ending.output_tail[-_FAILURE_TAIL_CHARS_MAX:].strip()
    return WorkFailure(
        code="agent_crashed" if ending.signal else "agent_failed",
        message=f"the agent ended with {ending.exit_code}" + (f":\n{tail}" if tail else ""),
    )


def _with_workspace(work: WorkAggregate, attempt: AttemptFolder) -> WorkAggregate:
    """Add where the worktree stands; only a quiet one stands anywhere for certain."""
    if (record := attempt.record()) is None:
        return work
    try:
        tree = standing(Path(record.workspace), Path(record.repository))
        head, changed = head_of(tree)[0], len(tree.uncommitted())
    except GitTimeoutError:
        raise  # a busy machine says nothing of the work; whoever asks comes back
    except GitError as error:
        return _without_workspace(work, str(error))
    if head is None:
        return _without_workspace(work, f"{tree.folder} stands at no commit")
    return work.model_copy(update={"head_commit": head, "uncommitted_paths": changed})


def _without_workspace(work: WorkAggregate, why: str) -> WorkAggregate:
    """Have work fail whose worktree cannot be read: what it has done is nowhere to be seen."""
    if work.failure is not None:
        return work
    message = f"the worktree cannot be read after the work: {why}"
    failure = WorkFailure(code="workspace_unreadable", message=message)
    return work.model_copy(update={"failure": failure})
