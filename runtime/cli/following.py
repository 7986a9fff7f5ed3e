"""Following a run until it ends or waits for a person, telling each step once."""

from typing import Final

from pointsman.runtime.cli.progress import Narrator
from pointsman.runtime.cli.reach import Reach
from pointsman.runtime.cli.terminal import Terminal
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.queries import RunView, TraceEntry
from pointsman.runtime.views.review_views import BranchState, BranchView

_SERVERS_LOST_MAX: Final = 3
# After one of these a run may be waiting for a person; only its view tells.
_MAY_REST: Final = frozenset(
    {
        "run_suspended",
        "node_unresolved",
        "native_request_opened",
        "branch_interrupted",
        "branch_ended",
    }
)
_NEEDS_PERSON: Final = frozenset({BranchState.WAITING_INPUT, BranchState.INTERRUPTED})


def rests(view: RunView) -> bool:
    """Whether nothing more happens in a run unless a person acts."""
    if view.ended_at is not None:
        return True
    if view.state in ("awaiting_review", "unresolved"):
        return True
    open_now = _open_reviewers(view)
    if open_now:
        # One that waits does not hold up the others: they are followed until all of them wait.
        return all(each.state in _NEEDS_PERSON for each in open_now)
    asks = any(item.kind == "native_request" for item in view.attention)
    return view.state == "running" and asks


def _open_reviewers(view: RunView) -> list[BranchView]:
    return [
        branch
        for review in view.reviews.values()
        if review.under_way
        for branch in review.branches
        if branch.ending is None
    ]


class Follower:
    """Tells one run's progress. ``told`` is the sequence of the last entry it knows."""

    def __init__(self, reach: Reach, terminal: Terminal, run_id: str) -> None:
        self._reach = reach
        self._terminal = terminal
        self._narrator = Narrator()
        self._run_id = run_id
        self.told = -1

    def skip(self, entries: list[TraceEntry]) -> None:
        """Take note of what was told before, without telling it again."""
        for entry in entries:
            self._narrator.tell(entry)
            self.told = entry.sequence

    def until_rest(self) -> RunView:
        """Tell what happens until the run has ended or waits for a person."""
        for lost in range(_SERVERS_LOST_MAX + 1):
            try:
                return self._until_rest()
            except PointsmanError as error:
                if error.code != "server_unreachable" or lost == _SERVERS_LOST_MAX:
                    raise
            self._reach.renew()
        raise AssertionError("the last try returns or raises")

    def _until_rest(self) -> RunView:
        view = self._reach.client.run(self._run_id)
        if not rests(view):
            for event in self._reach.client.follow(self._run_id, self.told):
                if event.event == "end":
                    break
                if event.event != "entry":
                    continue
                self._tell(event.entry)
                if event.entry.kind in _MAY_REST:
                    view = self._reach.client.run(self._run_id)
                    if rests(view):
                        break
            view = self._reach.client.run(self._run_id)
        for entry in self._reach.client.trace(self._run_id, self.told):
            self._tell(entry)
        return view

    def _tell(self, entry: TraceEntry) -> None:
        if entry.sequence <= self.told:
            return
        self.told = entry.sequence
        line = self._narrator.tell(entry)
        if line is not None:
            self._terminal.progress(line)
