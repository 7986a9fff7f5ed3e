"""What a rehearsal is told in place of agents, checks and people: one answer a visit.

Shapes, and what must fit the workflow. A file of answers is strict like a workflow: all of its
mistakes are told at once. ``rehearsal`` plays them.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

from pydantic import Discriminator, Field, Tag

from pointsman.graph import limits
from pointsman.graph.binding import InputProblems, check_inputs
from pointsman.graph.contract import EnvelopeProblems, check_envelope
from pointsman.graph.declarations import ReportContract
from pointsman.graph.definition import (
    AgentNode,
    CheckNode,
    DecisionNode,
    GateNode,
    JoinNode,
    Node,
    ParallelNode,
    Workflow,
)
from pointsman.graph.model import JsonScalar, Model
from pointsman.graph.problem import Problem, Where, listed, meant
from pointsman.graph.results import GateDecision, ReportOutcome
from pointsman.graph.value_types import FieldName, Name

_REPORTED: Final = "as the answers say"


class Word(StrEnum):
    """The answers that are one word.

    ``stale`` and ``unknown`` are about the head of the change that a node's review is about.
    """

    MISSING = "missing"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    CANCELED = "canceled"
    WRONG_CHECKOUT = "wrong_checkout"
    UNFROZEN = "unfrozen"
    UNCHANGED = "unchanged"
    STALE = "stale"
    UNKNOWN = "unknown"
    APPROVE = "approve"
    REQUEST_CHANGES = "request_changes"
    REVIEW_AGAIN = "review_again"


class ReportGiven(Model):
    """What the agent reports; ``data`` are its declared fields."""

    outcome: ReportOutcome
    summary: str = _REPORTED
    data: dict[str, JsonScalar] = Field(default_factory=dict)

    @property
    def envelope(self) -> dict[str, object]:
        """The report as an agent sends it."""
        given = {"outcome": self.outcome.value, "summary": self.summary, "data": dict(self.data)}
        return {"protocol_version": 1, "retry_key": "rehearsal", "evidence": [], **given}


def _report_shape(value: object) -> str:
    return "outcome" if isinstance(value, str) else "given"


class AgentAnswer(Model):
    """The agent's work settles well, with this report, or with one of this outcome only."""

    report: Annotated[
        Annotated[ReportOutcome, Tag("outcome")] | Annotated[ReportGiven, Tag("given")],
        Discriminator(_report_shape),
    ]

    @property
    def envelope(self) -> dict[str, object]:
        """The report as an agent sends it."""
        if isinstance(self.report, ReportOutcome):
            return ReportGiven(outcome=self.report).envelope
        return self.report.envelope


class CheckAnswer(Model):
    """The check's command ends with this exit code."""

    exit_code: int
    duration_s: int | float = Field(default=1, ge=0)
    output: str = ""


class GateAnswer(Model):
    """A person decides."""

    decision: GateDecision
    note: str | None = Field(default=None, min_length=1, max_length=limits.NOTE_CHARS_MAX)


def _branch_shape(value: object) -> str:
    return "word" if isinstance(value, str) else "agent"


BranchAnswer = Annotated[
    Annotated[Word, Tag("word")] | Annotated[AgentAnswer, Tag("agent")],
    Discriminator(_branch_shape),
]


def _is_of_branch(key: object, value: object) -> bool:
    if isinstance(value, str):
        return key not in ("report", "decision", "note") and value in set(Word)
    return isinstance(value, AgentAnswer) or (isinstance(value, dict) and "report" in value)


def _shape(value: object) -> str:
    """Tell the forms of an answer apart; an unknown one is explained as an agent's."""
    match value:
        case str():
            return "word"
        case int():
            return "code"
        case list() | tuple():
            return "tries"
        case CheckAnswer():
            return "check"
        case GateAnswer():
            return "gate"
        case dict() if any(_is_of_branch(key, each) for key, each in value.items()):
            return "branches"
        case dict() if "exit_code" in value:
            return "check"
        case dict() if "decision" in value:
            return "gate"
        case _:
            return "agent"


def _try_shape(value: object) -> str:
    shape = _shape(value)
    return shape if shape in ("word", "code") else "check"


_Try = Annotated[
    Annotated[Word, Tag("word")]
    | Annotated[int, Tag("code")]
    | Annotated[CheckAnswer, Tag("check")],
    Discriminator(_try_shape),
]
Tries = Annotated[tuple[_Try, ...], Field(min_length=1)]
Answer: TypeAlias = Annotated[
    Annotated[Word, Tag("word")]
    | Annotated[int, Tag("code")]
    | Annotated[AgentAnswer, Tag("agent")]
    | Annotated[CheckAnswer, Tag("check")]
    | Annotated[GateAnswer, Tag("gate")]
    | Annotated[Tries, Tag("tries")]
    | Annotated[dict[Name, BranchAnswer], Tag("branches")],
    Discriminator(_shape),
]
Try = Word | int | CheckAnswer
Given = Try | AgentAnswer | GateAnswer | tuple[Try, ...] | dict[str, Word | AgentAnswer]
Answers = Mapping[str, tuple[Given, ...]]


class Told(Model):
    """A whole rehearsal as it is written: the run's inputs, and each node's answers in order."""

    inputs: dict[FieldName, JsonScalar] = Field(default_factory=dict)
    answers: dict[Name, tuple[Answer, ...]] = Field(default_factory=dict)


