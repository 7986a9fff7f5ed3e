"""``pointsman test``: the cases beside workflows, played and compared; for an author's own CI."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman.graph.expectations import judge
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.cli.rehearsing import read_bytes
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.problems import PointsmanError
from pointsman.storage import catalog
from pointsman.storage.placed_text import PlacedProblem, render
from pointsman.storage.rehearsal_text import read_tests

if TYPE_CHECKING:
    from pointsman.graph.expectations import Judged


@dataclass(frozen=True, slots=True)
class _File:
    """One file of cases as it was played, or what keeps it from being played."""

    path: Path
    workflow: Path
    problems: tuple[PlacedProblem, ...]
    cases: tuple["Judged", ...] = ()


def play_cases(call: Invocation, given: Sequence[Path]) -> int:
    """Play the cases of files and folders; without any, those of the project's workflows."""
    played = [_played(path) for path in _files(given)]
    cases = [case for file in played for case in file.cases]
    differing = sum(1 for case in cases if case.differences)
    broken = [file for file in played if file.problems]
    if call.terminal.json:
        passed = not differing and not broken
        call.terminal.document({"passed": passed, "files": [_document(file) for file in played]})
    else:
        for file in played:
            _show(call, file)
        passed_count = len(cases) - differing
        told = f"{len(cases)} cases: {passed_count} as expected, {differing} different"
        unread = f"; {len(broken)} files could not be played" if broken else ""
        call.terminal.show(told + unread, style="red" if differing or broken else "green")
    if broken:
        return ExitCode.USAGE
    return ExitCode.RUN_FAILED if differing else ExitCode.OK


def _files(given: Sequence[Path]) -> list[Path]:
    """Return the files of cases; a workflow's file or id stands for the one beside it."""
    found: list[Path] = []
    for path in given or (Path(catalog.FOLDER),):
        if path.is_dir():
            own = path / catalog.FOLDER
            folder = own if own.is_dir() else path
            found += sorted(folder.glob(f"*{catalog.TESTS_SUFFIX}"))
        elif catalog.is_definition(path.name):
            found.append(path.with_name(f"{path.stem}{catalog.TESTS_SUFFIX}"))
        elif not path.suffix and not path.exists():
            found.append(Path(catalog.FOLDER) / f"{path}{catalog.TESTS_SUFFIX}")
        else:
            found.append(path)
    if not found:
        where = ", ".join(map(str, given)) or str(catalog.FOLDER)
        message = f"there are no cases (*{catalog.TESTS_SUFFIX}) in {where}"
        raise PointsmanError("answers_invalid", message)
    return found


def _played(path: Path) -> _File:
    text = read_bytes(path)
    tests, problems = read_tests(text, str(path), None)
    beside = path.with_name(path.name.removesuffix(catalog.TESTS_SUFFIX) + catalog.SUFFIX)
    if tests is None:
        return _File(path, beside, problems)
    file = path.parent / tests.workflow if tests.workflow is not None else beside
    loaded = catalog.load_file(file)
    if loaded.workflow is None:
        return _File(path, file, loaded.problems)
    tests, problems = read_tests(text, str(path), loaded.workflow)
    if tests is None:
        return _File(path, file, problems)
    return _File(path, file, (), judge(loaded.workflow, tests))


def _document(file: _File) -> dict[str, Any]:
    return {
        "file": str(file.path),
        "workflow": str(file.workflow),
        "problems": file.problems,
        "cases": [
            {
                "case": case.case,
                "passed": not case.differences,
                "differences": case.differences,
                "routes": [each.line for each in case.visits if each.line is not None],
            }
            for case in file.cases
        ],
    }


def _show(call: Invocation, file: _File) -> None:
    if file.problems:
        call.terminal.show(render(file.problems))
    for case in file.cases:
        if not case.differences:
            call.terminal.show(f"ok         {file.path}: {case.case}")
            continue
        call.terminal.show(f"DIFFERENT  {file.path}: {case.case}", style="red")
        for line in _differences(case):
            call.terminal.show(f"           {line}")


def _differences(case: "Judged") -> Iterator[str]:
    yield "(- was expected, + happened)"
    for each in case.differences:
        yield f"{each.subject}:"
        yield from (f"  {line}" for line in each.lines)
