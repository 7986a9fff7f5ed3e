"""The workflows of simulated runs: few, and together every kind of node and route."""

from typing import Any, Final

from pointsman.graph.definition import Workflow
from tests.harness.core import agent, field, workflow
from tests.harness.reviews import reviewed, reviewer

_BACK: Final[dict[str, Any]] = {"to": "implement", "repeat": {"max": 2, "at_limit": "look"}}


def _change() -> Workflow:
    """A line with a check that is retried, a return, a policy of resuming, and a way aside."""
    failed = {"field": "check.tests.exit_code", "ne": 0}
    return workflow(
        visits={"max": 9, "at_limit": "look"},
        nodes={
            "implement": agent(
                "tests",
                timeout=2400,
                resume={"max": 1},
                report={"fields": {"risk": field("enum", "low", "high")}},
            ),
            "tests": {
                "kind": "check",
                "run": ["true"],
                "timeout": 600,
                "retry": {"max": 1, "after": ["timeout", "interrupted"]},
                "next": "verdict",
                "unresolved": "look",
            },
            "verdict": {
                "kind": "decision",
                "rules": [{"name": "tests failed", "when": failed, **_BACK}],
                "otherwise": "approve",
            },
            "approve": {
                "kind": "gate",
                "title": "Approve the change",
                "decisions": {"approve": "done", "request_changes": _BACK},
            },
            "look": {
                "kind": "gate",
                "title": "A person must look",
                "decisions": {"approve": "done", "request_changes": "stopped"},
            },
            "done": {"kind": "end"},
            "stopped": {"kind": "end", "result": "failed"},
        },
    )


def _reviewers() -> dict[str, Any]:
    short = {"timeout": 2400, "deadline": 5400}
    return {
        "kind": "parallel",
        "freeze": "workspace",
        "uncommitted": "ignore",
        "branches": {
            "code": reviewer(**short, resume={"max": 1}),
            "security": reviewer(**short),
            "ux": reviewer(**short),
        },
        "join": "review",
    }


def _review(**join: Any) -> Workflow:
    """Three reviewers, a join, one return, and a gate that relies on the review."""
    made = reviewed(
        work=agent("reviewers", timeout=2400),
        reviewers=_reviewers(),
        review={"kind": "join", "of": "reviewers", "next": "verdict", **join},
    )
    return made.model_copy(update={"visits": made.visits.model_copy(update={"max": 16})})


WORKFLOWS: Final = (_change(), _review(), _review(incomplete="look"))
