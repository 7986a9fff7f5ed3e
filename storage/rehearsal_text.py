"""Answers and test cases as YAML files: strict, with every mistake at its place; total.

What they must fit is a workflow, which is read first.
"""

import json
from collections.abc import Iterable
from typing import TypeVar

from pydantic import ValidationError

from pointsman.graph.answers import Told, told_problems
from pointsman.graph.definition import Workflow
from pointsman.graph.expectations import WorkflowTests, case_problems
from pointsman.graph.model import Model
from pointsman.graph.problem import Problem
from pointsman.storage.definition_shapes import shape_problems
from pointsman.storage.placed_text import PlacedProblem, PlacedText

_Format = TypeVar("_Format", bound=Model)
_Read = tuple[_Format | None, tuple[PlacedProblem, ...]]


def read_told(text: str | bytes, name: str, workflow: Workflow) -> _Read[Told]:
    """Read a file of answers for a workflow: the answers, or everything that is wrong."""
    read = PlacedText(text, name)
    told, problems = _shaped(Told, read, "inputs: {…} and answers: {…}")
    if told is not None:
        problems = told_problems(workflow, told.inputs, told.answers)
    return _judged(told, read.with_flaws(problems))


def read_tests(text: str | bytes, name: str, workflow: Workflow | None) -> _Read[WorkflowTests]:
    """Read a file of test cases; without a workflow only their shapes are checked."""
    read = PlacedText(text, name)
    tests, problems = _shaped(WorkflowTests, read, "pointsman: 1 and cases: […]")
    if tests is not None and workflow is not None:
        problems = case_problems(workflow, tests)
    return _judged(tests, read.with_flaws(problems))


def _judged(value: _Format | None, problems: tuple[PlacedProblem, ...]) -> _Read[_Format]:
    return (None if problems else value), problems


def _shaped(
    format_: type[_Format], read: PlacedText, keys: str
) -> tuple[_Format | None, Iterable[Problem]]:
    if not isinstance(read.value, dict):
        if read.flaws:
            return None, ()
        message = "such a file is a mapping of keys and values"
        problem = Problem(code="not_a_mapping", where=(), message=message, mend=f"write {keys}")
        return None, (problem,)
    try:
        return format_.model_validate_json(json.dumps(read.value)), ()
    except ValidationError as error:
        return None, shape_problems(error, format_)
