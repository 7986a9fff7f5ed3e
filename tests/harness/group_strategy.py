"""Draws parallel groups with their joins, and who relies on their reviews."""

from typing import Any

from hypothesis import strategies as st

from tests.harness.core import field

Draw = st.DrawFn
BRANCHES = ("a", "b", "c")


def maybe(draw: Draw, key: str, value: object) -> dict[str, Any]:
    return {key: value} if draw(st.booleans()) else {}


def join_of(group: str) -> str:
    """Return the name of a group's join."""
    return f"join-{group}"


def group(draw: Draw, name: str, inputs: list[dict[str, Any]], exit_: object) -> dict[str, Any]:
    """Return a group of one to three reviewers."""
    keys = BRANCHES[: draw(st.integers(1, 3))]
    freeze, policy = draw(
        st.sampled_from(
            [
                ("workspace", "refuse"),
                ("workspace", "ignore"),
                ("workspace", "commit"),
                ({"input": "task"}, "refuse"),
            ]
        )
    )
    return {
        "kind": "parallel",
        "freeze": freeze,
        "uncommitted": policy,
        "branches": {key: _branch(draw, given) for key, given in zip(keys, inputs, strict=False)},
        "join": join_of(name),
        **maybe(draw, "unresolved", exit_),
    }


def _branch(draw: Draw, inputs: dict[str, Any]) -> dict[str, Any]:
    return {
        "agent": {"provider": "scripted", "mode": "review"},
        "focus": "bugs",
        "inputs": inputs,
        "report": {"fields": {"n": field("number", required=draw(st.booleans()))}},
        "timeout": draw(st.sampled_from(["30m", "2h"])),
        "deadline": draw(st.sampled_from(["1h", "4h"])),
        **maybe(draw, "resume", {"max": 1}),
    }


def conditions(name: str) -> list[dict[str, Any]]:
    """Return what may be asked of a group's join; the first reviewer is always there."""
    join = join_of(name)
    return [
        {"field": f"join.{join}.a.n", "gt": 0},
        {"field": f"join.{join}.a.outcome", "eq": "completed"},
        {"field": f"join.{join}.outcome", "present": True},
    ]
