"""Paths, bindings and the run's own inputs."""

import json

import pytest

from pointsman.graph import limits
from pointsman.graph.binding import (
    InputProblems,
    InputsTooLarge,
    MissingInput,
    Resolved,
    check_inputs,
    inputs_from_text,
    resolve,
)
from pointsman.graph.definition import FieldType, InputBinding, Workflow
from pointsman.graph.paths import Root, declared, parse, value_at
from pointsman.graph.results import (
    CheckResult,
    EvidenceReference,
    GateDecision,
    GateResult,
    NodeResult,
    ReportOutcome,
    ReportResult,
)

REPORT = ReportResult(
    attempt_id="run.write.1.1",
    outcome=ReportOutcome.COMPLETED,
    summary="done",
    data={"risk": "low", "count": 2},
    evidence=(EvidenceReference(kind="file", reference="a.py"),),
)
CHECK = CheckResult(check_id="run.test.1.1", exit_code=1, duration_s=2.5, output_tail="F")
GATE = GateResult(gate_id="run.look.1", decision=GateDecision.APPROVE, decided_by="ada")
RESULTS: dict[str, NodeResult] = {"write": REPORT, "test": CHECK, "look": GATE}

WORKFLOW = Workflow.model_validate_json(
    json.dumps(
        {
            "pointsman": 1,
            "id": "w",
            "name": "W",
            "entry": "write",
            "inputs": {
                "task": {"type": "string", "required": True},
                "tries": {"type": "number"},
                "fast": {"type": "boolean"},
                "size": {"type": "enum", "values": ["s", "l"]},
            },
            "nodes": {
                "write": {
                    "kind": "agent",
                    "agent": {"provider": "claude"},
                    "instructions": "Write.",
                    "report": {"fields": {"risk": {"type": "enum", "values": ["low"]}}},
                    "next": "test",
                },
                "test": {"kind": "check", "run": "true", "next": "look"},
                "look": {"kind": "gate", "title": "Look"},
            },
        }
    )
)


@pytest.mark.parametrize(
    "text,value",
    [
        ("run.input.task", "t"),
        ("run.input.other", None),
        ("report.write.outcome", "completed"),
        ("report.write.summary", "done"),
        ("report.write.risk", "low"),
        ("report.write.none", None),
        ("report.test.outcome", None),
        ("check.test.exit_code", 1),
        ("check.test.timed_out", False),
        ("check.test.interrupted", False),
        ("check.test.duration_s", 2.5),
        ("check.absent.exit_code", None),
        ("gate.look.decision", "approve"),
        ("gate.look.note", None),
    ],
)
def test_a_path_reads_one_value(text: str, value: object) -> None:
    path = parse(text)
    assert path is not None
    assert str(path) == text
    assert value_at(path, {"task": "t"}, RESULTS) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "run.input",
        "run.input.Task",
        "report",
        "report.",
        "report.a.b.c",
        "report.a.b-c",
        "join.a",
        "check.a.output\n",
        "run.input.task ",
        "__class__.a",
    ],
)
def test_anything_else_is_no_path(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    "text,wanted",
    [
        ("run.input.tries", FieldType.NUMBER),
        ("report.write.risk", FieldType.ENUM),
        ("report.write.outcome", FieldType.ENUM),
        ("report.write.summary", FieldType.STRING),
        ("check.test.timed_out", FieldType.BOOLEAN),
        ("gate.look.decision", FieldType.ENUM),
        ("report.write", None),
        ("report.test.outcome", None),
        ("check.test.output_tail", None),
        ("run.input.none", None),
    ],
)
def test_a_path_has_a_declared_type(text: str, wanted: FieldType | None) -> None:
    path = parse(text)
    assert path is not None
    found = declared(WORKFLOW, path)
    assert (found.type if found else None) == wanted


def bind(**bindings: str) -> dict[str, InputBinding]:
    return {
        name: InputBinding(from_=text.removesuffix("?"), optional=text.endswith("?"))
        for name, text in bindings.items()
    }


