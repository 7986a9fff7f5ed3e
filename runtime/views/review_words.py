"""The words of the trace for parallel reviews: freezing, reviewers, what was verified, the join.

What a reviewer claims stands in its report; what is told here was seen by the host or decided
by the engine.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pointsman.graph import events as ev
from pointsman.graph import ids
from pointsman.graph import review_events as rev
from pointsman.graph.changes import in_words
from pointsman.graph.explain import duration
from pointsman.graph.problem import first_of

_NAMED_MAX: Final = 3
_COMMIT_CHARS: Final = 8
_CHANGED: Final = re.compile(r"(\d+ files?)(?: changed)?[^\n]*\s*$")
_MOMENTS: Final = {rev.Moment.LAUNCH: "before its launch", rev.Moment.SETTLEMENT: "after its work"}


def commit_in_short(commit: str) -> str:
    """Return as much of a commit as tells it from others."""
    return commit[:_COMMIT_CHARS]


def named(paths: Sequence[str]) -> str:
    """Name a few paths, and how many more there are."""
    return first_of(paths, _NAMED_MAX)


def files_changed(diff_stat: str) -> str:
    """Return how many files a change touches, in git's words: ``2 files``."""
    found = _CHANGED.search(diff_stat)
    return found[1] if found is not None else ""


def frozen_at(frozen: str, base: str, diff_stat: str) -> str:
    """Say what was frozen: ``1a2b3c4d (9f8e7d6c..1a2b3c4d, 2 files)``."""
    short, files = commit_in_short(frozen), files_changed(diff_stat)
    said = f", {files}" if files else ""
    return f"{short} ({commit_in_short(base)}..{short}{said})"


def text_of_review(event: ev.Event) -> str | None:
    """Return the line that tells what happened to a review; ``None`` for all other events."""
    match event:
        case rev.ChangeFrozen():
            return _frozen(event)
        case rev.ChangeRefused(node=node, reason=reason, message=message):
            return f"{node} could not freeze the change: {message} ({reason})"
        case rev.ReviewForked():
            return _forked(event)
        case rev.HeadCompared():
            return _compared(event)
        case rev.JoinCommitted(node=node, outcome=outcome, detail=detail, branches=branches):
            each = "; ".join(_joined(branch) for branch in branches)
            return f"{node} joins as {outcome.replace('_', ' ')}: {detail} [{each}]"
        case rev.ReviewAgainRequested(node=node, group=group, requested_by=who):
            return f"{who} has the change reviewed again, from {node}: back to {group}"
        case _:
            return _of_branch(event)


def worktree_of(workspace_key: str) -> str:
    """Name a worktree by whose it is: the run's own, or a reviewer's."""
    derived = workspace_key.removeprefix("wf:")
    return "worktree" if derived.endswith(":primary") else f"worktree of {_reviewer(derived)}"


def _of_branch(event: ev.Event) -> str | None:
    match event:
        case rev.CheckoutVerified():
            return _verified(event)
        case rev.BranchDeadlinePassed(branch_id=branch):
            return f"{_reviewer(branch)} is past its deadline; what runs of it is being ended"
        case rev.BranchInterrupted(branch_id=branch, detail=detail):
            return f"{_reviewer(branch)} was interrupted: {detail}"
        case rev.BranchEnded(branch_id=branch, outcome=outcome, reason=reason, detail=detail):
            why = f" ({reason})" if reason is not None else ""
            return f"{_reviewer(branch)} {outcome}{why}" + (f": {detail}" if detail else "")
        case _:
            return None


def _reviewer(branch_id: str) -> str:
    place = ids.place_of(branch_id)
    return f"reviewer {place.branch} of {place.visit.removeprefix(f'{place.run}.')}"


def _frozen(event: rev.ChangeFrozen) -> str:
    at = frozen_at(event.frozen_commit, event.base_commit, event.diff_stat)
    step = "; what was uncommitted was committed first" if event.committed else ""
    left = f"; without the uncommitted {named(event.left_out)}" if event.left_out else ""
    return f"{event.node} froze {in_words(event.change)} at {at}{step}{left}"


def _forked(event: rev.ReviewForked) -> str:
    return (
        f"{event.node} forks {len(event.branches)} reviewers of "
        f"{commit_in_short(event.frozen_commit)} (review {_short(event.review_set_id)}): "
        + "; ".join(_branches(event.branches))
    )


def _branches(branches: Sequence[rev.ForkedBranch]) -> Iterator[str]:
    for each in branches:
        at_most = duration(each.deadline_s)
        yield f"{each.branch} in worktree {each.workspace_key}, at most {at_most} from its launch"


def _short(derived: str) -> str:
    return derived.removeprefix(f"{ids.run_of(derived)}.")


def _verified(event: rev.CheckoutVerified) -> str:
    who, when = _reviewer(event.branch_id), _MOMENTS[event.moment]
    seen = event.checkout
    if seen.unreadable is not None:
        return f"the worktree of {who} could not be read {when}: {seen.unreadable}"
    if event.misfit is not None:
        return f"the worktree of {who} is not what was frozen, {when}: {event.misfit}"
    at = f" at {commit_in_short(seen.head_commit)}" if seen.head_commit is not None else ""
    more = f" ({seen.untracked} untracked files are no part of it)" if seen.untracked else ""
    return f"the worktree of {who} is what was frozen{at}, {when}{more}"


def _compared(event: rev.HeadCompared) -> str:
    expected = commit_in_short(event.frozen_commit)
    if event.head is None:
        return f"{event.node} expects the head at {expected}, and cannot see it: {event.why}"
    if event.head == event.frozen_commit:
        return f"{event.node} sees the head at {expected}, as it was reviewed"
    seen = commit_in_short(event.head)
    return f"{event.node} expects the head at {expected}, and sees it at {seen}: stale"


def _joined(branch: rev.JoinedBranch) -> str:
    why = f" ({branch.reason})" if branch.reason is not None else ""
    return f"{branch.branch} {branch.outcome}{why}"
