"""Whether a run can start from a folder: what repository it is, at which commit, how clean."""

from pathlib import Path

from pointsman.actors.host import RepositoryRefused, RepositoryState
from pointsman.runtime.worktrees.git import (
    PATHS_MAX,
    GitError,
    GitMissingError,
    git,
    head_branch,
    head_commit,
    uncommitted,
)


def inspect_repository(path: str) -> RepositoryState | RepositoryRefused:
    """Look at a folder: a repository's, a folder's within, or a linked worktree's."""
    folder = Path(path)
    if not folder.is_dir():
        return RepositoryRefused(
            code="repository_missing",
            message=f"There is no folder {path}.",
            mend="Name an existing folder of a git repository.",
        )
    try:
        return _inspect(folder)
    except GitMissingError:
        return RepositoryRefused(
            code="git_missing",
            message="The program git is not on the path.",
            mend="Install git 2.31 or newer and start Pointsman again.",
        )
    except GitError as error:
        return _refused(folder, str(error))


def _inspect(folder: Path) -> RepositoryState | RepositoryRefused:
    if git(folder, "rev-parse", "--is-bare-repository").strip() == "true":
        return RepositoryRefused(
            code="repository_bare",
            message=f"{folder} is a bare repository: it has no files to work on.",
            mend="Clone it and name the clone.",
        )
    top = Path(git(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
    commit = head_commit(top)
    if commit is None:
        return RepositoryRefused(
            code="repository_empty",
            message=f"{top} has no commit yet, so there is nothing to start from.",
            mend=f"Make a first commit: git -C {top} commit --allow-empty -m 'First commit' "
            "(git asks for your name and mail first, if it does not know them)",
        )
    return RepositoryState(
        path=str(top),
        head_commit=commit,
        branch=head_branch(top),
        uncommitted_paths=tuple(uncommitted(top)[:PATHS_MAX]),
    )


def _refused(folder: Path, complaint: str) -> RepositoryRefused:
    if "dubious ownership" in complaint or "safe.directory" in complaint:
        return RepositoryRefused(
            code="repository_unsafe",
            message=f"{folder} belongs to another user, and git does not trust it.",
            mend=f"If you trust it: git config --global --add safe.directory {folder}",
        )
    if "not a git repository" in complaint:
        return RepositoryRefused(
            code="repository_not_git",
            message=f"{folder} is not within a git repository.",
            mend=f"Make it one (git -C {folder} init) and commit, or name another folder.",
        )
    return RepositoryRefused(
        code="repository_refused",
        message=f"git cannot work in {folder}: {complaint.rstrip('.')}.",
        mend="Mend what git complains of, then try again.",
    )
