"""Who works on what: the visit or the branches in force, and whose an attempt is."""

from collections.abc import Iterator

from pointsman.graph import ids
from pointsman.graph.attempt import Attempt
from pointsman.graph.definition import AgentNode, ParallelNode, Workflow
from pointsman.graph.review_set import ReviewBranch
from pointsman.graph.reviews import Branch
from pointsman.graph.run import Run, Visit


def in_force(run: Run) -> tuple[Visit | ReviewBranch, ...]:
    """Return what agents work on now: the visit, or each open branch of a review under way."""
    if run.visit is None:
        return ()
    review = run.review_underway
    return review.open_branches if review is not None else (run.visit,)


def attempts_in_force(run: Run) -> Iterator[tuple[Visit | ReviewBranch, Attempt]]:
    """Yield the latest attempt of everything in force, with whose it is."""
    for tried in in_force(run):
        if tried.attempt is not None:
            yield tried, tried.attempt


def attempt_in_force(run: Run, attempt_id: str) -> Attempt | None:
    """Return an attempt if it is in force."""
    for _, attempt in attempts_in_force(run):
        if attempt.attempt_id == attempt_id:
            return attempt
    return None


def tried_by_id(run: Run, tried_id: str) -> Visit | ReviewBranch | None:
    """Return a visit or branch in force by its id."""
    return next((tried for tried in in_force(run) if tried.tried_id == tried_id), None)


def attempts_kept(run: Run) -> Iterator[Attempt]:
    """Yield every attempt whose whole report is still known: of the visit and of all reviews."""
    if run.visit is not None:
        yield from run.visit.attempts
    for review in run.reviews.values():
        for branch in review.branches:
            yield from branch.attempts


def assigned(workflow: Workflow, attempt_id: str) -> AgentNode | Branch | None:
    """Return what the definition says of an attempt's work; ``None`` if it is no agent's."""
    place = ids.place_of(attempt_id)
    node = workflow.nodes.get(place.node)
    if place.branch is None:
        return node if isinstance(node, AgentNode) else None
    return node.branches.get(place.branch) if isinstance(node, ParallelNode) else None
