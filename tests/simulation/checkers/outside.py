"""The outside world: acts once, for what was committed, and never after a cancel is complete."""

from collections.abc import Iterator
from typing import Final

from pointsman.graph import events as ev
from pointsman.graph.run import Run
from pointsman.graph.work import CheckRunning
from pointsman.storage.journal import Journal, Transition
from tests.simulation.chronicle import Act, Checker
from tests.simulation.host_state import Machine

_STARTS: Final = frozenset({"launch_execution", "send_reminder", "resume_execution", "start_check"})
_ONCE: Final = frozenset({"launch_execution", "start_check"})


class OnceAndCommitted(Checker):
    """Every act was in a committed outbox; one thread an attempt, one worktree a key, one start a
    check, and all under one key.
    """

    def __init__(self) -> None:
        self._owed: set[str] = set()
        self._started: set[str] = set()
        self._done: dict[tuple[str, str], str] = {}
        self._worktrees: set[str] = set()

    def committed(self, transition: Transition, before: Run | None) -> Iterator[str]:
        self._owed.update(each.intent_id for each in transition.projection.outbox)
        for each in transition.events:
            match each.event:
                case ev.AttemptStarted(attempt_id=subject) | ev.CheckStarted(check_id=subject):
                    self._started.add(subject)
                case _:
                    pass
        yield from ()

    def acted(self, act: Act) -> Iterator[str]:
        if act.key not in self._owed:
            yield f"{act.key}: was done and was in no committed outbox"
        if act.kind in _ONCE:
            if act.subject not in self._started:
                yield f"{act.subject}: was begun before that was committed"
            if (act.kind, act.subject) in self._done:
                yield f"{act.subject}: was begun twice"
        if act.kind in _STARTS and act.key in self._done.values():
            yield f"{act.key}: was done twice"
        if act.kind == "prepare_workspace":
            if act.subject in self._worktrees:
                yield f"{act.subject}: was made twice"
            self._worktrees.add(act.subject)
        if act.kind in _STARTS:
            self._done[act.kind, act.subject if act.kind in _ONCE else act.key] = act.key


class NothingAfterCancel(Checker):
    """From the event that a run was canceled on, nothing of it runs, and nothing begins.

    Not even work of which the host could not tell whether it took the order: that is ended first.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._requested: set[str] = set()
        self._over: set[str] = set()

    def committed(self, transition: Transition, before: Run | None) -> Iterator[str]:
        run_id = transition.run_id
        for each in transition.events:
            if isinstance(each.event, ev.CancelRequested):
                self._requested.add(run_id)
            elif isinstance(each.event, ev.RunCanceled):
                self._over.add(run_id)
                yield from self._at_work(run_id)
            elif run_id in self._requested and isinstance(each.event, _GOES_ON):
                yield f"{run_id}: {each.event.kind} after the cancel was committed"

    def _at_work(self, run_id: str) -> Iterator[str]:
        for attempt_id, work in self._machine.attempts.items():
            if attempt_id.startswith(f"{run_id}.") and work.at_work:
                yield f"{attempt_id}: still runs though the run was canceled"
        for check_id, state in self._machine.checks.items():
            if check_id.startswith(f"{run_id}.") and isinstance(state, CheckRunning):
                yield f"{check_id}: still runs though the run was canceled"

    def acted(self, act: Act) -> Iterator[str]:
        if act.run_id in self._over and act.kind in _STARTS:
            yield f"{act.subject}: {act.kind} though the run was canceled"

    def at_end(self, journal: Journal) -> Iterator[str]:
        for run_id in sorted(self._over):
            yield from self._at_work(run_id)


_GOES_ON = (ev.RouteTaken, ev.NodeEntered, ev.AttemptStarted, ev.CheckStarted, ev.ResumeRequested)
