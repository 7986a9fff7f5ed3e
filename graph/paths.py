"""The paths by which conditions and bindings name a value of a run.

``run.input.<name>``, ``report.<node>.<field>``, ``check.<node>.<field>``,
``gate.<node>.<field>``, ``join.<join>.outcome`` and ``join.<join>.<branch>.<field>`` are single
values. For bindings only there are ``report.<node>``, ``check.<node>`` and ``gate.<node>`` as
whole results, ``gate.<node>.comments`` and ``join.<join>.reports``.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from pointsman.graph.declarations import FieldDeclaration, FieldType
from pointsman.graph.definition import (
    AgentNode,
    CheckNode,
    GateNode,
    JoinNode,
    ParallelNode,
    Workflow,
)
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.problem import listed, meant
from pointsman.graph.results import (
    CheckResult,
    GateDecision,
    GateResult,
    JoinResult,
    NodeResult,
    ReportOutcome,
    ReportResult,
)
from pointsman.graph.reviews import Branch


class Root(StrEnum):
    """Where a path begins."""

    INPUT = "run.input"
    REPORT = "report"
    CHECK = "check"
    GATE = "gate"
    JOIN = "join"


# What a join's or a gate's result holds beside single values: readable by bindings only.
_LISTS: Final = frozenset({(Root.JOIN, "reports"), (Root.GATE, "comments")})


class Path(Model):
    """A parsed path; ``name`` is a node, or an input of the run. Whole results have no field."""

    root: Root
    name: str
    branch: str | None = None
    field: str | None = None

    @property
    def whole(self) -> bool:
        """Whether the path names something larger than one value, which only bindings read."""
        if self.branch is not None or self.root is Root.INPUT:
            return False
        return self.field is None or (self.root, self.field) in _LISTS

    def __str__(self) -> str:
        parts = (self.root.value, self.name, self.branch, self.field)
        return ".".join(part for part in parts if part)


_INPUT: Final = re.compile(r"run\.input\.([a-z][a-z0-9_]*)")
_RESULT: Final = re.compile(r"(report|check|gate)\.([a-z][a-z0-9-]*)(?:\.([a-z][a-z0-9_]*))?")
_JOIN: Final = re.compile(
    r"join\.([a-z][a-z0-9-]*)(?:\.([a-z][a-z0-9-]*)(?=\.))?\.([a-z][a-z0-9_]*)"
)

_SHAPES: Final = (
    "write run.input.<name>, report.<node>.<field>, check.<node>.exit_code, "
    "gate.<node>.decision or join.<join>.<branch>.<field>"
)


def _enum(*members: str) -> FieldDeclaration:
    return FieldDeclaration(type=FieldType.ENUM, values=members)


_STRING: Final = FieldDeclaration(type=FieldType.STRING)
_NUMBER: Final = FieldDeclaration(type=FieldType.NUMBER)
_BOOLEAN: Final = FieldDeclaration(type=FieldType.BOOLEAN)

REPORT_FIELDS: Final[Mapping[str, FieldDeclaration]] = MappingProxyType(
    {"outcome": _enum(*ReportOutcome), "summary": _STRING}
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
    {"decision": _enum(*GateDecision), "note": _STRING}
)
# Nothing of an incomplete join can be read (§10.22), so no other outcome is ever seen.
JOIN_FIELDS: Final[Mapping[str, FieldDeclaration]] = MappingProxyType(
    {"outcome": _enum("all_completed")}
)


def parse(text: str) -> Path | None:
    """Read a path; ``None`` if it does not have the shape of one."""
    found = _INPUT.fullmatch(text)
    if found is not None:
        return Path(root=Root.INPUT, name=found[1])
    found = _RESULT.fullmatch(text)
    if found is not None:
        return Path(root=Root(found[1]), name=found[2], field=found[3])
    found = _JOIN.fullmatch(text)
    if found is not None:
        return Path(root=Root.JOIN, name=found[1], branch=found[2], field=found[3])
    return None


def branches_of(workflow: Workflow, join: str) -> Mapping[str, Branch] | None:
    """Return the branches a join waits for; ``None`` if it is no join over a group."""
    node = workflow.nodes.get(join)
    group = workflow.nodes.get(node.of) if isinstance(node, JoinNode) else None
    return group.branches if isinstance(group, ParallelNode) else None


def result_fields(workflow: Workflow, path: Path) -> Mapping[str, FieldDeclaration] | None:
    """Return the single values there are where a path reads; ``None`` if it reads from nothing."""
    match path.root, workflow.nodes.get(path.name):
        case Root.REPORT, AgentNode(report=report):
            return {**report.fields, **REPORT_FIELDS}
        case Root.CHECK, CheckNode():
            return CHECK_FIELDS
        case Root.GATE, GateNode():
            return GATE_FIELDS
        case Root.JOIN, JoinNode() if path.branch is None:
            return JOIN_FIELDS
        case Root.JOIN, JoinNode():
            branch = (branches_of(workflow, path.name) or {}).get(path.branch or "")
            return {**branch.report.fields, **REPORT_FIELDS} if branch is not None else None
        case _:
            return None


def declared(workflow: Workflow, path: Path) -> FieldDeclaration | None:
    """Return the type of a single value; ``None`` for whole results and what does not exist."""
    if path.root is Root.INPUT:
        return workflow.inputs.get(path.name)
    if path.whole or path.field is None:
        return None
    fields = result_fields(workflow, path)
    return fields.get(path.field) if fields is not None else None


def why_unknown(workflow: Workflow, text: str) -> tuple[str, str]:
    """Say why ``text`` names nothing in this workflow, and what was probably meant."""
    path = parse(text)
    text = text if len(text) <= 120 else text[:119] + "…"
    if path is None:
        return f"'{text}' is no path", _SHAPES
    if path.root is Root.INPUT:
        return f"the run has no input '{path.name}'", meant(path.name, workflow.inputs)
    node = workflow.nodes.get(path.name)
    if node is None:
        return f"there is no node '{path.name}'", meant(path.name, workflow.nodes)
    fields = result_fields(workflow, path)
    if fields is None and path.branch is not None and isinstance(node, JoinNode):
        branches = branches_of(workflow, path.name) or {}
        return f"join '{path.name}' has no branch '{path.branch}'", meant(path.branch, branches)
    if fields is None:
        message = f"node '{path.name}' of kind {node.kind} has no {path.root}"
        return message, _of_kind(node.kind, path.name)
    if path.whole:
        values = f"name one of its values: {listed(fields)}"
        if path.root is Root.JOIN:
            values = f"name one value of a branch: join.{path.name}.<branch>.<field>"
        return f"'{text}' is a whole result, not one value", values
    subject = f"the {path.root} of node '{path.name}'"
    if path.branch is not None:
        subject = f"branch '{path.branch}' of join '{path.name}'"
    return f"{subject} has no field '{path.field}'", meant(path.field or "", fields)


def _of_kind(kind: str, name: str) -> str:
    written = {
        "agent": f"report.{name}",
        "check": f"check.{name}",
        "gate": f"gate.{name}",
        "join": f"join.{name}.<branch>.<field>",
    }.get(kind)
    if written is not None:
        return f"write {written}"
    if kind == "parallel":
        return "read a group's reports at its join: join.<join>.<branch>.<field>"
    return "only agents, checks, joins and gates leave results"


def value_at(
    path: Path, inputs: Mapping[str, JsonScalar], results: Mapping[str, NodeResult]
) -> JsonScalar | None:
    """Return the single value a path names now; ``None`` if it is absent."""
    if path.root is Root.INPUT:
        return inputs.get(path.name)
    match path.root, results.get(path.name):
        case Root.REPORT, ReportResult() as report:
            return _report_value(report, path.field or "")
        case Root.CHECK, CheckResult() as check:
            return _check_values(check).get(path.field or "")
        case Root.GATE, GateResult() as gate:
            return {"decision": gate.decision.value, "note": gate.note}.get(path.field or "")
        case Root.JOIN, JoinResult() as join:
            return _join_value(path, join)
        case _:
            return None


def _join_value(path: Path, join: JoinResult) -> JsonScalar | None:
    if path.branch is None:
        return "all_completed" if path.field == "outcome" else None
    report = join.reports.get(path.branch)
    return _report_value(report, path.field or "") if report is not None else None


def _report_value(report: ReportResult, field: str) -> JsonScalar | None:
    reserved = {"outcome": report.outcome.value, "summary": report.summary}
    return reserved.get(field, report.data.get(field))


def _check_values(check: CheckResult) -> dict[str, JsonScalar]:
    """Return a check's values; what timed out or was interrupted leaves no result at all."""
    return {
        "exit_code": check.exit_code,
        "timed_out": False,
        "interrupted": False,
        "duration_s": check.duration_s,
    }


