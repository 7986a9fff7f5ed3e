"""What an agent is told of its report contract: as data, as plain words, and as a tool schema.

The tool's schema is the same for every node (some harnesses freeze the tool list, and Codex
drops length bounds from schemas); a node's own contract is data and part of its prompt.
"""

import json
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from pointsman.graph import limits
from pointsman.graph.definition import FieldDeclaration, FieldType, ReportContract
from pointsman.graph.model import JsonScalar
from pointsman.graph.results import ReportOutcome

TOOL_NAME: Final = "workflow_report"
CONTRACT_TOOL_NAME: Final = "workflow_report_contract"

_OUTCOMES: Final = {
    ReportOutcome.COMPLETED: "you did what the step asks for",
    ReportOutcome.BLOCKED: "something outside your control keeps you from doing it",
    ReportOutcome.FAILED: "you tried and it did not work",
}


def describe(contract: ReportContract) -> dict[str, JsonValue]:
    """Return the exact contract of a node as JSON: every key, type and bound, and an example."""
    fields: dict[str, JsonValue] = {
        name: _describe_field(declared) for name, declared in contract.fields.items()
    }
    return {
        "tool": TOOL_NAME,
        "protocol_version": 1,
        "retry_key": {"type": "string", "chars_max": limits.RETRY_KEY_CHARS_MAX},
        "outcome": {"type": "enum", "values": [outcome.value for outcome in ReportOutcome]},
        "summary": {"type": "string", "chars_max": limits.SUMMARY_CHARS_MAX},
        "data": {"fields": fields, "undeclared_fields": "refused"},
        "evidence": {
            "references_max": limits.EVIDENCE_REFERENCES_MAX,
            "kind_chars_max": limits.EVIDENCE_KIND_CHARS_MAX,
            "reference_chars_max": limits.EVIDENCE_REFERENCE_CHARS_MAX,
            "required": False,
        },
        "envelope_bytes_max": limits.ENVELOPE_BYTES_MAX,
        "reports_max": 1,
        "example": _example(contract),
    }


def _describe_field(declared: FieldDeclaration) -> JsonValue:
    described: dict[str, JsonValue] = {
        "type": declared.type.value,
        "required": "for outcome completed" if declared.required else "never",
    }
    if declared.values is not None:
        described["values"] = list(declared.values)
    if declared.type is FieldType.STRING:
        described["chars_max"] = limits.FIELD_STRING_CHARS_MAX
    if declared.description is not None:
        described["description"] = declared.description
    return described


def _example(contract: ReportContract) -> JsonValue:
    data: dict[str, JsonValue] = {
        name: _example_value(declared) for name, declared in contract.fields.items()
    }
    return {
        "protocol_version": 1,
        "retry_key": "report-1",
        "outcome": "completed",
        "summary": "What I did, in a few sentences.",
        "data": data,
        "evidence": [{"kind": "file", "reference": "path/to/file"}],
    }


def _example_value(declared: FieldDeclaration) -> JsonScalar:
    match declared.type:
        case FieldType.BOOLEAN:
            return True
        case FieldType.NUMBER:
            return 0
        case FieldType.STRING:
            return "text"
        case FieldType.ENUM:
            return (declared.values or ("",))[0]


def launch_text(contract: ReportContract) -> str:
    """Return the paragraph of an agent's prompt that says how to report, with its contract."""
    outcomes = "\n".join(f"  - {outcome}: {meaning}" for outcome, meaning in _OUTCOMES.items())
    fields = "\n".join(_field_line(name, field) for name, field in contract.fields.items())
    example = json.dumps(_example(contract), indent=2, ensure_ascii=False)
    return (
        f"When your work is done, call the tool {TOOL_NAME} exactly once "
        "(your harness may show its name with a prefix). The call is the only way to hand in "
        "your result: printed text is not read, and if you finish without a report that was "
        "accepted, this step stays unresolved.\n\n"
        "Its arguments:\n"
        "- protocol_version: 1\n"
        f"- retry_key: a text of your choice, 1 to {limits.RETRY_KEY_CHARS_MAX} characters. If "
        "you get no answer, call again with exactly the same arguments; nothing is recorded "
        "twice.\n"
        f"- outcome: one of\n{outcomes}\n"
        f"- summary: 1 to {limits.SUMMARY_CHARS_MAX} characters, plain text\n"
        f"- data: {_data_line(fields)}\n"
        f"- evidence (optional): at most {limits.EVIDENCE_REFERENCES_MAX} objects "
        "{kind, reference}, such as files, commits or links that show your result\n\n"
        f"The whole report may have {limits.ENVELOPE_BYTES_MAX} bytes. If it is refused, the "
        "answer names every mistake: mend them and call again. An accepted report is final. "
        f"The tool {CONTRACT_TOOL_NAME} shows this contract again.\n\n"
        f"For example:\n{example}"
    )


def _data_line(fields: str) -> str:
    if not fields:
        return "an empty object; this step declares no fields"
    return f"an object with these fields and no others\n{fields}"


def _field_line(name: str, declared: FieldDeclaration) -> str:
    kind = declared.type.value
    if declared.type is FieldType.ENUM:
        kind = "one of " + ", ".join(json.dumps(value) for value in declared.values or ())
    need = "required when the outcome is completed" if declared.required else "optional"
    description = f". {declared.description}" if declared.description else ""
    return f"  - {name}: {kind}, {need}{description}"


def _text_schema(description: str, chars_max: int) -> dict[str, JsonValue]:
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": chars_max,
        "description": description,
    }


_EVIDENCE_ITEM: Final[dict[str, JsonValue]] = {
    "type": "object",
    "properties": {
        "kind": _text_schema("What it is: file, commit, link", limits.EVIDENCE_KIND_CHARS_MAX),
        "reference": _text_schema("Where it is", limits.EVIDENCE_REFERENCE_CHARS_MAX),
    },
    "required": ["kind", "reference"],
    "additionalProperties": False,
}

_PROPERTIES: Final[dict[str, JsonValue]] = {
    "protocol_version": {"type": "integer", "enum": [1], "description": "Always 1"},
    "retry_key": _text_schema(
        "A text of your choice; the same again if you repeat the same report",
        limits.RETRY_KEY_CHARS_MAX,
    ),
    "outcome": {"type": "string", "enum": [outcome.value for outcome in ReportOutcome]},
    "summary": _text_schema("What was done, in plain words", limits.SUMMARY_CHARS_MAX),
    "data": {
        "type": "object",
        "description": "The fields that your step declares; your instructions list them",
        "additionalProperties": {"type": ["string", "number", "boolean"]},
    },
    "evidence": {
        "type": "array",
        "maxItems": limits.EVIDENCE_REFERENCES_MAX,
        "items": _EVIDENCE_ITEM,
    },
}

TOOL_SCHEMA: Final = MappingProxyType(
    {
        "type": "object",
        "properties": _PROPERTIES,
        "required": ["protocol_version", "retry_key", "outcome", "summary"],
        "additionalProperties": False,
    }
)
