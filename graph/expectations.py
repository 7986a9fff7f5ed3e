"""Tests of a workflow: cases with given answers, and what each is expected to come to.

Pure: the cases are played by ``rehearsal`` and compared here. A case also differs when an
answer was missing or left over, so that its story stays the one that is walked.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pointsman.graph.answers import Told, told_problems
from pointsman.graph.definition import Workflow
from pointsman.graph.events import UnresolvedReason
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.problem import Problem, Where, meant
from pointsman.graph.rehearsal import Rehearsal, rehearse
from pointsman.graph.tried import in_force
from pointsman.graph.value_types import FieldName, FormatVersion, Name, Title
from pointsman.graph.visited import Visited, visited

_ROUTE: Final = re.compile(r"\s*(\S+)\s*(?:->|→)\s*(\S+)\s*(?:\((.*)\))?\s*")


class Expected(Model):
    """What a case comes to; only what is written here is compared.

    ``path`` are all nodes in the order they are entered, ``routes`` all routes as ``dry-run``
    prints them (``FROM -> TO (WHY)``, the why may be left out), ``visits`` of the nodes named.
    """

    path: tuple[Name, ...] | None = None
    routes: tuple[str, ...] | None = None
    visits: dict[Name, int] | None = None
    end: Literal["completed", "failed", "unresolved", "awaiting_review"] | None = None
    at: Name | None = None
    unresolved: UnresolvedReason | None = None

    @model_validator(mode="after")
    def _something_is_expected(self) -> Self:
        if not self.model_fields_set:
            raise PydanticCustomError("nothing_expected", "nothing is expected here")
        return self


class Case(Told):
    """One story and what it comes to."""

    name: Title
    expect: Expected


class WorkflowTests(Model):
    """A file of cases. ``workflow`` is its file, by default the one of the same name beside it.

    ``inputs`` are those of every case that does not give its own.
    """

    pointsman: FormatVersion
    workflow: str | None = Field(default=None, min_length=1)
    inputs: dict[FieldName, JsonScalar] = Field(default_factory=dict)
    cases: tuple[Case, ...] = Field(min_length=1)


class Difference(Model):
    """What a case came to instead. ``lines`` show it: ``-`` was expected, ``+`` happened."""

    subject: str
    lines: tuple[str, ...]


class Judged(Model):
    """A case as it was played."""

    case: str
    differences: tuple[Difference, ...]
    visits: tuple[Visited, ...]


def case_problems(workflow: Workflow, tests: WorkflowTests) -> Iterator[Problem]:
    """Name everything in the cases that does not fit the workflow, or another case."""
    names = Counter(case.name for case in tests.cases)
    for index, case in enumerate(tests.cases):
        where: Where = ("cases", index)
        yield from told_problems(workflow, {**tests.inputs, **case.inputs}, case.answers, where)
        yield from _unknown_names(workflow, case.expect, (*where, "expect"))
        if names[case.name] > 1:
            message = f"{names[case.name]} cases are named '{case.name}'"
            mend = "name each case differently"
            place = (*where, "name")
            yield Problem(code="duplicate_case", where=place, message=message, mend=mend)


def _unknown_names(workflow: Workflow, expect: Expected, where: Where) -> Iterator[Problem]:
    named: list[tuple[Where, str]] = [
        ((*where, "path", index), name) for index, name in enumerate(expect.path or ())
    ]
    named += [((*where, "visits", name), name) for name in expect.visits or ()]
    named += [((*where, "at"), expect.at)] if expect.at is not None else []
    for index, line in enumerate(expect.routes or ()):
        place = (*where, "routes", index)
        match = _ROUTE.fullmatch(line)
        if match is None:
            message, mend = f"'{line[:80]}' is no route", "write FROM -> TO, or FROM -> TO (WHY)"
            yield Problem(code="bad_route", where=place, message=message, mend=mend)
        else:
            named += [(place, match[1]), (place, match[2])]
    for place, name in named:
        if name not in workflow.nodes:
            message, mend = f"there is no node '{name[:80]}'", meant(name, workflow.nodes)
            yield Problem(code="unknown_target", where=place, message=message, mend=mend)


def judge(workflow: Workflow, tests: WorkflowTests) -> tuple[Judged, ...]:
    """Play every case, which must fit the workflow, and compare."""
    return tuple(_judged(workflow, tests.inputs, case) for case in tests.cases)


def _judged(workflow: Workflow, shared: Mapping[str, JsonScalar], case: Case) -> Judged:
    played = rehearse(workflow, {**shared, **case.inputs}, case.answers)
    visits = visited(workflow, played.recorded)
    found = [*_differences(case.expect, played, visits), *_ill_told(workflow, played)]
    return Judged(case=case.name, differences=tuple(found), visits=visits)


def _differences(
    expect: Expected, played: Rehearsal, visits: Sequence[Visited]
) -> Iterator[Difference]:
    if expect.path is not None:
        yield from _compared("path", expect.path, [each.node for each in visits])
    if expect.routes is not None:
        wanted = [_plain_route(line) for line in expect.routes]
        happened = [each.line for each in visits if each.line is not None]
        yield from _compared("routes", wanted, _as_briefly(happened, wanted))
    counts = Counter(each.node for each in visits)
    for node, count in (expect.visits or {}).items():
        yield from _compared(f"visits of {node}", [str(count)], [str(counts[node])])
    if expect.end is not None:
        yield from _compared("end", [expect.end], [played.run.state.value])
    last = played.run.visit
    if expect.at is not None:
        yield from _compared("at", [expect.at], [last.node if last is not None else "none"])
    if expect.unresolved is not None:
        # A group is not unresolved itself while it waits for its interrupted reviewers.
        whys = [each.unresolved for each in in_force(played.run) if each.unresolved is not None]
        reason = whys[0].reason.value if whys else "resolved"
        yield from _compared("unresolved", [expect.unresolved.value], [reason])


def _compared(subject: str, wanted: Sequence[str], happened: Sequence[str]) -> Iterator[Difference]:
    if list(wanted) != list(happened):
        lines = [line for line in difflib.ndiff(wanted, happened) if not line.startswith("?")]
        yield Difference(subject=subject, lines=tuple(lines))


def _plain_route(line: str) -> str:
    """Write a route as ``Visited.line`` does."""
    match = _ROUTE.fullmatch(line)
    assert match is not None, f"{line!r} passed as a route"
    return f"{match[1]} -> {match[2]}" + (f" ({match[3]})" if match[3] is not None else "")


def _as_briefly(happened: Iterable[str], wanted: Sequence[str]) -> list[str]:
    """Leave the why out of a line where the expectation does."""
    brief = []
    for line in happened:
        without_why = line.partition(" (")[0]
        brief.append(line if line in wanted or without_why not in wanted else without_why)
    return brief


def _ill_told(workflow: Workflow, played: Rehearsal) -> Iterator[Difference]:
    lines = [f"+ {text}" for text in ill_told(workflow, played)]
    if lines:
        yield Difference(subject="answers", lines=tuple(lines))


def ill_told(workflow: Workflow, played: Rehearsal) -> tuple[str, ...]:
    """Say which answers were missing and which nobody took; a gate may go undecided."""
    found: list[str] = []
    missing = played.unanswered
    if missing is not None and workflow.nodes[missing.node].kind != "gate":
        which = f", try {missing.try_number}" if missing.try_number > 1 else ""
        which += f", branch {missing.branch}" if missing.branch is not None else ""
        found.append(f"{missing.node} has no answer for visit {missing.visit}{which}")
    for each in played.unused:
        which = f", try {each.try_number}" if each.try_number is not None else ""
        found.append(f"{each.node} was not asked for its answer {each.visit}{which}")
    return tuple(found)
