"""What people call things: a run by a piece of its id, a workflow by file or id, themselves."""

import getpass
from collections.abc import Sequence
from typing import Final

from pointsman.graph import ids
from pointsman.graph.binding import InputProblems, inputs_from_text
from pointsman.graph.contract import FieldError
from pointsman.graph.definition import Workflow
from pointsman.graph.model import JsonScalar
from pointsman.graph.problem import listed, meant
from pointsman.runtime.cli.reach import Reader
from pointsman.runtime.definitions import (
    Definition,
    example_text,
    find_definition,
    invalid_definition,
)
from pointsman.runtime.problems import PointsmanError

__all__ = [
    "Definition",
    "example_text",
    "find_definition",
    "invalid_definition",
    "match_run",
    "person",
    "read_inputs",
    "resolve_run",
    "short",
]

LAST: Final = "last"
SEARCHED_RUNS_MAX: Final = 1_000
SHORT_CHARS: Final = 8


def short(run_id: str) -> str:
    """Return the end of a run's id, which tells runs apart: their beginnings are times."""
    return run_id[-SHORT_CHARS:]


def may_be_run(text: str) -> bool:
    """Whether a text reads like a run's name rather than like a workflow's."""
    return text == LAST or text.startswith("r0-")


def resolve_run(text: str, reader: Reader) -> str:
    """Return the id of the run that is meant; raises ``run_unknown``."""
    if ids.shard_of(text) is not None:
        return text
    known = [row.run_id for row in reader.runs(limit=SEARCHED_RUNS_MAX)]
    return match_run(text, known)


def match_run(text: str, known: Sequence[str]) -> str:
    """Return the one id that begins or ends with the text; ``known`` has the newest first."""
    if not known:
        raise PointsmanError("run_unknown", "this data directory has no run yet")
    if text == LAST:
        return known[0]
    wanted = text.lower()
    found = [each for each in known if wanted and _is_piece(wanted, each)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise PointsmanError("run_unknown", f"no run's id begins or ends with {text[:80]!r}")
    raise PointsmanError(
        "run_unknown",
        f"{text[:80]!r} fits {len(found)} runs: {listed(found)}",
        {"runs": found[:SEARCHED_RUNS_MAX]},
    )


def _is_piece(wanted: str, run_id: str) -> bool:
    return run_id.startswith(wanted) or run_id.endswith(wanted)


def person() -> str:
    """Return who acts, as the operating system knows them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "operator"


def read_inputs(workflow: Workflow, assignments: Sequence[str]) -> dict[str, JsonScalar]:
    """Read ``name=value`` texts as the inputs the workflow declares; raises ``input_invalid``."""
    found = inputs_from_text(workflow, tuple(assignments))
    if not isinstance(found, InputProblems):
        return found
    told = "; ".join(_wrong_input(workflow, each) for each in found.fields)
    fields = [each.model_dump(mode="json") for each in found.fields]
    raise PointsmanError("input_invalid", told, {"fields": fields})


def _wrong_input(workflow: Workflow, error: FieldError) -> str:
    if error.expected.startswith("only:"):
        return f"there is no input {error.path!r}: {meant(error.path, workflow.inputs)}"
    return f"input {error.path!r} {error.problem} ({error.expected})"
