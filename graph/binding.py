"""Typed inputs: a node's from earlier results, and the run's own from whoever starts it.

A node gets exactly what its bindings name, bounded in size; nothing is passed on implicitly.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from pointsman.graph import limits
from pointsman.graph.canonical import canonical_bytes, flaws
from pointsman.graph.contract import FieldError, expected_value, scalar_error
from pointsman.graph.definition import FieldDeclaration, FieldType, InputBinding, Workflow
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.paths import Path, parse, reference_at, value_at, whole_at
from pointsman.graph.problem import listed, meant
from pointsman.graph.results import NodeResult


class Resolved(Model):
    """The values a visit works with, and what each was read from (an id, or the run's input)."""

    values: dict[str, JsonValue]
    references: dict[str, str]


class MissingInput(Model):
    """Required inputs that have no value now."""

    names: tuple[str, ...]


class InputsTooLarge(Model):
    """The inputs together have more than ``limits.BINDING_BYTES_MAX`` canonical bytes."""

    size: int


class InputProblems(Model):
    """Every mistake in the inputs given at the start of a run."""

    fields: tuple[FieldError, ...]


def resolve(
    bindings: Mapping[str, InputBinding],
    inputs: Mapping[str, JsonScalar],
    results: Mapping[str, NodeResult],
) -> Resolved | MissingInput | InputsTooLarge:
    """Read each binding now; optional ones without a value are left out."""
    values: dict[str, JsonValue] = {}
    references: dict[str, str] = {}
    missing: list[str] = []
    for name, binding in bindings.items():
        path = parse(binding.from_)
        assert path is not None, f"{binding.from_!r} passed validation but is no path"
        value = _read(path, inputs, results)
        if value is not None:
            values[name] = value
            references[name] = reference_at(path, results)
        elif not binding.optional:
            missing.append(name)
    if missing:
        return MissingInput(names=tuple(missing))
    size = len(canonical_bytes(values))
    if size > limits.BINDING_BYTES_MAX:
        return InputsTooLarge(size=size)
    return Resolved(values=values, references=references)


def _read(
    path: Path, inputs: Mapping[str, JsonScalar], results: Mapping[str, NodeResult]
) -> JsonValue:
    return whole_at(path, results) if path.whole else value_at(path, inputs, results)


def check_inputs(
    workflow: Workflow, given: Mapping[str, object]
) -> dict[str, JsonScalar] | InputProblems:
    """Check a run's inputs against the definition; all mistakes at once, nothing coerced."""
    errors: list[FieldError] = []
    values: dict[str, JsonScalar] = {}
    for name, value in given.items():
        error = _input_error(workflow, name, value)
        if error is not None:
            errors.append(error)
        elif isinstance(value, (bool, int, float, str)):
            values[name] = value
    for name, declared in workflow.inputs.items():
        if declared.required and name not in given:
            expected = expected_value(declared, limits.INPUT_VALUE_CHARS_MAX)
            errors.append(FieldError(path=name, problem="is missing", expected=expected))
    return InputProblems(fields=tuple(errors)) if errors else values


def _input_error(workflow: Workflow, name: str, value: object) -> FieldError | None:
    declared = workflow.inputs.get(name)
    if declared is None:
        return _undeclared(workflow, name)
    expected = expected_value(declared, limits.INPUT_VALUE_CHARS_MAX)
    for flaw in flaws(value):
        return FieldError(path=name, problem=flaw.problem, expected=expected)
    return scalar_error(name, declared, value, limits.INPUT_VALUE_CHARS_MAX)


def _undeclared(workflow: Workflow, name: str) -> FieldError:
    return FieldError(
        path=ascii(name)[1:-1][:200],
        problem=f"the workflow declares no such input; {meant(name, workflow.inputs)}",
        expected=f"only: {listed(workflow.inputs)}",
    )


_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?")


def from_text(declared: FieldDeclaration, text: str) -> JsonScalar:
    """Read a command line's text as the declared type.

    ``true`` and ``false`` become booleans, numbers are written as in JSON; a text that is
    neither is returned as it is, for ``check_inputs`` to refuse.
    """
    if declared.type is FieldType.BOOLEAN and text in ("true", "false"):
        return text == "true"
    if declared.type is FieldType.NUMBER and _NUMBER.fullmatch(text):
        number: int | float = json.loads(text)
        return number
    return text


def inputs_from_text(
    workflow: Workflow, assignments: tuple[str, ...]
) -> dict[str, JsonScalar] | InputProblems:
    """Read ``name=value`` texts of a command line and check them like any other inputs."""
    given: dict[str, object] = {}
    errors: list[FieldError] = []
    for assignment in assignments:
        name, separator, text = assignment.partition("=")
        if not separator or not name:
            errors.append(_malformed(assignment, "has no name and '='"))
        elif name in given:
            errors.append(_malformed(name, "is given twice"))
        else:
            declared = workflow.inputs.get(name)
            given[name] = from_text(declared, text) if declared is not None else text
    checked = check_inputs(workflow, given)
    if isinstance(checked, InputProblems):
        errors.extend(checked.fields)
    return InputProblems(fields=tuple(errors)) if errors else checked


def _malformed(path: str, problem: str) -> FieldError:
    return FieldError(path=ascii(path)[1:-1][:200], problem=problem, expected="name=value, once")
