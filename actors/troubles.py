"""Runs that cannot be taken up, as a person is told of them; kept beside the runs, not by them.

Whatever of such a run raises, its own events and state are not asked: the supervisor writes what
it saw, durably, and takes it back when the run goes on.
"""

from typing import Final

import structlog

from pointsman.actors.clock import Clock
from pointsman.graph.projection import AttentionItem, AttentionKind
from pointsman.storage.journal import Journal
from pointsman.storage.journal_errors import JournalError

log = structlog.get_logger()

_TOLD_CHARS_MAX: Final = 300


class Troubles:
    """The troubles of a shard's runs. A full disk only delays what it would have told."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._known = {each.run_id: each for each in journal.troubles()}

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._known

    def begin(self, run_id: str, error: BaseException) -> None:
        """Tell that a run raises; since when, if it did so before."""
        before = self._known.get(run_id)
        since_ms = before.since_ms if before is not None else self._clock.now_ms()
        item = _item(run_id, error, since_ms)
        if item == before:
            return
        try:
            self._journal.note_trouble(item)
        except JournalError as refused:
            log.warning("trouble_not_kept", run_id=run_id, error=str(refused))
            return
        self._known[run_id] = item

    def end(self, run_id: str) -> None:
        """Tell that a run goes on."""
        if run_id not in self._known:
            return
        try:
            self._journal.end_trouble(run_id)
        except JournalError as refused:
            log.warning("trouble_not_ended", run_id=run_id, error=str(refused))
            return
        del self._known[run_id]
        log.info("run_out_of_trouble", run_id=run_id)


def _item(run_id: str, error: BaseException, since_ms: int) -> AttentionItem:
    # What Ray hands on has the other side's exception as its cause, and a stack trace as its text.
    cause: BaseException = getattr(error, "cause", None) or error
    said = " ".join(str(cause).split())[:_TOLD_CHARS_MAX]
    return AttentionItem(
        item_id=f"{run_id}:trouble",
        run_id=run_id,
        kind=AttentionKind.RUN_IN_TROUBLE,
        node="",
        title="Pointsman cannot go on with this run",
        detail=(
            f"{type(cause).__name__}: {said} — what the run has done is safe in the journal, its"
            " worktrees are kept, and other runs go on. It is tried again by itself, more and"
            " more seldom. See server.log; run `pointsman verify`; a newer Pointsman may take it up"
        ),
        since_ms=since_ms,
    )
