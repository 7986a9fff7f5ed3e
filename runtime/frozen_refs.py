"""The refs that keep frozen commits alive, whatever becomes of the branch or the remote."""

from pathlib import Path

from pointsman.runtime.git import GitError, git, git_or_none
from pointsman.runtime.hosts.durable import file_name


def frozen_ref(review_set_id: str) -> str:
    """Name the ref of a review set: another for each, and always one that git accepts."""
    # An encoded name holds no other `_2e`; a dot at an end, or two in a row, git refuses.
    return f"refs/pointsman/frozen/{file_name(review_set_id).replace('.', '_2e')}"


def keep_frozen(repository: Path, review_set_id: str, commit: str) -> None:
    """Keep a commit alive for a review set."""
    git(repository, "update-ref", frozen_ref(review_set_id), commit)


def kept_frozen(repository: Path, review_set_id: str) -> str | None:
    """Return the commit that is kept for a review set; ``None`` when none is."""
    ref = f"{frozen_ref(review_set_id)}^{{commit}}"
    told = git_or_none(repository, "rev-parse", "--verify", "--quiet", ref)
    return told.strip() if told else None


def forget_frozen(repository: Path, review_set_id: str) -> None:
    """Let go of a review set's commit; what any branch or remote has of it stays."""
    try:
        git(repository, "update-ref", "-d", frozen_ref(review_set_id))
    except GitError:
        # A ref too many costs nothing but a line in `git for-each-ref`; a failed release would
        # cost more.
        return
