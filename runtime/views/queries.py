"""What can be asked about runs: read from the journal alone, without a server and without Ray.

Every answer is a typed, JSON-able model; nothing here wakes a run. The trace of a run is
``runtime.views.trace``'s.
"""

from typing import Any

from pointsman.graph import ids
from pointsman.graph.allowed import AllowedAction, allowed_actions, deciders
from pointsman.graph.definition import GateDeciders
from pointsman.graph.draw import mermaid
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.project import project
from pointsman.graph.projection import RunSummary
from pointsman.graph.run import Run, RunState, Visit
from pointsman.graph.visited import taken
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.attention import AttentionView, item_view
from pointsman.runtime.views.review_views import (
    GateReviewView,
    ReviewView,
    gate_review,
    review_views,
)
from pointsman.runtime.views.trace import TraceEntry, entries_of
from pointsman.runtime.views.work_views import (
    AttemptView,
    ReportView,
    RequestView,
    TimeoutView,
    UnresolvedView,
    attempt_view,
    timestamp,
    unresolved_view,
)
from pointsman.storage.journal import Journal

__all__ = [
    "AttemptView",
    "GateView",
    "ReportView",
    "RequestView",
    "ReviewView",
    "RunGraph",
    "RunRow",
    "RunView",
    "TimeoutView",
    "TraceEntry",
    "UnresolvedView",
    "WorkflowView",
    "graph",
    "known_run",
    "known_summary",
    "run_view",
    "runs",
    "timestamp",
    "trace",
]


class WorkflowView(Model):
    """The definition a run was started with; ``source`` is where its text came from."""

    id: str
    name: str
    revision: int
    digest: str
    source: str


class GateView(Model):
    """A gate that waits for a decision on ``head_commit``; ``revision`` must be given back.

    ``review`` is what an approval relies on, if the definition names a review.
    """

    gate_id: str
    title: str
    description: str | None
    revision: int
    offered: list[str]
    head_commit: str | None = None
    deciders: GateDeciders | None = None
    review: GateReviewView | None = None


class RunRow(Model):
    """One row of the list of runs."""

    run_id: str
    workflow_id: str
    workflow_name: str
    state: str
    node: str | None
    repository: str
    started_at: str
    updated_at: str
    version: int


class RunGraph(Model):
    """A run's workflow as a Mermaid flowchart, with its visits and the path taken."""

    run_id: str
    mermaid: str


class RunView(Model):
    """Everything a client may show of a run now; ``version`` counts its events.

    ``reviews`` has the latest review of each join. ``attempt`` and ``unresolved`` are the current
    visit's; those of reviewers stand in their branches.
    """

    run_id: str
    state: str
    workflow: WorkflowView
    repository: str
    base_commit: str
    base_branch: str | None
    left_out: list[str]
    workspace_status: str
    workspace_path: str | None
    branch: str | None
    head_commit: str | None
    inputs: dict[str, JsonScalar]
    started_by: str
    node: str | None
    visits: dict[str, int]
    visits_used: int
    visits_max: int
    route_counts: dict[str, int]
    results: dict[str, dict[str, Any]]
    gate: GateView | None
    unresolved: UnresolvedView | None
    attempt: AttemptView | None
    reviews: dict[str, ReviewView] = {}
    open_work: list[str]
    processes_left: dict[str, int]
    allowed_actions: list[AllowedAction]
    attention: list[AttentionView]
    version: int
    started_at: str
    updated_at: str
    ended_at: str | None


def known_run(journal: Journal, run_id: str) -> Run:
    """Return a run's folded state; raises ``run_unknown``."""
    run = journal.run(run_id) if ids.shard_of(run_id) is not None else None
    if run is None:
        raise PointsmanError("run_unknown", f"there is no run {run_id[:80]!r}")
    return run


def known_summary(journal: Journal, run_id: str) -> RunSummary:
    """Return a run's summary; raises ``run_unknown``."""
    summary = journal.summary(run_id) if ids.shard_of(run_id) is not None else None
    if summary is None:
        raise PointsmanError("run_unknown", f"there is no run {run_id[:80]!r}")
    return summary


