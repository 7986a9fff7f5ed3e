"""Whether a folder still is the worktree that was made there.

Read from the links between a worktree and its repository, not asked of git: in a folder whose
``.git`` is gone, git goes up and answers for whatever repository lies around it.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from pointsman.runtime.worktrees.git import (
    READ_TIMEOUT_S,
    GitError,
    common_folder,
    git,
    uncommitted,
)

_LINK_BYTES_MAX: Final = 16 * 1024
_LINK: Final = b"gitdir: "


class NotOursError(GitError):
    """The folder is not, or no longer, the top of a worktree of its repository."""


class Standing(NamedTuple):
    """A folder that is a worktree of the right repository, and its git folder."""

    folder: Path
    own: Path

    @property
    def variables(self) -> dict[str, str]:
        """Have git see this very worktree, whatever lies around it or stands in its settings."""
        return {"GIT_DIR": os.fspath(self.own), "GIT_WORK_TREE": os.fspath(self.folder)}

    def git(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        timeout_s: float = READ_TIMEOUT_S,
        given: str | None = None,
    ) -> str:
        """Run git on this very worktree."""
        return git(
            self.folder,
            *arguments,
            timeout_s=timeout_s,
            environment=self.variables | dict(environment or {}),
            given=given,
        )

    def uncommitted(self) -> list[str]:
        """List the changed, staged and untracked-not-ignored paths, as git sees them."""
        return uncommitted(self.folder, self.variables)


def standing(folder: Path, repository: Path) -> Standing:
    """Return the worktree that stands in a folder; raise ``NotOursError`` when none does.

    Raises another ``GitError`` when the repository itself cannot be read.
    """
    common = common_folder(repository)
    link = folder / ".git"
    if link.is_symlink() or not link.is_file():
        raise NotOursError(f"{folder} is no longer a worktree of {repository}")
    told = _read(link)
    if not told.startswith(_LINK):
        raise NotOursError(f"{link} is not the link that git made")
    own = (folder / os.fsdecode(told.removeprefix(_LINK))).resolve()
    if own.parent != common / "worktrees":
        raise NotOursError(f"{folder} belongs to another repository than {repository}")
    back = own / os.fsdecode(_read(own / "gitdir"))
    if back.parent.resolve() != folder.resolve():
        raise NotOursError(f"{folder} has the link of the worktree in {back.parent}")
    if (own / os.fsdecode(_read(own / "commondir"))).resolve() != common:
        raise NotOursError(f"the git folder of {folder} leads to another repository")
    return Standing(folder, own)


def _read(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_LINK_BYTES_MAX).rstrip(b"\n")
    except OSError as error:
        raise NotOursError(f"{path} cannot be read: {error.strerror or error}") from error
