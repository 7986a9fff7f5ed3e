"""Comments of a request for changes, from the command line and from files.

Only their shape is judged here; their bounds are the core's, which names every mistake.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from pointsman.graph.results import GateComment
from pointsman.runtime.problems import PointsmanError
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
