"""Running git: the real program, told to speak C, to ask nobody and to obey no stray variables.

Hooks are the repository's own business and stay on.
"""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Final

from pointsman.runtime.processes.environment import inherited
from pointsman.runtime.processes.process_table import MARKER

READ_TIMEOUT_S: Final = 60.0
CHECKOUT_TIMEOUT_S: Final = 900.0
PATHS_MAX: Final = 100
_ROOM_BYTES_MIN: Final = 64 * 1024
# A crash of git, or of a hook, is its own doing and comes again; these are others'.
_FROM_OUTSIDE: Final = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_CHILD_KILLED: Final = re.compile(
    rf"died of signal ({'|'.join(str(int(each)) for each in sorted(_FROM_OUTSIDE))})\b"
)


class GitError(Exception):
    """Git could not be run, or answered with an error; the message is git's own."""


class GitMissingError(GitError):
    """There is no git on the path."""


class GitTimeoutError(GitError):
    """Git took too long, which says nothing of the repository."""


class GitKilledError(Exception):
    """Somebody killed git, or what it had begun: what it was asked is to be asked again.

    No ``GitError``, as it is no answer. With the machine going down, or short of memory, git may be
    ended a moment before us, and what we took for its answer would stand for good.
    """


def git(
    folder: Path,
    *arguments: str,
    timeout_s: float = READ_TIMEOUT_S,
    marker: str | None = None,
    environment: Mapping[str, str] | None = None,
    given: str | None = None,
) -> str:
    """Run git in a folder and return its output; raise ``GitError`` with its complaint.

    Raises ``GitKilledError`` when it did not come to an answer.

    With a ``marker`` git and its hooks can be found by ``processes.marked`` if we die meanwhile.
    ``environment`` adds to the variables that git is given; ``given`` is what it reads.
    """
    # A `GIT_DIR` of the caller (a hook, say) would name another repository than `folder`; the
    # short list of inherited variables has none. Optional locks would disturb an agent that
    # runs git at the same time.
    variables = inherited() | {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    variables |= environment or {}
    if marker is not None:
        variables[MARKER] = marker
    # No pipes: what a hook leaves running would hold them open, and we would wait for it.
    with _in_memory() as output, _in_memory() as complaint:
        try:
            running = subprocess.Popen(
                ["git", "-C", os.fspath(folder), *arguments],
                env=variables,
                stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
                stdout=output,
                stderr=complaint,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise GitMissingError("git is not on the path") from error
        except OSError as error:
            raise GitError(f"git {arguments[0]}: {error}") from error
        _wait(running, arguments[0], timeout_s, given)
        if running.returncode != 0:
            why = _content(complaint).decode("utf-8", "replace").strip()
            if -running.returncode in _FROM_OUTSIDE or _CHILD_KILLED.search(why):
                raise GitKilledError(f"git {arguments[0]} was killed")
            raise GitError(why or f"git {arguments[0]} ended with {running.returncode}")
        return _content(output).decode("utf-8", "surrogateescape")


def _in_memory() -> BinaryIO:
    return os.fdopen(os.memfd_create("git"), "w+b")


def _content(file: BinaryIO) -> bytes:
    # Git and its children share the file's position with us.
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


def _wait(running: subprocess.Popen[bytes], what: str, timeout_s: float, given: str | None) -> None:
    """Wait until git has ended; whatever keeps us from it ends git, its hooks and its filters."""
    with running:
        try:
            told = None if given is None else given.encode("utf-8", "surrogateescape")
            running.communicate(told, timeout=timeout_s)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise GitTimeoutError(f"git {what} took longer than {timeout_s:g} s") from error
            raise


def git_or_none(folder: Path, *arguments: str) -> str | None:
    """Run a question of git whose failure is an answer too."""
    try:
        return git(folder, *arguments)
    except (GitMissingError, GitTimeoutError):
        raise
    except GitError:
        return None


def common_folder(folder: Path) -> Path:
    """Return the git folder that all worktrees of a repository share."""
    told = git(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
    return Path(told.rstrip("\n")).resolve()


def head_commit(folder: Path) -> str | None:
    """Return the checked-out commit; ``None`` when there is none."""
    told = git_or_none(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return told.strip() if told else None


def head_branch(folder: Path) -> str | None:
    """Return the checked-out branch; ``None`` when the head is detached."""
    told = git_or_none(folder, "symbolic-ref", "--quiet", "--short", "HEAD")
    return told.strip() if told else None


def has_commit(folder: Path, commit: str) -> bool:
    """Tell whether a repository has a commit."""
    return git_or_none(folder, "cat-file", "-e", f"{commit}^{{commit}}") is not None


def failure_reason(complaint: str, *folders: Path) -> str:
    """Return the host contract's code for git's complaint about something that must work.

    Git does not always say that it was for want of room, so the folders' disks are looked at.
    """
    is_full = "No space left on device" in complaint or any(map(_is_full, folders))
    return "disk_full" if is_full else "git_failed"


def _is_full(folder: Path) -> bool:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _ROOM_BYTES_MIN


def readable(path: str) -> str:
    """Return a path that can be shown and stored, whatever bytes its name has."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def paths_in(told: str) -> list[str]:
    """Split what git tells with ``-z``."""
    return [path for path in told.split("\0") if path]


def uncommitted(folder: Path, environment: Mapping[str, str] | None = None) -> list[str]:
    """List the changed, staged and untracked-not-ignored paths."""
    told = git(
        folder,
        # A watcher would be started and stay behind, and a cache may be stale.
        *("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"),
        *("status", "--porcelain=v1", "-z", "--untracked-files=normal"),
        environment=environment,
    )
    entries = iter(told.split("\0"))
    paths: list[str] = []
    for entry in entries:
        if not entry:
            continue
        paths.append(readable(entry[3:]))
        if entry[0] in "RC" or entry[1] in "RC":
            next(entries, None)  # the name before the renaming stands in a field of its own
    return paths
