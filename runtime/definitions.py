"""Which definition a person means by a name: a file, or an id in a project or among the examples.

Manual starts look here from the command line, scheduled ones from the server.
"""

from dataclasses import dataclass
from pathlib import Path

from pointsman.graph.definition import Workflow
from pointsman.graph.problem import meant
from pointsman.runtime.problems import PointsmanError
from pointsman.storage import catalog
from pointsman.storage.definition_text import Loaded, PlacedProblem, render


@dataclass(frozen=True, slots=True)
class Definition:
    """A valid definition with its text; ``source`` says where it came from."""

    workflow: Workflow
    text: str
    source: str


def find_definition(wanted: str, repository: Path) -> Definition:
    """Return the definition of a file, or of an id in the project or among the examples.

    Raises ``repository_missing``, ``definition_unknown`` or ``definition_invalid``.
    """
    file = Path(wanted)
    if file.suffix in (".yaml", ".yml") or "/" in wanted:
        return _valid(catalog.load_file(file, wanted), _text(file), str(file.absolute()))
    if not repository.is_dir():
        raise PointsmanError("repository_missing", f"there is no folder {repository}")
    entry = catalog.entry_of(repository, wanted)
    if entry is None:
        known = [each.id for each in catalog.find(repository)]
        message = f"there is no workflow {wanted!r} in {repository / catalog.FOLDER}"
        raise PointsmanError("definition_unknown", f"{message}; {meant(wanted, known)}")
    loaded = Loaded(workflow=entry.workflow, problems=entry.problems)
    if entry.origin == "example":
        return _valid(loaded, example_text(entry.file), f"example:{entry.file}")
    path = repository / entry.file
    return _valid(loaded, _text(path), str(path.absolute()))


def example_text(file: str) -> str:
    """Return the text of a packaged workflow."""
    from importlib.resources import files

    return (files(catalog.EXAMPLES) / "workflows" / file).read_text(encoding="utf-8")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""  # the catalogue has told it as a problem already


def _valid(loaded: Loaded, text: str, source: str) -> Definition:
    if loaded.workflow is None:
        raise invalid_definition(loaded.problems)
    return Definition(loaded.workflow, text, source)


def invalid_definition(problems: tuple[PlacedProblem, ...]) -> PointsmanError:
    """Return the error that tells everything that is wrong with a definition."""
    details = {"problems": [each.model_dump(mode="json") for each in problems]}
    return PointsmanError("definition_invalid", render(problems).rstrip(), details)