def whole_at(path: Path, results: Mapping[str, NodeResult]) -> JsonValue:
    """Return the whole result a path names now, as JSON; ``None`` if it is absent."""
    match path.root, results.get(path.name):
        case Root.REPORT, ReportResult() as report:
            return _report_values(report)
        case Root.CHECK, CheckResult() as check:
            return {**_check_values(check), "output_tail": check.output_tail}
        case Root.GATE, GateResult() as gate:
            return _gate_values(path, gate)
        case Root.JOIN, JoinResult() as join:
            return {
                branch: {**_report_values(report), "commit": join.frozen_commit}
                for branch, report in join.reports.items()
            }
        case _:
            return None


def _report_values(report: ReportResult) -> dict[str, JsonValue]:
    return {
        "outcome": report.outcome.value,
        "summary": report.summary,
        "data": dict(report.data),
        "evidence": [item.model_dump(mode="json") for item in report.evidence],
    }


def _gate_values(path: Path, gate: GateResult) -> JsonValue:
    comments: list[JsonValue] = [each.model_dump(mode="json") for each in gate.comments]
    if path.field == "comments":
        return comments or None
    note = {"note": gate.note} if gate.note is not None else {}
    said: dict[str, JsonValue] = {"decision": gate.decision.value, **note}
    return {**said, "comments": comments} if comments else said


def reference_at(path: Path, results: Mapping[str, NodeResult]) -> str:
    """Return what a path reads from now: the id of the attempt, check or gate, or the input."""
    match results.get(path.name) if path.root is not Root.INPUT else None:
        case ReportResult(attempt_id=identity):
            return identity
        case CheckResult(check_id=identity):
            return identity
        case GateResult(gate_id=identity):
            return identity
        case JoinResult() as join:
            report = join.reports.get(path.branch or "")
            return report.attempt_id if report is not None else join.review_set_id
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
