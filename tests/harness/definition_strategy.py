"""Draws valid definitions of all kinds of nodes.

Nodes stand in a line; each leads at least to the next one, so all are reached. Everything else
(returns with bounds, exits, conditions, bindings) is drawn freely and then mended where it is
not valid, so that hardly any draw is thrown away.
"""

import json
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from pointsman.graph.definition import Workflow
from pointsman.graph.validate import problems
from tests.harness import group_strategy as groups
from tests.harness.core import agent, field
from tests.harness.group_strategy import maybe as _maybe

Draw = st.DrawFn

KINDS = ("agent", "check", "decision", "gate", "parallel")


@st.composite
def definitions(draw: Draw) -> Workflow:
    """Return a valid workflow."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6))
    names = [f"{kind}{number}" for number, kind in enumerate(kinds)]
    nodes = {name: _node(draw, name, at, names) for at, name in enumerate(names)}
    for at, name in enumerate(names):
        if name.startswith("parallel"):
            nodes[groups.join_of(name)] = _join(draw, name, at, names)
    nodes["help"] = {
        "kind": "gate",
        "title": "Help",
        "decisions": {"approve": "done", **_maybe(draw, "request_changes", _back(draw, names))},
    }
    nodes["done"] = {"kind": "end", "result": draw(st.sampled_from(["completed", "failed"]))}
    made = {
        "pointsman": 1,
        "id": "drawn",
        "name": "Drawn",
        "inputs": {"task": field("string", required=True), "extra": field("number")},
        "entry": names[0],
        "visits": {
            "max": draw(st.integers(1, 12)),
            **_maybe(draw, "at_limit", draw(st.sampled_from(["help", "done"]))),
        },
        "nodes": nodes,
    }
    return _mended(made)


def _back(draw: Draw, names: list[str]) -> dict[str, Any]:
    """Return a route to any node, with a bound."""
    repeat = {"max": draw(st.integers(1, 3)), "at_limit": "done"}
    return {"to": draw(st.sampled_from(names)), "repeat": repeat}


def _anywhere(draw: Draw, at: int, names: list[str], *, itself: bool = True) -> object:
    later = [*names[at + 1 :], "help", "done"]
    earlier = names[: at + itself]
    if not earlier or draw(st.booleans()):
        return draw(st.sampled_from(later))
    back = _back(draw, earlier)
    back["repeat"]["at_limit"] = draw(st.sampled_from(["help", "done"]))
    return back


def _node(draw: Draw, name: str, at: int, names: list[str]) -> dict[str, Any]:
    following = names[at + 1] if at + 1 < len(names) else "done"
    unresolved = _maybe(draw, "unresolved", _anywhere(draw, at, names))
    if name.startswith("agent"):
        return agent(
            following,
            report={"fields": _fields(draw)},
            inputs=_inputs(draw, names),
            **_maybe(draw, "resume", {"max": draw(st.integers(1, 2))}),
            **unresolved,
            **_review(draw, names),
        )
    if name.startswith("parallel"):
        drawn = [_inputs(draw, names) for _ in groups.BRANCHES]
        return groups.group(draw, name, drawn, _anywhere(draw, at, names, itself=False))
    if name.startswith("check"):
        after = draw(st.sampled_from([["timeout"], ["interrupted"], ["timeout", "interrupted"]]))
        retry = _maybe(draw, "retry", {"max": draw(st.integers(1, 2)), "after": after})
        review = _review(draw, names)
        made = {"kind": "check", "run": ["true"], "next": following, **retry, **unresolved}
        return {**made, **review}
    if name.startswith("gate"):
        changes = _maybe(draw, "request_changes", _anywhere(draw, at, names))
        decisions = {"approve": following, **changes}
        return {"kind": "gate", "title": name, "decisions": decisions, **_review(draw, names)}
    rules = [_rule(draw, number, at, names) for number in range(draw(st.integers(0, 3)))]
    return {"kind": "decision", "rules": rules, "otherwise": following, **_review(draw, names)}


def _join(draw: Draw, name: str, at: int, names: list[str]) -> dict[str, Any]:
    following = names[at + 1] if at + 1 < len(names) else "done"
    incomplete = _maybe(draw, "incomplete", _anywhere(draw, at, names))
    return {"kind": "join", "of": name, "next": following, **incomplete}


def _review(draw: Draw, names: list[str]) -> dict[str, Any]:
    """Let a node rely on any review; where none stands on the way to it the word is taken back."""
    reviewed = [groups.join_of(name) for name in names if name.startswith("parallel")]
    return _maybe(draw, "review", draw(st.sampled_from(reviewed))) if reviewed else {}


def _fields(draw: Draw) -> dict[str, Any]:
    required = st.booleans()
    made = {
        "ok": field("boolean", required=draw(required)),
        "n": field("number", required=draw(required)),
        "risk": field("enum", "low", "high", required=draw(required)),
    }
    kept = draw(st.sets(st.sampled_from(sorted(made))))
    return {name: declared for name, declared in made.items() if name in kept}


def _inputs(draw: Draw, names: list[str]) -> dict[str, Any]:
    """Return bindings; those of results that need not be there are made optional later."""
    paths = ["run.input.task", "run.input.extra"]
    for name in names:
        if name.startswith("agent"):
            paths += [f"report.{name}", f"report.{name}.summary"]
        if name.startswith("check"):
            paths += [f"check.{name}", f"check.{name}.exit_code"]
        if name.startswith("gate"):
            paths += [f"gate.{name}", f"gate.{name}.comments"]
        if name.startswith("parallel"):
            paths += [f"join.{groups.join_of(name)}.reports"]
    chosen = draw(st.lists(st.sampled_from(paths), max_size=3, unique=True))
    return {
        f"i{number}": {"from": path, "optional": draw(st.booleans())}
        for number, path in enumerate(chosen)
    }


def _rule(draw: Draw, number: int, at: int, names: list[str]) -> dict[str, Any]:
    to = _anywhere(draw, at, names)
    route = {"to": to} if isinstance(to, str) else to
    assert isinstance(route, dict)
    return {"name": f"rule {number}", "when": _condition(draw, names, 2), **route}


def _condition(draw: Draw, names: list[str], depth: int) -> dict[str, Any]:
    if depth and draw(st.booleans()):
        group = draw(st.sampled_from(["all", "any"]))
        count = draw(st.integers(1, 2))
        return {group: [_condition(draw, names, depth - 1) for _ in range(count)]}
    tests: list[dict[str, Any]] = [
        {"field": "run.input.extra", "absent": True},
        {"field": "run.input.task", "eq": "x"},
    ]
    for name in names:
        if name.startswith("agent"):
            tests.append({"field": f"report.{name}.outcome", "in": ["completed", "blocked"]})
            tests.append({"field": f"report.{name}.summary", "present": True})
        if name.startswith("check"):
            tests.append({"field": f"check.{name}.exit_code", "gt": 0})
            tests.append({"field": f"check.{name}.exit_code", "ne": 1})
        if name.startswith("gate"):
            tests.append({"field": f"gate.{name}.decision", "eq": "approve"})
        if name.startswith("parallel"):
            tests += groups.conditions(name)
    return dict(draw(st.sampled_from(tests)))


def _mended(made: dict[str, Any]) -> Workflow:
    """Make optional what not every way brings, and lead exhausted visits to the end."""
    for problem in problems(_workflow(made)):
        if problem.code == "binding_not_produced":
            binding: Any = made
            for part in problem.where[:-1]:
                binding = binding[part]
            binding["optional"] = True
        if problem.code == "review_not_done":
            del made["nodes"][problem.where[1]]["review"]
        if problem.code == "unbounded_cycle" and problem.where[0] == "visits":
            made["visits"]["at_limit"] = "done"
        if problem.code == "unreachable_node":
            del made["nodes"][problem.where[1]]
    workflow = _workflow(made)
    assume(not problems(workflow))
    return workflow


def _workflow(made: dict[str, Any]) -> Workflow:
    return Workflow.model_validate_json(json.dumps(made))