def run_view(journal: Journal, run_id: str) -> RunView:
    """Return a run as it is now; raises ``run_unknown``."""
    view = view_of(known_run(journal, run_id))
    troubles = [item_view(each) for each in journal.troubles() if each.run_id == run_id]
    return view.model_copy(update={"attention": [*troubles, *view.attention]})


def view_of(run: Run) -> RunView:
    """Return the view of a folded state; a pure function of it."""
    projection = project(run)
    visit = run.visit
    return RunView(
        run_id=run.run_id,
        state=run.state.value,
        workflow=WorkflowView(
            id=run.workflow.id,
            name=run.workflow.name,
            revision=run.workflow.revision,
            digest=run.definition_digest,
            source=run.definition_source,
        ),
        repository=run.repository,
        base_commit=run.base_commit,
        base_branch=run.base_branch,
        left_out=list(run.left_out),
        workspace_status=run.workspace.status.value,
        workspace_path=run.workspace.path,
        branch=run.workspace.branch,
        head_commit=run.head_commit,
        inputs=run.inputs,
        started_by=run.started_by,
        node=visit.node if visit is not None else None,
        visits=run.visit_counts,
        visits_used=run.visits_used,
        visits_max=run.workflow.visits.max,
        route_counts=run.route_counts,
        results={name: each.model_dump(mode="json") for name, each in run.results.items()},
        gate=_gate(run, visit),
        unresolved=_unresolved(run, visit),
        attempt=attempt_view(visit.attempt) if visit is not None and visit.attempt else None,
        reviews=review_views(run),
        open_work=list(projection.summary.open_work),
        processes_left=run.processes_left_count,
        allowed_actions=list(allowed_actions(run)),
        attention=[item_view(item) for item in projection.attention],
        version=run.version,
        started_at=timestamp(run.started_at_ms),
        updated_at=timestamp(run.updated_at_ms),
        ended_at=timestamp(run.ended_at_ms) if run.ended_at_ms is not None else None,
    )


def _gate(run: Run, visit: Visit | None) -> GateView | None:
    gate = visit.gate if visit is not None else None
    if gate is None or gate.decision is not None or run.ended or run.cancellation is not None:
        return None
    return GateView(
        gate_id=gate.gate_id,
        title=gate.title,
        description=getattr(run.node, "description", None),
        revision=gate.revision,
        offered=[each.value for each in gate.offered],
        head_commit=gate.head_commit,
        deciders=deciders(run),
        review=gate_review(run),
    )


def _unresolved(run: Run, visit: Visit | None) -> UnresolvedView | None:
    why = visit.unresolved if visit is not None else None
    if why is None or run.ended or run.cancellation is not None:
        return None
    return unresolved_view(why)


def _row(summary: RunSummary) -> RunRow:
    return RunRow(
        run_id=summary.run_id,
        workflow_id=summary.workflow_id,
        workflow_name=summary.workflow_name,
        state=summary.state.value,
        node=summary.node,
        repository=summary.repository,
        started_at=timestamp(summary.started_at_ms),
        updated_at=timestamp(summary.updated_at_ms),
        version=summary.version,
    )


def runs(
    journal: Journal, states: frozenset[RunState] | None = None, limit: int = 100
) -> list[RunRow]:
    """Return runs in any of the states (all, if none are named), newest first."""
    return [_row(summary) for summary in journal.runs(states, limit)]


def trace(
    journal: Journal, run_id: str, after: int = -1, limit: int | None = None
) -> list[TraceEntry]:
    """Return what happened in a run, in order; raises ``run_unknown``."""
    known_summary(journal, run_id)
    # From the beginning, as how long something lasted follows from what came before it.
    history = journal.events(run_id, limit=after + 1 + limit if limit is not None else None)
    return list(entries_of(history))[after + 1 :]


def graph(journal: Journal, run_id: str) -> RunGraph:
    """Return a run's workflow as a drawing with the path taken; raises ``run_unknown``."""
    run = known_run(journal, run_id)
    drawn = mermaid(run.workflow, taken(journal.events(run_id)))
    return RunGraph(run_id=run_id, mermaid=drawn)
