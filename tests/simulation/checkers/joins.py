"""Joins: nothing short of every branch makes one, and a success needs them all and the head."""

from collections.abc import Iterator
from typing import Final

from pointsman.graph.events import GateDecided
from pointsman.graph.results import GateDecision
from pointsman.graph.review_events import (
    BranchEnded,
    BranchOutcome,
    ChangeFrozen,
    HeadCompared,
    JoinCommitted,
    JoinOutcome,
    ReviewForked,
)
from pointsman.graph.run import Run
from pointsman.storage.journal import Transition
from tests.simulation.chronicle import Checker
from tests.simulation.host_state import Machine, place_of

# How long an approval may be on its way after the head was read.
_MOMENT_S: Final = 900.0


class WaitForAll(Checker):
    """A join is committed once a review set, after every branch ended; well only if all did."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
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

    def _is_spoiled(self, branch_id: str) -> bool:
        return f"wf:{branch_id}" in self._machine.dirty

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
            spoiled = sorted(f"wf:{each}" for each in branches if self._is_spoiled(each))
            if spoiled:
                yield f"{review}: joined well though {spoiled} had been changed"
            if self._heads.get(joined.visit_id) != joined.frozen_commit:
                yield f"{review}: joined well without the head being what was reviewed"


class FreshApproval(Checker):
    """An approval that relies on a review is of a head that is, or was a moment ago, the reviewed.

    It is read right before; in the moment between, it may move.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._places: dict[str, str] = {}

    def committed(self, transition: Transition, before: Run | None) -> Iterator[str]:
        machine = self._machine
        for each in transition.events:
            event = each.event
            if isinstance(event, ChangeFrozen):
                self._places[event.review_set_id] = place_of(event.change)
            if not isinstance(event, GateDecided) or event.review_set_id is None:
                continue
            if event.decision is not GateDecision.APPROVE:
                continue
            place = self._places[event.review_set_id]
            unmoved_s = machine.now_s() - machine.head_moved_s.get(place, 0.0)
            if machine.heads.get(place) != event.commit and unmoved_s > _MOMENT_S:
                yield f"{event.gate_id}: approved though the head had moved {unmoved_s:.0f} s ago"
