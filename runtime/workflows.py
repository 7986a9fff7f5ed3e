"""What the catalogue of a project shows: every workflow file, and whether it can be run here.

Read from the files alone, without changing them; what the host lacks is told by its providers.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final, Literal

from pointsman.actors.host import ProviderCapability
from pointsman.graph.declarations import FieldDeclaration
from pointsman.graph.events import SkillSnapshot
from pointsman.graph.model import Model
from pointsman.graph.problem import Problem, meant
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.requirements import found_skills, lacking_providers
from pointsman.runtime.skills import find_skill
from pointsman.storage import catalog, workflow_files
from pointsman.storage.catalog import CatalogEntry
from pointsman.storage.placed_text import PlacedProblem, PlacedText

SHOWN_PROBLEMS_MAX: Final = 10


class WorkflowRow(Model):
    """One workflow file. ``id`` is the file's stem when the file is broken.

    ``revision`` is that of the file (the digest of its bytes), which a save must name;
    ``definition_revision`` is the author's own number. ``problems`` are the first of
    ``problem_count``; ``not_runnable`` is what keeps a valid workflow from being started here.
    """

    id: str
    origin: Literal["project", "example"]
    file: str
    revision: str | None
    name: str | None
    definition_revision: int | None
    inputs: dict[str, FieldDeclaration]
    runnable: bool
    problems: list[PlacedProblem]
    problem_count: int
    not_runnable: list[PlacedProblem]


class WorkflowFile(Model):
    """One workflow file with its text, byte for byte; ``None`` if it is no readable text."""

    row: WorkflowRow
    text: str | None


class Surroundings:
    """What a host can do, and the skills there are for a project; skills are looked up once."""

    def __init__(
        self, capabilities: Iterable[ProviderCapability], repository: Path, home: Path
    ) -> None:
        self._capabilities = tuple(capabilities)

        @cache
        def find(name: str, provider: str) -> SkillSnapshot | None:
            return find_skill(name, provider, repository, home)

        self._find = find

    def lacking(self, entry: CatalogEntry) -> tuple[Problem, ...]:
        """Return everything that a valid workflow needs and that is not there."""
        if entry.workflow is None:
            return ()
        _, missing = found_skills(entry.workflow, self._find)
        return (*lacking_providers(entry.workflow, self._capabilities), *missing)


def rows(project: Path, surroundings: Surroundings) -> list[WorkflowRow]:
    """Return the project's files, broken ones included, then the examples."""
    return [row_of(project, entry, surroundings) for entry in catalog.find(project)]


def row_of(project: Path, entry: CatalogEntry, surroundings: Surroundings) -> WorkflowRow:
    """Return what the catalogue shows of one file."""
    workflow = entry.workflow
    not_runnable: list[PlacedProblem] = []
    lacking = surroundings.lacking(entry)
    if lacking:
        content = catalog.content_of(project, entry)
        placed = PlacedText(content if isinstance(content, bytes) else "", entry.file)
        not_runnable += [placed.placed(each) for each in lacking]
    return WorkflowRow(
        id=entry.id,
        origin=entry.origin,
        file=entry.file,
        revision=entry.revision,
        name=workflow.name if workflow is not None else None,
        definition_revision=workflow.revision if workflow is not None else None,
        inputs=workflow.inputs if workflow is not None else {},
        runnable=entry.runnable and not not_runnable,
        problems=list(entry.problems[:SHOWN_PROBLEMS_MAX]),
        problem_count=len(entry.problems),
        not_runnable=not_runnable[:SHOWN_PROBLEMS_MAX],
    )


def file_of(project: Path, name: str, surroundings: Surroundings) -> WorkflowFile:
    """Return a workflow by its id or its file's name; raises ``definition_unknown``."""
    entries = catalog.find(project)
    entry = next(
        (each for each in entries if name in (each.id, Path(each.file).name)),
        None,
    )
    if entry is None:
        known = meant(name, [each.id for each in entries])
        raise PointsmanError("definition_unknown", f"there is no workflow {name[:80]!r}; {known}")
    content = catalog.content_of(project, entry)
    row = row_of(project, entry, surroundings)
    if not isinstance(content, bytes):
        return WorkflowFile(row=row, text=None)
    # The file may have been edited between the two looks; the revision is that of this text.
    row = row.model_copy(update={"revision": workflow_files.revision_of(content)})
    try:
        return WorkflowFile(row=row, text=content.decode())
    except UnicodeDecodeError:
        return WorkflowFile(row=row, text=None)
