"""The JSON Schema of the workflow format, made from its models and shaped for editors.

Draft 7, which the YAML language servers know best. It admits the short forms (``next: name``,
``2h``) and asks for a node's keys by its kind, so that completion and complaints fit the kind.
An empty value (null) is not admitted, though the reader takes it for left out. What nodes say
about each other is not in it: ``validate`` tells that.
"""

import re
from typing import Any, Final, get_args

from pointsman.graph.conditions import OPERATORS
from pointsman.graph.definition import Node, Workflow
from pointsman.graph.schema_words import words_for

DIALECT: Final = "http://json-schema.org/draft-07/schema#"
TITLE: Final = "Pointsman workflow, format 1"

_Schema = dict[str, Any]
_NOT_FOR_EDITORS: Final = ("title", "discriminator", "ge", "le")
_OF_THE_DESIGN: Final = re.compile(r"\s*\(§[0-9.]+( of the design)?\)")


def workflow_schema() -> _Schema:
    """Return the schema of a workflow file."""
    made = Workflow.model_json_schema(ref_template="#/definitions/{model}")
    definitions: dict[str, _Schema] = made.pop("$defs")
    shaped = {name: _of_model(name, each) for name, each in sorted(definitions.items())}
    shaped["Node"] = _node()
    shaped["FieldTest"]["oneOf"] = [{"required": [operator]} for operator in OPERATORS]
    root = _of_model("Workflow", made)
    root["properties"]["nodes"]["additionalProperties"] = {"$ref": "#/definitions/Node"}
    return {"$schema": DIALECT, "title": TITLE, **root, "definitions": shaped}


def _node() -> _Schema:
    """Ask for the keys of a node by its kind."""
    kinds = {
        each.model_fields["kind"].annotation: each.__name__ for each in get_args(get_args(Node)[0])
    }
    names = {get_args(kind)[0]: name for kind, name in kinds.items()}
    return {
        "description": "One step of the workflow.",
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"enum": list(names), "description": words_for("*", "kind")}},
        "allOf": [
            {
                "if": {"required": ["kind"], "properties": {"kind": {"const": kind}}},
                "then": {"$ref": f"#/definitions/{name}"},
            }
            for kind, name in names.items()
        ],
    }


def _of_model(name: str, schema: _Schema) -> _Schema:
    """Clean the schema of one model and give each of its keys its words."""
    cleaned: _Schema = _cleaned(schema)
    for key, each in cleaned.get("properties", {}).items():
        words = words_for(name, key)
        if words is not None:
            each["description"] = words
    return cleaned


def _cleaned(value: Any) -> Any:
    """Leave out what helps no author: titles, nulls, defaults that say nothing."""
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: each for key, each in value.items() if key not in _NOT_FOR_EDITORS}
    if not isinstance(kept.get("default", ""), (str, int)):
        del kept["default"]
    if isinstance(kept.get("description"), str):
        kept["description"] = _plain(kept["description"])
    made = {
        key: {name: _cleaned(inner) for name, inner in each.items()}
        if key == "properties"
        else _cleaned(each)
        for key, each in kept.items()
    }
    return _keyed(_without_null(made))


def _plain(text: str) -> str:
    """Return a docstring as one paragraph, without code marks and references to the design."""
    return " ".join(_OF_THE_DESIGN.sub("", text).replace("``", "").split())


def _without_null(schema: _Schema) -> _Schema:
    """Take the null from a choice; a choice of one is that one."""
    for choice in ("anyOf", "oneOf"):
        if choice not in schema:
            continue
        left = [each for each in schema[choice] if each != {"type": "null"}]
        rest = {key: each for key, each in schema.items() if key != choice}
        schema = {**left[0], **rest} if len(left) == 1 else {**rest, "anyOf": left}
    return schema


def _keyed(schema: _Schema) -> _Schema:
    """Say what names and values of a mapping may be so that no other name slips through."""
    patterns = schema.pop("patternProperties", None)
    if patterns is not None:
        ((pattern, value),) = patterns.items()
        names = schema.get("propertyNames", {})
        schema["propertyNames"] = {"pattern": pattern, **names}
        schema["additionalProperties"] = value
    return schema
