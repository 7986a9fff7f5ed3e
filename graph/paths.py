"""The paths by which conditions and bindings name a typed value of a run.

``run.input.<name>``, ``report.<node>.<field>``, ``check.<node>.<field>`` and
``gate.<node>.<field>`` are single values; ``report.<node>``, ``check.<node>`` and
``gate.<node>`` are whole results, for bindings only.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from pointsman.graph.definition import (
    AgentNode,
    CheckNode,
    FieldDeclaration,
    FieldType,
    GateNode,
    Workflow,
)
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.problem import listed, meant
from pointsman.graph.results import (
    CheckResult,
    GateDecision,
    GateResult,
    NodeResult,
    ReportOutcome,
    ReportResult,
)


class Root(StrEnum):
    """Where a path begins."""

    INPUT = "run.input"
    REPORT = "report"
    CHECK = "check"
    GATE = "gate"


class Path(Model):
    """A parsed path; ``name`` is a node, or an input of the run. Whole results have no field."""

    root: Root
    name: str
    field: str | None = None

    @property
    def whole(self) -> bool:
        """Whether the path names a whole result instead of one value."""
        return self.field is None and self.root is not Root.INPUT

    def __str__(self) -> str:
        return ".".join(part for part in (self.root.value, self.name, self.field) if part)


_INPUT: Final = re.compile(r"run\.input\.([a-z][a-z0-9_]*)")
_RESULT: Final = re.compile(r"(report|check|gate)\.([a-z][a-z0-9-]*)(?:\.([a-z][a-z0-9_]*))?")

_SHAPES: Final = (
    "write run.input.<name>, report.<node>.<field>, check.<node>.exit_code or gate.<node>.decision"
)


def _enum(members: type[StrEnum]) -> FieldDeclaration:
    return FieldDeclaration(type=FieldType.ENUM, values=tuple(members))


_STRING: Final = FieldDeclaration(type=FieldType.STRING)
_NUMBER: Final = FieldDeclaration(type=FieldType.NUMBER)
_BOOLEAN: Final = FieldDeclaration(type=FieldType.BOOLEAN)

REPORT_FIELDS: Final[Mapping[str, FieldDeclaration]] = MappingProxyType(
    {"outcome": _enum(ReportOutcome), "summary": _STRING}
)
CHECK_FIELDS: Final[Mapping[str, FieldDeclaration]] = MappingProxyType(
    {
        "exit_code": _NUMBER,
        "timed_out": _BOOLEAN,
        "interrupted": _BOOLEAN,
        "duration_s": _NUMBER,
    }
)
GATE_FIELDS: Final[Mapping[str, FieldDeclaration]] = MappingProxyType(
    {"decision": _enum(GateDecision), "note": _STRING}
)


def parse(text: str) -> Path | None:
    """Read a path; ``None`` if it does not have the shape of one."""
    found = _INPUT.fullmatch(text)
    if found is not None:
        return Path(root=Root.INPUT, name=found[1])
    found = _RESULT.fullmatch(text)
    if found is not None:
        return Path(root=Root(found[1]), name=found[2], field=found[3])
    return None


def result_fields(workflow: Workflow, path: Path) -> Mapping[str, FieldDeclaration] | None:
    """Return the values a result path may name at its node; ``None`` if there are none."""
    match path.root, workflow.nodes.get(path.name):
        case Root.REPORT, AgentNode(report=report):
            return {**report.fields, **REPORT_FIELDS}
        case Root.CHECK, CheckNode():
            return CHECK_FIELDS
        case Root.GATE, GateNode():
            return GATE_FIELDS
        case _:
            return None


def declared(workflow: Workflow, path: Path) -> FieldDeclaration | None:
    """Return the type of a single value; ``None`` for whole results and what does not exist."""
    if path.root is Root.INPUT:
        return workflow.inputs.get(path.name)
    fields = result_fields(workflow, path)
    return fields.get(path.field) if fields is not None and path.field is not None else None


def why_unknown(workflow: Workflow, text: str) -> tuple[str, str]:
    """Say why ``text`` names nothing in this workflow, and what was probably meant."""
    path = parse(text)
    text = text if len(text) <= 120 else text[:119] + "…"
    if path is None:
        return f"'{text}' is no path", _SHAPES
    if path.root is Root.INPUT:
        return f"the run has no input '{path.name}'", meant(path.name, workflow.inputs)
    if path.name not in workflow.nodes:
        return f"there is no node '{path.name}'", meant(path.name, workflow.nodes)
    fields = result_fields(workflow, path)
    if fields is None:
        kind = workflow.nodes[path.name].kind
        return f"node '{path.name}' of kind {kind} has no {path.root}", _of_kind(kind, path.name)
    if path.field is None:
        return (
            f"'{text}' is a whole result, not one value",
            f"name one of its values: {listed(fields)}",
        )
    return (
        f"the {path.root} of node '{path.name}' has no field '{path.field}'",
        meant(path.field, fields),
    )


def _of_kind(kind: str, name: str) -> str:
    roots = {"agent": Root.REPORT, "check": Root.CHECK, "gate": Root.GATE}
    root = roots.get(kind)
    return f"write {root}.{name}" if root else "only agents, checks and gates leave results"


def value_at(
    path: Path, inputs: Mapping[str, JsonScalar], results: Mapping[str, NodeResult]
) -> JsonScalar | None:
    """Return the single value a path names now; ``None`` if it is absent."""
    if path.root is Root.INPUT:
        return inputs.get(path.name)
    match path.root, results.get(path.name):
        case Root.REPORT, ReportResult() as report:
            reserved = {"outcome": report.outcome.value, "summary": report.summary}
            return reserved.get(path.field or "", report.data.get(path.field or ""))
        case Root.CHECK, CheckResult() as check:
            return _check_values(check).get(path.field or "")
        case Root.GATE, GateResult() as gate:
            return {"decision": gate.decision.value, "note": gate.note}.get(path.field or "")
        case _:
            return None


def _check_values(check: CheckResult) -> dict[str, JsonScalar]:
    """Return a check's values; what timed out or was interrupted leaves no result at all."""
    return {
        "exit_code": check.exit_code,
        "timed_out": False,
        "interrupted": False,
        "duration_s": check.duration_s,
    }


