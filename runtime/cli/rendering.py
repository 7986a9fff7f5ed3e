"""How runs are shown: the same facts as one document for programs, and as text for people."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from pointsman.graph import ids
from pointsman.graph.allowed import Action, AllowedAction, in_words
from pointsman.runtime.cli import decided_commits
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.names import short
from pointsman.runtime.views.queries import RunView
from pointsman.runtime.views.review_views import BranchState, BranchView, GateReviewView
from pointsman.runtime.views.review_words import commit_in_short
from pointsman.runtime.views.trace import uncommitted

STATE_STYLES: Final = {
    "running": "cyan",
    "awaiting_review": "bold yellow",
    "unresolved": "bold red",
    "completed": "green",
    "failed": "red",
    "canceled": "dim",
}

_HEADLINES: Final = {
    "running": "Under way",
    "awaiting_review": "Waits for a person",
    "unresolved": "Unresolved: a person must act",
    "completed": "Completed",
    "failed": "Failed",
    "canceled": "Canceled",
}

_WORDS: Final[dict[Action, tuple[str, tuple[str, ...], tuple[str, ...]]]] = {
    Action.APPROVE: ("approve", ("approve",), ()),
    Action.REQUEST_CHANGES: ("or", ("request-changes",), ("--note", "what should change")),
    Action.RESUME: ("go on", ("resume",), ()),
    Action.RETRY: ("try again", ("retry",), ()),
    Action.REVIEW_AGAIN: ("new review", ("review-again",), ()),
    Action.ANSWER: ("answer", ("answer",), ()),
    Action.CANCEL: ("end it", ("cancel",), ()),
}


def next_steps(call: Invocation, view: RunView, name: str | None = None) -> list[tuple[str, str]]:
    """Return what a person may do now, as commands to copy, each with what it is for."""
    steps = [_step(call, view, allowed, name) for allowed in view.allowed_actions]
    if view.gate is not None and Action.APPROVE.value not in view.gate.offered:
        steps = [("send back" if purpose == "or" else purpose, step) for purpose, step in steps]
    if not _waits(view) and view.ended_at is None:
        steps.insert(0, ("follow", call.next_command("wait", name or short(view.run_id))))
    return steps


def first_step(call: Invocation, view: RunView, branch: str | None) -> str | None:
    """Return what to do first about a run, or about one of its reviewers."""
    for allowed in view.allowed_actions:
        if branch is not None and place_in_words(allowed) == branch:
            return _step(call, view, allowed, None)[1]
    steps = next_steps(call, view)
    return steps[0][1] if steps else None


def other_steps(call: Invocation, view: RunView) -> list[str]:
    """Return what may be done about a gate whose review is stale, beside the first step."""
    again = [each for each in view.allowed_actions if each.action is Action.REVIEW_AGAIN]
    return [_step(call, view, each, None)[1] for each in again] if view.gate is not None else []


def _step(
    call: Invocation, view: RunView, allowed: AllowedAction, name: str | None
) -> tuple[str, str]:
    purpose, before, after = _WORDS[allowed.action]
    if allowed.action in _offered_for_several(view):
        after = ("--branch", place_in_words(allowed), *after)
    return purpose, call.next_command(*before, name or short(view.run_id), *after)


def _offered_for_several(view: RunView) -> frozenset[Action]:
    """Return the actions with which a reviewer must be named."""
    places = {(each.action, place_in_words(each)) for each in view.allowed_actions}
    counts = Counter(action for action, _ in places)
    return frozenset(action for action, count in counts.items() if count > 1)


def place_in_words(allowed: AllowedAction) -> str:
    """Name whom an action is about: the reviewer, else the node."""
    if allowed.action is Action.CANCEL:
        return "the run"
    place = ids.place_of(allowed.target)
    return place.branch or place.node


def _waits(view: RunView) -> bool:
    return any(item.kind != "processes_left" for item in view.attention)


def outcome(call: Invocation, view: RunView) -> dict[str, Any]:
    """Return how a run stands, for a program that waited for it."""
    return {
        "run": view.run_id,
        "state": view.state,
        "workflow": view.workflow.id,
        "node": view.node,
        "visits": view.visits,
        "repository": view.repository,
        "branch": view.branch,
        "commit": view.head_commit,
        "gate": view.gate,
        "reviews": view.reviews,
        "unresolved": view.unresolved,
        "allowed_actions": view.allowed_actions,
        "next": [command for _, command in next_steps(call, view)],
    }


def show_rest(call: Invocation, view: RunView) -> None:
    """Show people how a run rests, where its work is, and what to do next."""
    call.terminal.say()
    call.terminal.show(headline(view), style=STATE_STYLES[view.state])
    for name, text in _facts(call, view):
        call.terminal.show(f"  {name:<11}{text}")
    for purpose, command in next_steps(call, view):
        call.terminal.show(f"  {purpose:<11}{command}")
    for hint in _hints(view):
        call.terminal.show(f"  {'note':<11}{hint}")


def _hints(view: RunView) -> Iterator[str]:
    """Say how going on and trying again differ, of the agents that a person must see to."""
    actions = {each.action for each in view.allowed_actions}
    attempts = [view.attempt, *(each.attempt for each in interrupted(view))]
    known = [each for each in attempts if each is not None]
    if Action.RESUME in actions:
        reported = any(each.report is not None for each in known)
        stands = "; the earlier report stands" if reported else ""
        yield f"resume goes on in the same session{stands}"
    if Action.RETRY in actions and known:
        yield "retry begins anew in a new session; counts as one visit"


def interrupted(view: RunView) -> list[BranchView]:
    """Return the reviewers that wait for a person to resume or retry them."""
    open_reviews = [each for each in view.reviews.values() if each.under_way]
    found = [branch for review in open_reviews for branch in review.branches]
    return [branch for branch in found if branch.state is BranchState.INTERRUPTED]


def comments(view: RunView) -> Iterator[tuple[str, list[str]]]:
    """Return what the latest decision of each gate remarked, under a heading each."""
    for node, result in view.results.items():
        if found := result.get("comments"):
            commit = f" on {result['commit'][:10]}" if result.get("commit") else ""
            yield f"Comments at {node}{commit}", [_comment(each) for each in found]


def _comment(comment: dict[str, Any]) -> str:
    line = f":{comment['line']}" if comment["line"] is not None else ""
    return f"{comment['path']}{line}: {comment['text']}"


def headline(view: RunView) -> str:
    """Say in a line how a run stands."""
    said = _HEADLINES[view.state]
    if view.state == "canceled" and view.ended_at is None:
        return "Canceled; what still runs is being ended"
    if view.gate is not None:
        return f"{said} at {view.node}: {view.gate.title}"
    if view.unresolved is not None:
        detail = " ".join(view.unresolved.detail.split())
        return f"{said} at {view.node} ({view.unresolved.reason}): {detail}"
    if view.state == "unresolved":
        waiting = [item for item in view.attention if item.branch is not None]
        causes = [f"{each.branch}: {' '.join(each.detail.split())}" for each in waiting]
        return f"{said} at {view.node}: {'; '.join(causes)}"
    asked = [item for item in view.attention if item.kind == "native_request"]
    if asked:
        return f"{asked[0].title}: {asked[0].detail}"
    return said if view.ended_at is not None else f"{said} at {view.node}"


def _relied_on(review: GateReviewView) -> str:
    at = commit_in_short(review.frozen_commit)
    if review.head_seen is None:
        return f"{at}, by {review.join}"
    return f"{at}, by {review.join}; the change is at {commit_in_short(review.head_seen)}: stale"


def _facts(call: Invocation, view: RunView) -> Iterator[tuple[str, str]]:
    yield "run", view.run_id
    if view.gate is not None and view.gate.review is not None:
        yield "reviewed", _relied_on(view.gate.review)
    if view.gate is not None and view.gate.deciders is not None:
        yield "decides", in_words(view.gate.deciders)
    if view.left_out:
        yield "without", uncommitted(view.left_out)
    if view.branch is not None:
        head = f" at {view.head_commit[:10]}" if view.head_commit else ""
        yield "branch", f"{view.branch}{head}"
    yield from decided_commits.looks(view)
    for note in decided_commits.notes(call, view):
        yield "note", note
    if view.processes_left:
        left = ", ".join(f"{count} of {name}" for name, count in view.processes_left.items())
        yield "processes", f"not ended: {left}"