_OF_AGENTS: Final = frozenset({Word.MISSING, Word.FAILED, Word.INTERRUPTED, Word.TIMED_OUT})
_OF_CHECKS: Final = frozenset({Word.TIMED_OUT, Word.INTERRUPTED, Word.LOST})
_OF_GATES: Final = frozenset({Word.APPROVE, Word.REQUEST_CHANGES})
_OF_BRANCHES: Final = _OF_AGENTS | {Word.CANCELED, Word.WRONG_CHECKOUT}
_OF_HEADS: Final = frozenset({Word.UNCHANGED, Word.STALE, Word.UNKNOWN})
_OF_HEADS_AT_WORK: Final = _OF_HEADS - {Word.UNCHANGED}
_OF_REVIEWED_GATES: Final = frozenset({Word.STALE, Word.REVIEW_AGAIN})
_FORMS: Final = {
    "agent": "write report: {outcome: completed, data: {…}}, or one of: "
    + listed(sorted(_OF_AGENTS)),
    "check": "write an exit code, or one of: "
    + listed(sorted(_OF_CHECKS))
    + "; a list holds one for each try of the visit",
    "gate": "write approve, request_changes, or {decision: request_changes, note: …}"
    "; with a review also stale (the head has moved) or review_again",
    "parallel": "name every branch, {BRANCH: {report: completed}, BRANCH: failed, …}, each with an "
    "agent's answer or one of: "
    + listed(sorted(_OF_BRANCHES))
    + "; or write unfrozen, if nothing can be frozen",
    "join": "write what the head is then: unchanged, stale or unknown",
    "decision": "write what the head is then: unchanged, stale or unknown",
}


def told_problems(
    workflow: Workflow, inputs: Mapping[str, JsonScalar], answers: Answers, where: Where = ()
) -> Iterator[Problem]:
    """Name everything in inputs and answers that does not fit the workflow."""
    checked = check_inputs(workflow, inputs)
    for error in checked.fields if isinstance(checked, InputProblems) else ():
        yield Problem(
            code="input_invalid",
            where=(*where, "inputs", error.path),
            message=f"input '{error.path}' {error.problem}",
            mend=f"write {error.expected}",
        )
    for name, given in answers.items():
        place = (*where, "answers", name)
        node = workflow.nodes.get(name)
        if node is None:
            message, mend = f"there is no node '{name}'", meant(name, workflow.nodes)
            yield Problem(code="unknown_target", where=place, message=message, mend=mend)
        elif node.kind not in _FORMS or (isinstance(node, DecisionNode) and node.review is None):
            message = f"node '{name}' of kind {node.kind} takes no answers"
            mend = "answer agents, checks, gates and groups; the rest follows from them"
            yield Problem(code="answer_unfit", where=place, message=message, mend=mend)
        else:
            for index, each in enumerate(given):
                yield from _unfit(node, each, (*place, index))


def _unfit(node: Node, given: Given, where: Where) -> Iterator[Problem]:
    match node, given:
        case AgentNode(report=contract), AgentAnswer():
            yield from _unfit_report(contract, given, where)
        case ParallelNode(), dict():
            yield from _unfit_branches(node, given, where)
        case (ParallelNode(), Word.UNFROZEN):
            pass
        case (JoinNode() | DecisionNode(), Word()) if given in _OF_HEADS:
            pass
        case (AgentNode() | CheckNode(), Word()) if given in _OF_HEADS_AT_WORK and node.review:
            pass
        case (GateNode(), Word()) if given in _OF_REVIEWED_GATES and node.review:
            pass
        case CheckNode(), tuple():
            for index, each in enumerate(given):
                yield from _unfit(node, each, (*where, index))
        case GateNode(), Word() | GateAnswer() if _decision(given) is not None:
            changes = _decision(given) is GateDecision.REQUEST_CHANGES
            if changes and node.decisions.request_changes is None:
                message = "at this gate no changes can be requested"
                mend = "write approve, or give the gate a route for request_changes"
                yield Problem(code="answer_unfit", where=where, message=message, mend=mend)
        case AgentNode(), Word() if given in _OF_AGENTS:
            pass
        case (CheckNode(), Word()) if given in _OF_CHECKS:
            pass
        case CheckNode(), int() | CheckAnswer():
            pass
        case _:
            kind = "parallel group" if node.kind == "parallel" else node.kind
            article = "an" if kind == "agent" else "a"
            message, mend = f"this is no answer of {article} {kind}", _FORMS[node.kind]
            yield Problem(code="answer_unfit", where=where, message=message, mend=mend)


def _unfit_report(contract: ReportContract, given: AgentAnswer, where: Where) -> Iterator[Problem]:
    checked = check_envelope(contract, given.envelope)
    for error in checked.fields if isinstance(checked, EnvelopeProblems) else ():
        yield Problem(
            code="report_invalid",
            where=(*where, "report", *error.path.split(".")),
            message=f"'{error.path}' {error.problem}",
            mend=f"write {error.expected}",
        )


def _unfit_branches(
    node: ParallelNode, given: Mapping[str, Word | AgentAnswer], where: Where
) -> Iterator[Problem]:
    for key, each in given.items():
        branch, place = node.branches.get(key), (*where, key)
        if branch is None:
            message, mend = f"there is no branch '{key}'", meant(key, node.branches)
            yield Problem(code="unknown_branch", where=place, message=message, mend=mend)
        elif isinstance(each, AgentAnswer):
            yield from _unfit_report(branch.report, each, place)
        elif each not in _OF_BRANCHES:
            message, mend = "this is no answer of a reviewer", _FORMS["parallel"]
            yield Problem(code="answer_unfit", where=place, message=message, mend=mend)


def _decision(given: Given) -> GateDecision | None:
    answer = gate_answer(given)
    return answer.decision if answer is not None else None


def gate_answer(given: Given) -> GateAnswer | None:
    """Return what a person decides; ``None`` if the answer is no decision."""
    if isinstance(given, GateAnswer):
        return given
    if isinstance(given, Word) and given in _OF_GATES:
        return GateAnswer(decision=GateDecision(given.value))
    return None
