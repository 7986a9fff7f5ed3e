"""Joins: nothing short of every branch makes one, and a success needs them all and the head."""

from collections.abc import Iterator

from pointsman.graph.review_events import (
    BranchEnded,
    BranchOutcome,
    HeadCompared,
    JoinCommitted,
    JoinOutcome,
    ReviewForked,
)
from pointsman.graph.run import Run
from pointsman.storage.journal import Transition
from tests.simulation.chronicle import Checker


class WaitForAll(Checker):
    """A join is committed once a review set, after every branch ended; well only if all did."""

    def __init__(self) -> None:
        self._branches: dict[str, set[str]] = {}
        self._endings: dict[str, BranchOutcome] = {}
        self._heads: dict[str, str | None] = {}
        self._joined: set[str] = set()

    def committed(self, transition: Transition, before: Run | None) -> Iterator[str]:
        for each in transition.events:
            match each.event:
                case ReviewForked(review_set_id=review, branches=branches):
                    self._branches[review] = {branch.branch_id for branch in branches}
                case BranchEnded(branch_id=branch, outcome=outcome):
                    if branch in self._endings:
                        yield f"{branch}: ended twice"
                    self._endings[branch] = outcome
                case HeadCompared(visit_id=visit, head=head):
                    self._heads[visit] = head
                case JoinCommitted() as joined:
                    yield from self._join(joined)
                case _:
                    pass

    def _join(self, joined: JoinCommitted) -> Iterator[str]:
        review = joined.review_set_id
        branches = self._branches.get(review, set())
        if review in self._joined:
            yield f"{review}: joined twice"
        self._joined.add(review)
        if not branches or not branches <= self._endings.keys():
            yield f"{review}: joined before every branch had ended"
        if joined.outcome is JoinOutcome.ALL_COMPLETED:
            if {self._endings.get(each) for each in branches} != {BranchOutcome.COMPLETED}:
                yield f"{review}: joined well though a branch did not complete"
            if self._heads.get(joined.visit_id) != joined.frozen_commit:
                yield f"{review}: joined well without the head being what was reviewed"
