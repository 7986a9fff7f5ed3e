"""``pointsman new``: a workflow of one's own from a template, with its scripts and its cases.

A template is a folder below ``examples/templates`` that mirrors ``.pointsman``; wherever it says
its own name, the new workflow's stands instead. Nothing that is there is ever overwritten.
"""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from pointsman.graph import limits
from pointsman.graph.definition import ParallelNode, Workflow
from pointsman.graph.problem import meant
from pointsman.graph.reviews import FrozenInput
from pointsman.runtime.cli import project_files
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.terminal import table
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.worktrees.repositories import inspect_repository
from pointsman.storage import catalog
from pointsman.storage.definition_text import read_definition

DEFAULT: Final = "implement-check-review-fix"
FOLDER: Final = ".pointsman"
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")


def template_names() -> tuple[str, ...]:
    """Return the templates, the default first."""
    found = sorted(item.name for item in _templates().iterdir() if item.is_dir())
    return (DEFAULT, *(name for name in found if name not in (DEFAULT, "__pycache__")))


def _templates() -> Traversable:
    return files(catalog.EXAMPLES) / "templates"


def template_files(template: str, name: str) -> dict[str, str]:
    """Return a template's files by their paths in a project, under the workflow's name."""
    found: dict[str, str] = {}
    for folder in (_templates() / template).iterdir():
        for file in folder.iterdir() if folder.is_dir() else ():
            path = f"{FOLDER}/{folder.name}/{file.name.replace(template, name)}"
            found[path] = file.read_text(encoding="utf-8").replace(template, name)
    return dict(sorted(found.items(), reverse=True))


def list_templates(call: Invocation) -> int:
    """Show what a new workflow can be made of."""
    about = {name: _description(name) for name in template_names()}
    if call.terminal.json:
        shown = [{"template": name, "description": text} for name, text in about.items()]
        call.terminal.document({"templates": shown, "default": DEFAULT})
        return ExitCode.OK
    call.terminal.show(table({"template": "bold", "what it does": ""}, list(about.items())))
    return ExitCode.OK


def _description(template: str) -> str:
    text = template_files(template, template)[f"{catalog.FOLDER}/{template}{catalog.SUFFIX}"]
    workflow = read_definition(text, template).workflow
    assert workflow is not None, f"the template {template} has mistakes"
    return workflow.description or workflow.name


def new(call: Invocation, name: str | None, template: str, repository: Path) -> int:
    """Write a workflow of that name, its scripts, its cases and the format's schema."""
    if name is None:
        raise PointsmanError("usage_invalid", "say how the workflow shall be called")
    if _NAME.fullmatch(name) is None or len(name) > limits.NAME_CHARS_MAX:
        message = f"{name[:80]!r} is no name: write small letters, digits and '-', a letter first"
        raise PointsmanError("usage_invalid", message)
    if template not in template_names():
        message = f"there is no template {template[:80]!r}; {meant(template, template_names())}"
        raise PointsmanError("usage_invalid", message)
    if not repository.is_dir():
        raise PointsmanError("repository_missing", f"there is no folder {repository}")
    targets = {repository / path: text for path, text in template_files(template, name).items()}
    there = [str(target) for target in targets if target.exists()]
    if there:
        raise PointsmanError("file_exists", f"{', '.join(there)} is there", {"files": there})
    written = []
    for target, text in targets.items():
        if project_files.write_new(target, project_files.with_modeline(target, text)):
            written.append(str(target))
    schema, renewed = project_files.write_schema(repository)
    written += [str(schema)] if renewed else []
    return _told(call, name, repository, written)


def _told(call: Invocation, name: str, repository: Path, written: list[str]) -> int:
    file = str(repository / catalog.FOLDER / f"{name}{catalog.SUFFIX}")
    workflow = catalog.load_file(Path(file)).workflow
    declared = workflow.inputs.items() if workflow is not None else ()
    required = [key for key, each in declared if each.required]
    frozen = _frozen_inputs(workflow) if workflow is not None else set()
    values = {key: "my-branch" if key in frozen else "Say hello" for key in required}
    inputs = [word for key, value in values.items() for word in ("--input", f"{key}={value}")]
    after = [
        ("check it", call.next_command("validate", file)),
        ("read it", call.next_command("explain", file)),
        ("test it", call.next_command("test", file)),
        ("run it", call.next_command("run", name, "--repo", str(repository), *inputs)),
    ]
    if call.terminal.json:
        steps = [command for _, command in after]
        call.terminal.document({"workflow": name, "written": written, "next": steps})
        return ExitCode.OK
    for path in written:
        call.terminal.show(f"wrote  {path}")
    for purpose, command in after:
        call.terminal.say(f"{purpose:<9} {command}")
    mend = getattr(inspect_repository(str(repository.absolute())), "mend", None)
    if mend is not None:
        call.terminal.say(f"Runs need a git repository with a commit. {mend}")
    return ExitCode.OK


def _frozen_inputs(workflow: Workflow) -> set[str]:
    """Return the inputs that name an existing change: a branch or a pull request."""
    groups = [node for node in workflow.nodes.values() if isinstance(node, ParallelNode)]
    return {each.freeze.input for each in groups if isinstance(each.freeze, FrozenInput)}
