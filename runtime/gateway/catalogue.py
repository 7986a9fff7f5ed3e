"""The catalogue's operations: listing, reading and saving a project's workflows.

A save is repeated harmlessly without a command id: a file that has the text already is left as
it is, and the answer is the same.
"""

import asyncio
from pathlib import Path

from pointsman.actors.host import Host, HostUnavailableError, RepositoryState
from pointsman.runtime import skills, workflows
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.wire.paths import absolute
from pointsman.runtime.wire.requests import SaveReply, SaveRequest, SkillsPage, WorkflowsPage
from pointsman.storage import catalog, workflow_files
from pointsman.storage.definition_text import Loaded, place, read_definition


class Catalogue:
    """What clients may do with the workflow files of projects on the host's machine."""

    def __init__(self, host: Host, home: Path) -> None:
        self._host = host
        self._home = home

    async def list(self, repository: str) -> WorkflowsPage:
        """List the project's workflows, broken and not runnable ones with their reasons."""
        project = _project(repository)
        around = await self._surroundings(project)
        return WorkflowsPage(workflows=await asyncio.to_thread(workflows.rows, project, around))

    async def get(self, repository: str, name: str) -> workflows.WorkflowFile:
        """Return one workflow with its text, by its id or its file's name."""
        project = _project(repository)
        around = await self._surroundings(project)
        return await asyncio.to_thread(workflows.file_of, project, name, around)

    async def save(self, file: str, request: SaveRequest) -> SaveReply:
        """Write a valid definition's text, byte for byte, over the revision that was read.

        Raises ``definition_invalid``, ``revision_conflict`` and ``workflow_not_written``; nothing
        is then written. What the environment lacks for it does not keep a definition from being
        saved: the answer, like the list, says that it is not runnable.
        """
        project = _project(request.repository)
        changed = await asyncio.to_thread(_save, project, file, request)
        saved = await self.get(str(project), file)
        return SaveReply(workflow=saved.row, changed=changed)

    async def skills(self, repository: str, provider: str) -> SkillsPage:
        """List the skills that a provider has in a project, with source and fingerprint."""
        top = await self._top(_project(repository))
        found = await asyncio.to_thread(skills.discover, provider, top, self._home)
        return SkillsPage(skills=list(found))

    async def _surroundings(self, project: Path) -> workflows.Surroundings:
        try:
            capabilities = await self._host.providers()
        except HostUnavailableError as error:
            raise PointsmanError("host_unavailable", f"the host did not answer: {error}") from error
        return workflows.Surroundings(capabilities, await self._top(project), self._home)

    async def _top(self, project: Path) -> Path:
        """Return the repository's top folder, where its skills lie; a start looks there too."""
        try:
            state = await self._host.inspect_repository(str(project))
        except HostUnavailableError as error:
            raise PointsmanError("host_unavailable", f"the host did not answer: {error}") from error
        return Path(state.path) if isinstance(state, RepositoryState) else project


def _project(repository: str) -> Path:
    project = Path(absolute(repository))
    if not project.is_dir():
        raise PointsmanError("repository_missing", f"there is no folder {repository[:500]}")
    return project


def _save(project: Path, file: str, request: SaveRequest) -> bool:
    shown_as = str(catalog.FOLDER / file)
    loaded = read_definition(request.text, shown_as)
    _demand_valid(loaded, shown_as)
    assert loaded.workflow is not None, f"{shown_as} has no problems and no workflow"
    other = catalog.entry_of(project, loaded.workflow.id)
    if other is not None and other.origin == "project" and other.file != shown_as:
        problem = catalog.duplicate(other.file, loaded.workflow.id)
        placed = place(problem, request.text.encode(), shown_as)
        _demand_valid(Loaded(workflow=None, problems=(placed,)), shown_as)
    content = request.text.encode()
    try:
        return workflow_files.replace(project, file, content, request.expected_revision)
    except workflow_files.NewerEditError as error:
        details = {"revision": error.found, "expected_revision": request.expected_revision}
        raise PointsmanError("revision_conflict", str(error), details) from error
    except workflow_files.WorkflowFileError as error:
        raise PointsmanError("workflow_not_written", str(error)) from error


def _demand_valid(loaded: Loaded, shown_as: str) -> None:
    if loaded.problems:
        count = len(loaded.problems)
        raise PointsmanError(
            "definition_invalid",
            f"{shown_as} has {count} {'problem' if count == 1 else 'problems'}; it was not written",
            {"problems": [each.model_dump(mode="json") for each in loaded.problems]},
        )
