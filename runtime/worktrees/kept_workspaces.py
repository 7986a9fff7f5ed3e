"""What would be lost if a worktree were removed. While anything would, it is kept."""

from collections.abc import Collection
from typing import Final

from pointsman.graph.problem import first_of
from pointsman.runtime.worktrees.checkouts import compare, head_of
from pointsman.runtime.worktrees.git import readable
from pointsman.runtime.worktrees.linked_worktrees import Standing

_NAMED_MAX: Final = 3
_STEPS_BACK_MAX: Final = 1_000
_UNFINISHED: Final = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}


def unfinished(tree: Standing) -> str | None:
    """Name what git is in the middle of, if anything."""
    return next((what for name, what in _UNFINISHED.items() if (tree.own / name).exists()), None)


def changes_in(tree: Standing, left_out: Collection[str]) -> list[str]:
    """List uncommitted paths, the ones that git was told to overlook included."""
    told = tree.uncommitted()
    head, _ = head_of(tree)
    if head is None:
        return told
    hidden = [readable(path) for path in compare(tree, head, left_out)[0]]
    return told + [path for path in hidden if path not in set(told)]


def reason_to_keep(
    tree: Standing, branch: str | None, base_commit: str, left_out: Collection[str]
) -> str | None:
    """Say what would be lost with a worktree; ``None`` when nothing would be.

    Untracked files count, ignored ones do not. In a worktree without a branch each commit that
    was ever made must be on some branch or tag, or be older than what it began at.
    """
    if changed := changes_in(tree, left_out):
        return f"uncommitted changes: {first_of(changed, _NAMED_MAX)}"
    if (what := unfinished(tree)) is not None:
        return f"git is in the middle of {what}"
    if (tree.own / "locked").exists():
        return "it was locked with git worktree lock"
    if (tree.own / "modules").exists():
        return "it holds submodules, and git does not remove such a worktree by itself"
    if branch is not None:
        reached = tree.git("for-each-ref", "--count=1", "--contains", "HEAD", "refs/heads").strip()
    else:
        reached = "" if _is_on_no_branch(tree, base_commit) else "reached"
    return None if reached else "commits that no branch has"


def _is_on_no_branch(tree: Standing, base_commit: str) -> bool:
    # Also what was committed and then left by checking out something else: its only trace is
    # this worktree's own history of its head, which would go with it.
    steps = ("log", "--walk-reflogs", f"--max-count={_STEPS_BACK_MAX}", "--format=%H", "HEAD")
    made = sorted(set(tree.git(*steps).split()))
    known = ("--not", base_commit, "--branches", "--tags", "--remotes")
    return bool(tree.git("rev-list", "--max-count=1", "HEAD", *made, *known).strip())