def whole_at(path: Path, results: Mapping[str, NodeResult]) -> dict[str, JsonValue] | None:
    """Return the whole result a path names now, as JSON; ``None`` if it is absent."""
    match path.root, results.get(path.name):
        case Root.REPORT, ReportResult() as report:
            return {
                "outcome": report.outcome.value,
                "summary": report.summary,
                "data": dict(report.data),
                "evidence": [item.model_dump(mode="json") for item in report.evidence],
            }
        case Root.CHECK, CheckResult() as check:
            return {**_check_values(check), "output_tail": check.output_tail}
        case Root.GATE, GateResult() as gate:
            note = {"note": gate.note} if gate.note is not None else {}
            return {"decision": gate.decision.value, **note}
        case _:
            return None


def reference_at(path: Path, results: Mapping[str, NodeResult]) -> str:
    """Return what a path reads from now: the id of the attempt, check or gate, or the input."""
    match results.get(path.name) if path.root is not Root.INPUT else None:
        case ReportResult(attempt_id=identity):
            return identity
        case CheckResult(check_id=identity):
            return identity
        case GateResult(gate_id=identity):
            return identity
        case None:
            return str(path)


def lookup(
    inputs: Mapping[str, JsonScalar], results: Mapping[str, NodeResult]
) -> Callable[[str], JsonScalar | None]:
    """Return the function by which conditions read this run's values."""

    def look_up(text: str) -> JsonScalar | None:
        path = parse(text)
        return value_at(path, inputs, results) if path is not None else None

    return look_up
