"""What waits for a person, over all runs and schedules."""

from collections.abc import Iterator
from typing import Final

from pointsman.graph.model import Model
from pointsman.graph.projection import AttentionItem
from pointsman.graph.schedule import Occurrence, OccurrenceState, Schedule
from pointsman.runtime.views.work_views import timestamp
from pointsman.storage.journal import Journal

# Of no run: a schedule's last start was refused.
SCHEDULE_REFUSED: Final = "schedule_refused"
# Behind the newest, skipped slots may stand; more of them than this say nothing.
_OCCURRENCES_LOOKED_AT: Final = 20


class AttentionView(Model):
    """Something that waits for a person: of a run, or of a schedule that could not start one."""

    item_id: str
    run_id: str | None
    kind: str
    node: str
    title: str
    detail: str
    since: str
    thread_id: str | None
    branch: str | None = None
    schedule_id: str | None = None


def attention(journal: Journal, limit: int = 100) -> list[AttentionView]:
    """Return what waits for a person, longest waiting first.

    Before all others come runs in trouble, and schedules whose last start was refused.
    """
    first = [*map(item_view, journal.troubles()), *_refused_schedules(journal)]
    return [*first, *map(item_view, journal.attention(limit))][:limit]


def item_view(item: AttentionItem) -> AttentionView:
    """Return the view of what waits in a run."""
    return AttentionView(
        item_id=item.item_id,
        run_id=item.run_id,
        kind=item.kind.value,
        node=item.node,
        title=item.title,
        detail=item.detail,
        since=timestamp(item.since_ms),
        thread_id=item.thread_id,
        branch=item.branch,
    )


def _refused_schedules(journal: Journal) -> Iterator[AttentionView]:
    """Yield the schedules that wait for somebody; the next start that succeeds ends that."""
    for schedule in journal.schedules.schedules():
        newest = journal.schedules.occurrences(schedule.schedule_id, _OCCURRENCES_LOOKED_AT)
        judged = (OccurrenceState.REFUSED, OccurrenceState.DISPATCHED)
        last = next((each for each in newest if each.state in judged), None)
        if last is not None and last.state is OccurrenceState.REFUSED:
            yield _refused(schedule, last)


def _refused(schedule: Schedule, last: Occurrence) -> AttentionView:
    why = last.reason.message if last.reason is not None else "no reason was told"
    return AttentionView(
        item_id=last.occurrence_id,
        run_id=None,
        kind=SCHEDULE_REFUSED,
        node="",
        title=f"The schedule {schedule.schedule_id} could not start its workflow",
        detail=why,
        since=timestamp(last.settled_at_ms or last.created_at_ms),
        thread_id=None,
        schedule_id=schedule.schedule_id,
    )
