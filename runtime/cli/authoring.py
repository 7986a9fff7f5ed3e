"""Commands for authors: check workflow files, and put a starter into a repository."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from pointsman.graph.problem import meant
from pointsman.runtime.cli import project_files
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.problems import PointsmanError
from pointsman.storage import catalog
from pointsman.storage.definition_text import Loaded, render

_OWN: Final = Path(catalog.FOLDER)
STARTER: Final = "change-any-repository"
# (packaged file, file in the repository)
STARTER_FILES: Final = (
    (f"workflows/{STARTER}.yaml", f".pointsman/workflows/{STARTER}.yaml"),
    ("scripts/scripted-change.yaml", ".pointsman/scripts/scripted-change.yaml"),
)


def validate(call: Invocation, given: Sequence[Path]) -> int:
    """Check files, and folders of files; without any, the project's own workflows."""
    checked = [each for path in given or (_OWN,) for each in _named(path)]
    if not checked:
        where = ", ".join(map(str, given)) or str(_OWN)
        raise PointsmanError("definition_unknown", f"there is no workflow file (*.yaml) in {where}")
    broken = [loaded for _, loaded in checked if loaded.problems]
    if call.terminal.json:
        shown = [_checked(path, loaded) for path, loaded in checked]
        call.terminal.document({"valid": not broken, "files": shown})
        return ExitCode.USAGE if broken else ExitCode.OK
    for path, loaded in checked:
        if loaded.workflow is not None:
            nodes = len(loaded.workflow.nodes)
            call.terminal.show(f"{path}: {loaded.workflow.id} is valid ({nodes} nodes)")
        else:
            call.terminal.show(render(loaded.problems))
    if broken:
        problems = sum(len(loaded.problems) for loaded in broken)
        what = "problem" if problems == 1 else "problems"
        call.terminal.say(f"{problems} {what} in {len(broken)} of {len(checked)} files.")
    return ExitCode.USAGE if broken else ExitCode.OK


def _named(path: Path) -> list[tuple[Path, Loaded]]:
    """Read a file, the files of a folder, or the workflow of an id, as ``run`` finds it."""
    if path.is_dir() or path == _OWN:
        own = path / _OWN
        files_of = catalog.definition_files(own if own.is_dir() else path)
        return [(each, catalog.load_file(each)) for each in files_of]
    if path.exists() or path.suffix or len(path.parts) != 1:
        return [(path, catalog.load_file(path))]
    entry = catalog.entry_of(Path(), str(path))
    if entry is None:
        known = meant(str(path), [each.id for each in catalog.find(Path())])
        message = f"there is no file and no workflow {str(path)!r}; {known}"
        raise PointsmanError("definition_unknown", message)
    return [(Path(entry.file), Loaded(workflow=entry.workflow, problems=entry.problems))]


def _checked(path: Path, loaded: Loaded) -> dict[str, object]:
    workflow = loaded.workflow
    named = {"id": workflow.id, "revision": workflow.revision} if workflow is not None else None
    problems = [each.model_dump(mode="json") for each in loaded.problems]
    return {"file": str(path), "workflow": named, "problems": problems}


def init(call: Invocation, repository: Path) -> int:
    """Write a starter workflow and its agent's script; what exists is left as it is."""
    if not repository.is_dir():
        raise PointsmanError("repository_missing", f"there is no folder {repository}")
    written: list[str] = []
    kept: list[str] = []
    for packaged, name in STARTER_FILES:
        text = (files(catalog.EXAMPLES) / packaged).read_text(encoding="utf-8")
        target = repository / name
        made = project_files.write_new(target, project_files.with_modeline(target, text))
        (written if made else kept).append(str(target))
    schema, made = project_files.write_schema(repository)
    (written if made else kept).append(str(schema))
    where = () if repository == Path() else ("--repo", str(repository))
    again = call.next_command("run", STARTER, *where, "--input", "task=Say hello")
    if call.terminal.json:
        call.terminal.document({"written": written, "kept": kept, "next": [again]})
        return ExitCode.OK
    for name in written:
        call.terminal.show(f"wrote  {name}")
    for name in kept:
        call.terminal.show(f"kept   {name} (it was there)")
    call.terminal.say(f"Try it:  {again}")
    return ExitCode.OK
