"""Which commit people decide about or have approved, how to look at it, and what git says now.

A branch may move on after it was reviewed or approved, so commands name the commit. What git
says is a remark on the side: where it cannot be asked, nothing is said, and nothing fails.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pointsman.graph.changes import WorkspaceHead, in_words
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.names import short
from pointsman.runtime.views.queries import RunView
from pointsman.runtime.views.review_views import ReviewView
from pointsman.runtime.worktrees.git import GitError, git

_COMMIT_CHARS: Final = 10
_PATIENCE_S: Final = 5.0


def approved(view: RunView) -> str | None:
    """Return the commit that was approved last."""
    commits = [
        each["commit"]
        for each in view.results.values()
        if each.get("kind") == "gate" and each.get("decision") == "approve" and each.get("commit")
    ]
    return commits[-1] if commits else None


def settled(view: RunView) -> str | None:
    """Return the commit that a gate is about now, or that a completed run is about."""
    if view.gate is not None:
        return view.gate.head_commit
    if view.state == "completed":
        return approved(view) or view.head_commit
    return None


def is_own(view: RunView, commit: str) -> bool:
    """Whether a commit is of the run's own branch, not of a change that existed already."""
    review = _review_of(view, commit)
    return view.branch is not None and (review is None or _is_of_branch(review, view.branch))


def looks(view: RunView) -> Iterator[tuple[str, str]]:
    """Say with which commands the work is looked at and taken."""
    commit = settled(view)
    git_here = f"git -C {view.repository}"
    if (review := _looked_at(view, commit)) is not None:
        begins, frozen = _short(review.base_commit), _short(review.frozen_commit)
        yield "look", f"{git_here} diff {begins}..{frozen}"
    elif view.branch is not None:
        at = _short(commit) if commit is not None else view.branch
        yield "look", f"{git_here} diff {_short(view.base_commit)}...{at}"
    if view.state == "completed" and view.branch is not None:
        if commit is None:
            yield "take it", f"{git_here} merge {view.branch}"
        elif is_own(view, commit):
            yield "take it", f"{git_here} merge {_short(commit)}"


def notes(call: Invocation, view: RunView) -> Iterator[str]:
    """Say how the run's branch and worktree differ now from what is decided about."""
    commit = settled(view)
    if commit is None or view.branch is None or not is_own(view, commit):
        return
    head = _asked(view.repository, "rev-parse", "--verify", f"refs/heads/{view.branch}")
    if head is not None and head.strip() != commit:
        yield from _moved(call, view, _short(head.strip()), _short(commit))
    if view.gate is None or view.workspace_path is None:
        return
    told = _asked(view.workspace_path, "status", "--porcelain", "--untracked-files=all")
    if told:
        count = len(told.splitlines())
        files = "1 file" if count == 1 else f"{count} files"
        verb = "it is" if count == 1 else "they are"
        yield f"the worktree has uncommitted changes ({files}): {verb} not part of what you approve"


def _moved(call: Invocation, view: RunView, head: str, commit: str) -> Iterator[str]:
    at = f"the branch is at {head} now"
    if view.gate is None:
        was = "was approved" if approved(view) is not None else "is what the run ended with"
        yield f"{at}, {commit} {was}: the commands name {commit}"
    elif view.gate.review is None:
        yield f"{at}, and you decide about {commit}"
    elif not view.gate.review.stale:
        again = call.next_command("review-again", short(view.run_id))
        yield f"{at}, {commit} was reviewed: an approval will be refused; after that  {again}"


def _review_of(view: RunView, commit: str) -> ReviewView | None:
    """Return the review of a commit: at a gate the one it relies on, else any of that commit."""
    relied_on = view.gate.review if view.gate is not None else None
    for review in view.reviews.values():
        if relied_on is not None and review.review_set_id == relied_on.review_set_id:
            return review
    found = [each for each in view.reviews.values() if each.frozen_commit == commit]
    return found[-1] if found else None


def _looked_at(view: RunView, commit: str | None) -> ReviewView | None:
    """Return the review whose change is the work; a change that existed has no branch of ours."""
    if commit is not None:
        return _review_of(view, commit)
    return list(view.reviews.values())[-1] if view.branch is None and view.reviews else None


def _is_of_branch(review: ReviewView, branch: str) -> bool:
    return review.change == in_words(WorkspaceHead(workspace_key="", branch=branch))


def _asked(folder: str, *question: str) -> str | None:
    """Ask git; ``None`` where it has no answer, such as on another machine."""
    if not Path(folder).is_dir():
        return None
    try:
        return git(Path(folder), *question, timeout_s=_PATIENCE_S)
    except GitError:
        return None


def _short(commit: str) -> str:
    return commit[:_COMMIT_CHARS]
