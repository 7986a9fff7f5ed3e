"""The workflows of simulated runs: a few shapes with every kind of node and route, drawn in detail.

How many reviewers there are, what is reviewed, which bounds there are and how tight they are, what
goes on by itself and what has a way aside: all of it comes from the seed.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from pointsman.graph.definition import Workflow
from tests.harness.core import agent, field, workflow
from tests.harness.reviews import reviewed, reviewer
from tests.simulation.chance import Chance

# The input by which a start names the change to review, where it is not the run's own.
CHANGE: Final = "change"
_LOOK: Final = {
    "kind": "gate",
    "title": "A person must look",
    "decisions": {"approve": "done", "request_changes": "stopped"},
}
_ENDS: Final = {"done": {"kind": "end"}, "stopped": {"kind": "end", "result": "failed"}}


def drawn(chance: Chance) -> Workflow:
    """Draw a workflow."""
    return chance.pick(SHAPES)(chance)


def _maybe(chance: Chance, name: str, *values: Any) -> dict[str, Any]:
    """Return a setting with one of its values, or leave it out as often as not."""
    return {name: chance.pick(values)} if chance.happens(0.5) else {}


def _agent(chance: Chance, next_: str, **more: Any) -> dict[str, Any]:
    return agent(
        next_,
        timeout=chance.pick((600, 2400, 7200)),
        **_maybe(chance, "resume", {"max": 1}, {"max": 3}),
        **_maybe(chance, "answer_within", 3600, 80_000),
        **more,
    )


def _back(chance: Chance, to: str) -> dict[str, Any]:
    return {"to": to, "repeat": {"max": chance.count(1, 3), "at_limit": "look"}}


def _visits(chance: Chance, least: int) -> dict[str, Any]:
    return {"max": chance.count(least, 4 * least), **_maybe(chance, "at_limit", "look")}


def _change(chance: Chance) -> Workflow:
    """A line with a check that is retried, returns, a policy of resuming, and ways aside."""
    failed = {"field": "check.tests.exit_code", "ne": 0}
    return workflow(
        visits=_visits(chance, 5),
        nodes={
            "implement": _agent(
                chance,
                "tests",
                report={"fields": {"risk": field("enum", "low", "high")}},
                **_maybe(chance, "unresolved", "look"),
            ),
            "tests": {
                "kind": "check",
                "run": ["true"],
                "timeout": 600,
                "retry": {"max": chance.count(1, 2), "after": ["timeout", "interrupted"]},
                "next": "verdict",
                **_maybe(chance, "unresolved", "look"),
            },
            "verdict": {
                "kind": "decision",
                "rules": [{"name": "tests failed", "when": failed, **_back(chance, "implement")}],
                "otherwise": "approve",
            },
            "approve": {
                "kind": "gate",
                "title": "Approve the change",
                "decisions": {"approve": "done", "request_changes": _back(chance, "implement")},
            },
            "look": _LOOK,
            **_ENDS,
        },
    )


def _reviewers(chance: Chance, freeze: Any, names: Sequence[str]) -> dict[str, Any]:
    def one() -> dict[str, Any]:
        return reviewer(
            timeout=chance.pick((1200, 2400)),
            deadline=chance.pick((3600, 5400, 20_000)),
            **_maybe(chance, "resume", {"max": 1}),
            **_maybe(chance, "answer_within", 1800),
        )

    return {
        "kind": "parallel",
        "freeze": freeze,
        **({"uncommitted": "ignore"} if freeze == "workspace" else {}),
        "branches": {name: one() for name in names},
        "join": "review",
        **_maybe(chance, "unresolved", "look"),
    }


def _review(chance: Chance) -> Workflow:
    """Reviewers of what the run itself has made, or of a change that its start names."""
    own = chance.happens(0.6)
    freeze: Any = "workspace" if own else {"input": CHANGE}
    names = ("code", "security", "ux", "docs", "speed")[: chance.count(1, 5)]
    join = {"kind": "join", "of": "reviewers", "next": "verdict"}
    task = {"task": field("string", required=True)}
    return reviewed(
        names,
        top={
            "visits": _visits(chance, 6 + 2 * len(names)),
            "inputs": task if own else {**task, CHANGE: field("string", required=True)},
        },
        work=_agent(chance, "reviewers"),
        reviewers=_reviewers(chance, freeze, names),
        review={**join, **_maybe(chance, "incomplete", "look")},
        look=_LOOK,
        **_ENDS,
    )


SHAPES: Final[Sequence[Callable[[Chance], Workflow]]] = (_change, _review, _review)
