"""What a host sees of a git checkout, and of the head of a change under review: facts only."""

from typing import Final

from pydantic import Field

from pointsman.graph.model import Model
from pointsman.graph.problem import first_of

PATHS_MAX: Final = 100
_NAMED_MAX: Final = 5


class Checkout(Model):
    """A reviewer's worktree as it stands now (``wf-host/1`` §2.3, ``workspace.verify``).

    ``changed`` are tracked files whose content differs from the commit, ``staged`` those whose
    index entry does; both are cut to ``PATHS_MAX``. Untracked and ignored files are only counted.
    ``top_level`` tells whether the folder is the top of a worktree of the right repository.
    With ``unreadable`` nothing else is known.
    """

    head_commit: str | None = None
    branch: str | None = None
    top_level: bool = False
    changed: tuple[str, ...] = Field(default=(), max_length=PATHS_MAX)
    staged: tuple[str, ...] = Field(default=(), max_length=PATHS_MAX)
    untracked: int = 0
    unreadable: str | None = None


class HeadReading(Model):
    """The head of the change under review as it is now; ``None`` if it cannot be known.

    ``returned`` tells that it was another one since the change was frozen, and is back: known
    only where a log of its moves is kept (the repository's own branches).
    """

    head_commit: str | None
    returned: bool = False
    unavailable: str | None = None

    def has_left(self, commit: str) -> bool:
        """Tell whether the head is, or in between was, another commit; unknown tells nothing."""
        return self.head_commit is not None and (self.returned or self.head_commit != commit)


def misfit(checkout: Checkout, commit: str) -> str | None:
    """Say how a checkout differs from the frozen commit; ``None`` if it does not.

    Build output is tolerated: what is ignored or untracked was never part of the review input.
    """
    if not checkout.top_level:
        return "the folder is no longer the top of the reviewer's own worktree"
    if checkout.head_commit != commit:
        return f"the worktree is at {checkout.head_commit or 'no commit'}, not at {commit}"
    if checkout.staged:
        return f"the index was changed: {first_of(checkout.staged, _NAMED_MAX)}"
    if checkout.changed:
        return f"tracked files were changed: {first_of(checkout.changed, _NAMED_MAX)}"
    return None
