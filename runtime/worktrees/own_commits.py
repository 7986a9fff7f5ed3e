"""The commit that Pointsman makes itself, where a workflow says ``uncommitted: commit``."""

from typing import Final

from pointsman.actors.crash_points import CrashPoint, here
from pointsman.runtime.worktrees.git import (
    CHECKOUT_TIMEOUT_S,
    GitError,
    git,
    git_or_none,
    paths_in,
    readable,
)
from pointsman.runtime.worktrees.linked_worktrees import Standing

_TRAILER: Final = "Pointsman-Review-Set"
_IDENTITY: Final = ("-c", "user.name=Pointsman", "-c", "user.email=pointsman@pointsman.invalid")
_LINK: Final = " 160000 "
_SUBJECT: Final = "Commit what was left uncommitted, for review"
_BODY: Final = "Made by Pointsman, as the workflow says `uncommitted: commit`."


class CommitRefusedError(GitError):
    """Git, or a hook of the repository, did not let us commit."""


class NestedRepositoryError(GitError):
    """A repository lies in the worktree; a commit would hold its name only, not its files."""


def commit_all(tree: Standing, review_set_id: str, marker: str) -> None:
    """Commit everything that is not ignored, under the repository's own rules.

    When it is refused, what was to be committed stays in the index and in the files.
    """
    message = f"{_SUBJECT}\n\n{_BODY}\n\n{_TRAILER}: {review_set_id}"
    here(CrashPoint.BEFORE_OWN_COMMIT)
    git(tree.folder, "add", "--all", timeout_s=CHECKOUT_TIMEOUT_S, marker=marker)
    if git_or_none(tree.folder, "diff-index", "--cached", "--quiet", "HEAD", "--") is not None:
        return  # nothing that a commit could hold
    _demand_no_nested_repository(tree)
    try:
        git(
            tree.folder,
            *_identity(tree),
            *("commit", "--quiet", "--message", message),
            timeout_s=CHECKOUT_TIMEOUT_S,
            marker=marker,
        )
    except GitError as error:
        raise CommitRefusedError(
            f"the uncommitted changes could not be committed (a hook may have refused): {error}"
        ) from error
    here(CrashPoint.AFTER_OWN_COMMIT)


def _demand_no_nested_repository(tree: Standing) -> None:
    added = ("diff-index", "--cached", "-z", "--diff-filter=A", "--no-renames", "HEAD", "--")
    fields = paths_in(git(tree.folder, *added))
    nested = [path for shape, path in zip(fields[::2], fields[1::2], strict=True) if _LINK in shape]
    if nested and not (tree.folder / ".gitmodules").exists():
        git(tree.folder, "reset", "--quiet", "--", *nested)
        message = f"repositories of their own cannot be committed: {', '.join(nested[:3])}"
        raise NestedRepositoryError(readable(message))


def was_committed_for(tree: Standing, review_set_id: str) -> bool:
    """Tell whether the latest commit is the one made for a review set."""
    trailer = f"--format=%(trailers:key={_TRAILER},valueonly)"
    return tree.git("log", "--max-count=1", trailer, "HEAD").strip() == review_set_id


def _identity(tree: Standing) -> tuple[str, ...]:
    """Sign as Pointsman only where git knows nobody else."""
    return () if git_or_none(tree.folder, "var", "GIT_COMMITTER_IDENT") is not None else _IDENTITY
