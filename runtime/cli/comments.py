"""Comments of a request for changes, from the command line and from files.

Their shape is judged here and, where git can tell, their places; their bounds are the core's.
"""

import posixpath
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from pointsman.graph.results import GateComment
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.queries import RunView
from pointsman.runtime.views.review_words import commit_in_short
from pointsman.runtime.worktrees.git import GitError, git
from pointsman.storage.yaml_text import read_yaml

FILE_BYTES_MAX: Final = 1024 * 1024
_WRITTEN: Final = re.compile(r"(?P<path>[^:]+):(?:(?P<line>[0-9]{1,9}):)?(?P<text>.+)", re.DOTALL)
_COMMENTS: Final = TypeAdapter(list[GateComment])


def given_comments(written: Sequence[str], file: Path | None) -> list[GateComment]:
    """Return the comments of ``--comment`` and then of ``--comments``."""
    return [*map(_comment, written), *(_of_file(file) if file is not None else ())]


def _comment(written: str) -> GateComment:
    """Read ``path:line:text`` or ``path:text``; a path with a colon needs a file of comments."""
    found = _WRITTEN.fullmatch(written)
    if found is None:
        raise PointsmanError(
            "usage_invalid", f"{written[:80]!r} is no comment; write path:line:text or path:text"
        )
    line = int(found["line"]) if found["line"] is not None else None
    return GateComment(path=found["path"].strip(), line=line, text=found["text"].strip())


def _of_file(file: Path) -> list[GateComment]:
    """Read a YAML or JSON file: a list of ``{path, line, text}``."""
    try:
        with file.open("rb") as opened:
            text = opened.read(FILE_BYTES_MAX + 1).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PointsmanError("usage_invalid", f"{file} cannot be read: {error}") from error
    if len(text) > FILE_BYTES_MAX:
        raise PointsmanError("usage_invalid", f"{file} has more than {FILE_BYTES_MAX} bytes")
    read = read_yaml(text)
    if read.problems:
        problem, at = read.problems[0]
        place = f"{file}:{at.line}:{at.column}"
        raise PointsmanError("usage_invalid", f"{place}: {problem.message}; {problem.mend}")
    try:
        return _COMMENTS.validate_python(read.value)
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(map(str, wrong["loc"])) or "the file"
        message = f"{file}: {where}: {wrong['msg']}; write a list of {{path, line, text}}"
        raise PointsmanError("usage_invalid", message) from error


def refuse_misplaced(view: RunView, comments: Sequence[GateComment]) -> None:
    """Refuse comments on files or lines that the change does not have; raises ``usage_invalid``.

    A file that the change deleted may be remarked upon. Where git cannot tell, nothing is refused.
    """
    commit = view.gate.head_commit if view.gate is not None else None
    if commit is None:
        return
    reviews = [each for each in view.reviews.values() if each.frozen_commit == commit]
    base = reviews[-1].base_commit if reviews else view.base_commit
    try:
        wrong = [_misplaced(Path(view.repository), (commit, base), each) for each in comments]
    except GitError:
        return
    if told := [each for each in wrong if each is not None]:
        raise PointsmanError("usage_invalid", f"{'; '.join(told)}. Nothing was decided.")


def _misplaced(repository: Path, commits: Sequence[str], comment: GateComment) -> str | None:
    path = posixpath.normpath(comment.path)
    for commit in commits:
        entry = git(repository, "ls-tree", "--full-tree", "-z", commit, "--", path)
        if not entry:
            continue
        kind, name = entry.partition("\t")[0].split()[1:3]
        if comment.line is None or kind != "blob":
            return None
        text = git(repository, "cat-file", "blob", name)
        count = text.count("\n") + (not text.endswith("\n") and text != "")
        if comment.line <= count:
            return None
        lines = "1 line" if count == 1 else f"{count} lines"
        return f"{path} has {lines} at {commit_in_short(commit)}, and no line {comment.line}"
    return f"there is no file {path} at {commit_in_short(commits[0])}"