def test_values_come_with_what_they_were_read_from() -> None:
    found = resolve(
        bind(
            task="run.input.task",
            risk="report.write.risk",
            report="report.write",
            check="check.test",
            gate="gate.look",
            none="report.later?",
        ),
        {"task": "t"},
        RESULTS,
    )
    assert isinstance(found, Resolved)
    assert found.values == {
        "task": "t",
        "risk": "low",
        "report": {
            "outcome": "completed",
            "summary": "done",
            "data": {"risk": "low", "count": 2},
            "evidence": [{"kind": "file", "reference": "a.py"}],
        },
        "check": {
            "exit_code": 1,
            "timed_out": False,
            "interrupted": False,
            "duration_s": 2.5,
            "output_tail": "F",
        },
        "gate": {"decision": "approve"},
    }
    assert found.references == {
        "task": "run.input.task",
        "risk": "run.write.1.1",
        "report": "run.write.1.1",
        "check": "run.test.1.1",
        "gate": "run.look.1",
    }
    assert Resolved.model_validate_json(found.model_dump_json()) == found


def test_every_missing_required_input_is_named() -> None:
    found = resolve(bind(a="report.later", b="run.input.x", c="report.write"), {}, RESULTS)
    assert found == MissingInput(names=("a", "b"))


def test_inputs_are_bounded_to_the_byte() -> None:
    room = limits.BINDING_BYTES_MAX - len(b'{"a":"","b":""}')
    inputs = {"a": "x" * (room // 2), "b": "x" * (room - room // 2)}
    bindings = bind(a="run.input.a", b="run.input.b")
    assert isinstance(resolve(bindings, inputs, {}), Resolved)
    inputs["a"] += "x"
    assert resolve(bindings, inputs, {}) == InputsTooLarge(size=limits.BINDING_BYTES_MAX + 1)


def refused(given: dict[str, object]) -> list[str]:
    found = check_inputs(WORKFLOW, given)
    assert isinstance(found, InputProblems), found
    return [error.path for error in found.fields]


def test_the_runs_inputs_are_typed_and_every_mistake_is_told() -> None:
    good: dict[str, object] = {"task": "t", "tries": 1.0, "fast": False, "size": "s"}
    assert check_inputs(WORKFLOW, good) == good
    wrong: dict[str, object] = {"tries": "1", "fast": 1, "size": "m", "other": 1}
    assert refused(wrong) == ["tries", "fast", "size", "other", "task"]
    assert refused({"task": "\ud800"}) == ["task"]
    assert refused({"task": "t", "tries": float("inf")}) == ["tries"]
    assert refused({"task": "x" * (limits.INPUT_VALUE_CHARS_MAX + 1)}) == ["task"]


def test_texts_of_a_command_line_become_the_declared_type() -> None:
    found = inputs_from_text(WORKFLOW, ("task=a=b", "tries=-2.5", "fast=true", "size=l"))
    assert found == {"task": "a=b", "tries": -2.5, "fast": True, "size": "l"}
    assert inputs_from_text(WORKFLOW, ("task=true", "tries=3")) == {"task": "true", "tries": 3}


@pytest.mark.parametrize(
    "texts,path",
    [
        (("task=t", "fast=yes"), "fast"),
        (("task=t", "tries=0x10"), "tries"),
        (("task=t", "tries=NaN"), "tries"),
        (("task=t", "tries=1e999"), "tries"),
        (("task=t", "tries="), "tries"),
        (("task=t", "task=u"), "task"),
        (("task=t", "fast"), "fast"),
        (("task=t", "more=1"), "more"),
    ],
)
def test_a_text_of_another_type_is_refused(texts: tuple[str, ...], path: str) -> None:
    found = inputs_from_text(WORKFLOW, texts)
    assert isinstance(found, InputProblems)
    assert [error.path for error in found.fields] == [path]


def test_the_root_of_a_path_is_told() -> None:
    path = parse("gate.look")
    assert path is not None
    assert (path.root, path.whole) == (Root.GATE, True)
