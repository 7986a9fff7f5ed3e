"""The files of the repository as the tidy tests see them: what git tracks or would track."""

import ast
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_TRIES: Final = 5
LAYERS: Final = ("graph", "storage", "actors", "runtime")


@cache
def repository_files() -> tuple[Path, ...]:
    """Every file that is tracked or new and not ignored, relative to the root, in order.

    New files count, so that a finding comes before the commit and not after it.
    """
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = (Path(name) for name in listing.stdout.split("\0") if name)
    return tuple(sorted(path for path in paths if (ROOT / path).is_file()))


def python_files(*folders: str) -> tuple[Path, ...]:
    """The Python files below the given top-level folders, or all of them."""
    return tuple(
        path
        for path in repository_files()
        if path.suffix == ".py" and (not folders or path.parts[0] in folders)
    )


@cache
def source(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    # Python 3.11 counts the depth of a parse for all threads together: another thread that parses
    # at the same time makes it stumble, and again it does not.
    for _ in range(_TRIES):
        with suppress(SystemError):
            return ast.parse(source(path), filename=str(path))
    return ast.parse(source(path), filename=str(path))
