"""Comparing a worktree with a commit by content, so that no edit in it stays hidden.

Git's own index can be told to overlook files, and remembers sizes and times that can be put
back. So the commit is read into an index of ours, which knows nothing of the files, and each of
them is compared anew. What the repository's attributes make of content (line ends, filters) is
taken as git takes it. Nothing is written in the worktree or its git folder.
"""

import os
import stat
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from pointsman.graph.evidence import PATHS_MAX, Checkout
from pointsman.runtime.worktrees.git import (
    CHECKOUT_TIMEOUT_S,
    GitError,
    GitMissingError,
    GitTimeoutError,
    paths_in,
    readable,
)
from pointsman.runtime.worktrees.linked_worktrees import NotOursError, Standing, standing

# A watcher, a cache or a hook of the repository could answer in place of the files; a replaced
# object could answer in place of the commit.
_SETTINGS: Final = {
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.splitIndex": "false",
    "core.ignoreStat": "false",
    "core.hooksPath": os.devnull,
}


def _plain(**settings: str) -> dict[str, str]:
    every = _SETTINGS | {name.replace("_", "."): value for name, value in settings.items()}
    variables = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_CONFIG_COUNT": str(len(every))}
    for number, (name, value) in enumerate(every.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def verify(folder: Path, repository: Path, commit: str, left_out: Collection[str]) -> Checkout:
    """Look at a worktree; whatever cannot be read is told, never raised.

    ``left_out`` are paths that a sparse checkout did not bring when the worktree was made.
    """
    try:
        tree = standing(folder, repository)
        return _look(tree, commit, left_out)
    except GitMissingError as error:
        return Checkout(unreadable=str(error))
    except NotOursError:
        return Checkout(top_level=False)
    except (GitError, OSError) as error:
        return Checkout(unreadable=str(error) or type(error).__name__)


def _look(tree: Standing, commit: str, left_out: Collection[str]) -> Checkout:
    head, branch = head_of(tree)
    changed, untracked = compare(tree, commit, left_out)
    changed += _attributes_not_committed(tree)
    staged = paths_in(
        tree.git(
            *("diff-index", "--cached", "-z", "--name-only", "--no-renames"),
            *("--ignore-submodules=none", commit, "--"),
            environment=_plain(),
            timeout_s=CHECKOUT_TIMEOUT_S,
        )
    )
    return Checkout(
        head_commit=head,
        branch=branch,
        top_level=True,
        changed=_shown(changed),
        staged=_shown(staged),
        untracked=untracked,
    )


def head_of(tree: Standing) -> tuple[str | None, str | None]:
    """Return the commit and the branch a worktree stands on; ``None`` where there is none."""
    return (
        _answer(tree, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"),
        _answer(tree, "symbolic-ref", "--quiet", "--short", "HEAD"),
    )


def _answer(tree: Standing, *question: str) -> str | None:
    try:
        return tree.git(*question).strip() or None
    except (GitMissingError, GitTimeoutError):
        raise
    except GitError:
        return None


def compare(tree: Standing, commit: str, left_out: Collection[str]) -> tuple[list[str], int]:
    """Return the paths whose content differs from a commit's, and the number of untracked ones."""
    with tempfile.TemporaryDirectory(prefix="pointsman-") as aside:
        # Without sparseness: the index of ours holds every file, and `left_out` tells which of
        # them need not be there. The worktree's own settings could be made to excuse any.
        ours = _plain(core_sparseCheckout="false") | {"GIT_INDEX_FILE": f"{aside}/index"}
        _ask(tree, ours, "read-tree", commit)
        _ask(tree, ours, "update-index", "-q", "--really-refresh")
        raw = ("diff-files", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=untracked")
        differing = _edits(paths_in(_ask(tree, ours, *raw)))
        untracked = _ask(tree, ours, "ls-files", "--others", "--exclude-standard", "-z")
    as_committed = _as_committed(tree, differing)
    changed = [
        path
        for path in differing
        if path not in as_committed and (path not in left_out or _is_there(tree, path))
    ]
    return changed, len(paths_in(untracked))


def _edits(fields: list[str]) -> dict[str, str | None]:
    """Read raw differences: path → the commit's blob, or ``None`` if more than content differs."""
    found: dict[str, str | None] = {}
    for shape, path in zip(fields[::2], fields[1::2], strict=True):
        mode_then, mode_now, blob, _, status = shape.removeprefix(":").split(" ")
        is_file = status == "M" and mode_then == mode_now and mode_now.startswith("100")
        found[path] = blob if is_file else None
    return found


def _as_committed(tree: Standing, differing: Mapping[str, str | None]) -> frozenset[str]:
    """Find the files that are byte for byte what was committed.

    Git calls a fresh checkout changed where a file was committed with line ends its attributes
    forbid.
    """
    # Git reads a line a path, and a leading quote as the beginning of a quoted one.
    paths = [
        path
        for path, blob in differing.items()
        if blob is not None
        and "\n" not in path
        and not path.startswith('"')
        and _is_regular(tree, path)
    ]
    if not paths:
        return frozenset()
    hashed = tree.git(
        *("hash-object", "--no-filters", "--stdin-paths"),
        given="".join(f"{path}\n" for path in paths),
        timeout_s=CHECKOUT_TIMEOUT_S,
    ).split()
    return frozenset(
        path for path, now in zip(paths, hashed, strict=True) if differing[path] == now
    )


def _ask(tree: Standing, environment: Mapping[str, str], *question: str) -> str:
    return tree.git(*question, environment=environment, timeout_s=CHECKOUT_TIMEOUT_S)


def _attributes_not_committed(tree: Standing) -> list[str]:
    """List attributes beside tracked files that are in no commit, ignored or not.

    They would excuse an edit: git compares a file as its attributes say that it is to be read.
    """
    # A folder without tracked files comes as one entry; what is in it excuses nothing.
    beside = ("ls-files", "--others", "--directory", "-z")
    every = paths_in(tree.git(*beside, environment=_plain(), timeout_s=CHECKOUT_TIMEOUT_S))
    return [path for path in every if path.rpartition("/")[2] == ".gitattributes"]


def _is_regular(tree: Standing, path: str) -> bool:
    # Git tells a pipe or a device like a file; reading one would wait for ever.
    try:
        return stat.S_ISREG(os.lstat(tree.folder / path).st_mode)
    except OSError:
        return False


def _is_there(tree: Standing, path: str) -> bool:
    return os.path.lexists(tree.folder / path)


def paths_left_out(tree: Standing) -> list[str]:
    """List what a sparse checkout has not brought, in a worktree nobody has worked in yet."""
    if _answer(tree, "config", "--type=bool", "--get", "core.sparseCheckout") != "true":
        return []
    entries = paths_in(tree.git("ls-files", "-t", "-z", timeout_s=CHECKOUT_TIMEOUT_S))
    return [entry[2:] for entry in entries if entry.startswith("S ")]


def _shown(paths: list[str]) -> tuple[str, ...]:
    return tuple(readable(path) for path in sorted(paths)[:PATHS_MAX])
