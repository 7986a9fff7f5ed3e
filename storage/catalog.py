"""The workflows a project can run: its own files, and the packaged examples.

Own files are ``.pointsman/workflows/*.yaml``. Broken ones stay visible with their problems.
Reading never writes, reads regular files only, and follows no link that leads out of the folder.
"""

import stat
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from pointsman.graph import limits
from pointsman.graph.definition import Workflow
from pointsman.graph.model import Model
from pointsman.graph.problem import Problem
from pointsman.storage import workflow_files
from pointsman.storage.definition_text import (
    Loaded,
    PlacedProblem,
    place,
    read_definition,
    unplaced,
)

FOLDER: Final = workflow_files.FOLDER
EXAMPLES: Final = "pointsman.examples"
FILES_MAX: Final = 1_000
SUFFIX: Final = ".yaml"
TESTS_SUFFIX: Final = ".test.yaml"


class CatalogEntry(Model):
    """One file of the catalogue. ``id`` is the file's stem when the file is broken.

    ``file`` is relative to the project, or to the folder of packaged workflows, and ``revision``
    is that of its content (``workflow_files``).
    """

    id: str
    origin: Literal["project", "example"]
    file: str
    revision: str | None = None
    workflow: Workflow | None
    problems: tuple[PlacedProblem, ...] = ()

    @property
    def runnable(self) -> bool:
        """Whether the file itself keeps nobody from starting a run."""
        return self.workflow is not None and not self.problems


def find(project: Path) -> tuple[CatalogEntry, ...]:
    """Return the project's entries, then the examples whose id the project does not use."""
    own = _without_duplicates(project)
    taken = {entry.id for entry in own}
    return (*own, *(entry for entry in examples() if entry.id not in taken))


def entry_of(project: Path, workflow_id: str) -> CatalogEntry | None:
    """Return the entry that a start by id means; the project's own come first."""
    return next((entry for entry in find(project) if entry.id == workflow_id), None)


def content_of(project: Path, entry: CatalogEntry) -> bytes | str:
    """Return the content of an entry's file now, or in words why there is none."""
    if entry.origin == "example":
        return files(EXAMPLES).joinpath("workflows", entry.file).read_bytes()
    return _own_content(project / entry.file) if _is_within(project / FOLDER, project) else ""


def duplicate(earlier: str, workflow_id: str) -> Problem:
    """Return the problem of a file whose id an earlier file of the project has."""
    return Problem(
        code="duplicate_id",
        where=("id",),
        message=f"{earlier} has the id '{workflow_id}' too",
        mend="give each workflow of a project an id of its own",
    )


def load_file(path: Path, shown_as: str | None = None) -> Loaded:
    """Read one file; a file that cannot be read is a problem like any other."""
    return _loaded(_content(path), _printable(shown_as or str(path)))


_LEADS_OUT: Final = "it is a link that leads out of the folder"


def _own_content(path: Path) -> bytes | str:
    return _content(path) if _is_within(path, path.parent) else _LEADS_OUT


def _is_within(path: Path, folder: Path) -> bool:
    """Whether a path, all links followed, lies in a folder, its own links followed too."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a loop of links
        return False


def _content(path: Path) -> bytes | str:
    """Return a file's bytes, or in words why there are none."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return "it is no regular file"
        with path.open("rb") as file:
            return file.read(limits.DEFINITION_FILE_BYTES_MAX + 1)
    except OSError as error:
        return error.strerror or type(error).__name__


def _loaded(content: bytes | str, name: str) -> Loaded:
    if isinstance(content, bytes):
        return read_definition(content, name)
    problem = Problem(
        code="unreadable_file",
        where=(),
        message=f"the file cannot be read: {content}",
        mend="see that it exists and that you may read it",
    )
    return Loaded(workflow=None, problems=(unplaced(problem, name),))


def _printable(name: str) -> str:
    """Return a file name as text, also when its bytes are no UTF-8."""
    return name.encode("utf-8", "replace").decode()


def examples() -> tuple[CatalogEntry, ...]:
    """Return the packaged workflows, by file name."""
    folder = files(EXAMPLES).joinpath("workflows")
    found: list[Traversable] = []
    if folder.is_dir():
        found = sorted(
            (item for item in folder.iterdir() if is_definition(item.name)),
            key=lambda item: item.name,
        )
    return tuple(_entry("example", item.name, item.read_bytes()) for item in found)


def _entry(origin: Literal["project", "example"], file: str, content: bytes | str) -> CatalogEntry:
    stem = PurePosixPath(file).stem
    loaded = _loaded(content, file)
    return CatalogEntry(
        id=loaded.workflow.id if loaded.workflow is not None else stem,
        origin=origin,
        file=file,
        revision=workflow_files.revision_of(content) if isinstance(content, bytes) else None,
        workflow=loaded.workflow,
        problems=loaded.problems,
    )


def is_definition(name: str) -> bool:
    """Whether a file of a workflow folder is a workflow by its name; its tests stand beside it."""
    return name.endswith(SUFFIX) and not name.endswith(TESTS_SUFFIX)


def definition_files(folder: Path) -> list[Path]:
    """Return the workflow files of a folder in order; none if it cannot be listed."""
    try:
        return sorted(path for path in folder.glob(f"*{SUFFIX}") if is_definition(path.name))
    except OSError:
        return []


def _without_duplicates(project: Path) -> tuple[CatalogEntry, ...]:
    """Read the project's files; of two with one id the later is broken for it."""
    entries: list[CatalogEntry] = []
    first: dict[str, str] = {}
    if not _is_within(project / FOLDER, project):
        return (_entry("project", str(FOLDER), _LEADS_OUT),)
    for path in definition_files(project / FOLDER)[:FILES_MAX]:
        shown_as = _printable(str(FOLDER / path.name))
        content = _own_content(path)
        entry = _entry("project", shown_as, content)
        earlier = first.setdefault(entry.id, shown_as) if entry.workflow else shown_as
        if earlier != shown_as and isinstance(content, bytes):
            placed = place(duplicate(earlier, entry.id), content, shown_as)
            entry = entry.model_copy(
                update={"id": path.stem, "workflow": None, "problems": (placed,)}
            )
        entries.append(entry)
    return tuple(entries)
