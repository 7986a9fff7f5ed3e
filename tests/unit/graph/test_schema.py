"""Goal: editors are shown the format as the reader takes it, with words for every key."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings

from pointsman.graph.definition import Workflow
from pointsman.graph.schema import workflow_schema
from pointsman.graph.schema_words import ANY, WORDS
from pointsman.storage.yaml_text import read_yaml
from tests.harness import core
from tests.harness.definition_strategy import definitions
from tests.tidy.source_files import ROOT

SCHEMA = workflow_schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
FILES = sorted(
    path
    for folder in ("examples/workflows", "examples/templates", "tests/unit/storage/definitions")
    for path in (ROOT / folder).rglob("*.yaml")
    if "scripts" not in path.parts and not path.name.endswith(".test.yaml")
)


def complaints(document: Any) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(document)]


def sample(**changes: Any) -> Any:
    """Return a small workflow as an author writes it."""
    nodes = {"a": core.agent("done"), "done": {"kind": "end"}}
    return {"pointsman": 1, "id": "x", "name": "X", "entry": "a", "nodes": nodes, **changes}


def changed_agent(**changes: Any) -> Any:
    return sample(nodes={"a": {**core.agent("done"), **changes}, "done": {"kind": "end"}})


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_workflow_we_ship_passes_the_schema(file: Path) -> None:
    assert complaints(read_yaml(file.read_text(encoding="utf-8")).value) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"next": "done"},
        {"next": {"to": "done", "repeat": {"max": 1, "at_limit": "done"}}},
        {"inputs": {"task": "run.input.task"}},
        {"inputs": {"task": {"from": "run.input.task", "optional": True}}},
        {"timeout": "2h"},
        {"timeout": 120},
    ],
    ids=str,
)
def test_short_and_long_forms_pass(changes: dict[str, Any]) -> None:
    document = changed_agent(**changes)
    assert complaints(document) == []
    Workflow.model_validate_json(json.dumps(document))


@pytest.mark.parametrize(
    "document",
    [
        sample(extra=1),
        sample(pointsman=2),
        sample(nodes={}),
        sample(nodes={"A": {"kind": "end"}}),
        sample(nodes={"a": {"kind": "ends"}}),
        sample(nodes={"a": {"result": "completed"}}),
        changed_agent(rules=[]),
        changed_agent(timeout="2 hours"),
        changed_agent(timeout=5),
        changed_agent(title=None),
        changed_agent(inputs={"Task": "run.input.task"}),
        changed_agent(agent={}),
        sample(nodes={"a": {"kind": "check", "run": [], "next": "a"}}),
        sample(
            nodes={
                "a": {
                    "kind": "decision",
                    "otherwise": "a",
                    "rules": [{"name": "n", "to": "a", "when": {"field": "f", "eq": 1, "ne": 2}}],
                }
            }
        ),
    ],
    ids=str,
)
def test_what_the_reader_refuses_in_one_value_the_schema_refuses(document: Any) -> None:
    assert complaints(document) != []


def test_a_complaint_is_about_the_kind_of_the_node_only() -> None:
    (complaint,) = complaints(changed_agent(command="ls"))
    assert "'command' was unexpected" in complaint


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(workflow=definitions())
def test_every_valid_definition_passes_the_schema(workflow: Workflow) -> None:
    document = workflow.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert complaints(document) == []


def keys() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, each in {**SCHEMA["definitions"], "Workflow": SCHEMA}.items():
        for key, shown in each.get("properties", {}).items():
            yield name, key, shown


def test_every_key_has_words() -> None:
    silent = [f"{name}.{key}" for name, key, shown in keys() if "description" not in shown]
    assert silent == [], "say in graph/schema_words.py what these keys mean"


def test_no_words_are_left_over() -> None:
    known = {(name, key) for name, key, _ in keys()}
    used = {key for _, key in known}
    left = [
        f"{name}.{key}"
        for name, words in WORDS.items()
        for key in words
        if ((name, key) not in known if name != ANY else key not in used)
    ]
    assert left == []


def test_nothing_of_the_design_is_quoted_to_authors() -> None:
    assert "§" not in json.dumps(SCHEMA, ensure_ascii=False)
