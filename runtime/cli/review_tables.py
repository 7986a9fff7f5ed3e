"""Parallel reviews as text for people: what was frozen, and where each reviewer stands.

What a reviewer claims and what was verified of its worktree have columns of their own.
"""

from collections.abc import Iterator

from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.review_lines import values_in_words
from pointsman.runtime.cli.terminal import table
from pointsman.runtime.views.queries import RunView
from pointsman.runtime.views.review_views import BranchState, BranchView, ReviewView, VerifiedView
from pointsman.runtime.views.review_words import frozen_at


def show_reviews(call: Invocation, view: RunView) -> None:
    """Show the latest review of each join."""
    for review in view.reviews.values():
        call.terminal.show()
        for line in _heading(review):
            call.terminal.show(line)
        columns = {"reviewer": "bold", "state": "", "claims": "", "worktree": "", "deadline": "dim"}
        call.terminal.show(table(columns, [_row(branch) for branch in review.branches]))
        for line in _uncounted(review):
            call.terminal.show(line)
        for line in _threads(review):
            call.terminal.show(line, style="dim")


def _heading(review: ReviewView) -> Iterator[str]:
    number = f", generation {review.generation}" if review.generation > 1 else ""
    at = frozen_at(review.frozen_commit, review.base_commit, review.diff_stat)
    yield f"{review.group}{number}: {review.change}, frozen at {at}"
    if review.outcome is not None:
        yield f"{review.join}: {review.outcome.replace('_', ' ')}"
    if review.stale_head is not None:
        yield f"The change is at {review.stale_head}: the review is stale for good."


def _row(branch: BranchView) -> tuple[str, ...]:
    state: str = branch.state.value.replace("_", " ")
    if branch.attempts > 1:
        state += f" (try {branch.attempts})"
    if branch.ending is not None and branch.ending.reason is not None:
        state += f" ({branch.ending.reason})"
    open_ = branch.ending is None
    return branch.branch, state, _claim(branch), _seen(branch), branch.deadline_at if open_ else ""


def _claim(branch: BranchView) -> str:
    report = branch.attempt.report if branch.attempt is not None else None
    if report is None:
        return ""
    values = values_in_words(report.data)
    return ": ".join(filter(None, (report.outcome, values))) or report.outcome


def _seen(branch: BranchView) -> str:
    """Say what was last seen of the worktree."""
    seen: VerifiedView | None = branch.at_settlement or branch.at_launch
    if seen is None:
        return ""
    when = "after" if branch.at_settlement is not None else "before"
    detail = f": {seen.detail}" if seen.detail else ""
    return f"{seen.verdict.replace('_', ' ')} {when} its work{detail}"


def _uncounted(review: ReviewView) -> Iterator[str]:
    """Say of whom the claim stands there and does not count, as its work did not settle well."""
    for branch in review.branches:
        reported = branch.attempt is not None and branch.attempt.report is not None
        if reported and branch.state is BranchState.INTERRUPTED:
            yield (
                f"  {branch.branch}: its report does not count unless its session is resumed"
                " and settles well"
            )


def _threads(review: ReviewView) -> Iterator[str]:
    if not review.under_way:
        return
    for branch in review.branches:
        if branch.attempt is not None:
            place = f" in {branch.workspace_path}" if branch.workspace_path else ""
            yield f"  {branch.branch}: thread {branch.attempt.thread_id}{place}"
