"""``pointsman dry-run``: a workflow walked with given answers, without agents.

The walking is the core's own; here the answers are read, and what happened is told.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman.runtime.cli import names
from pointsman.runtime.cli.invocation import Invocation
from pointsman.runtime.exit_codes import ExitCode
from pointsman.runtime.problems import PointsmanError
from pointsman.storage.placed_text import PlacedProblem, render

if TYPE_CHECKING:
    from pointsman.graph.definition import Workflow
    from pointsman.graph.predicate import ConsideredRule, ConsideredTerm
    from pointsman.graph.rehearsal import Rehearsal, Unanswered
    from pointsman.graph.visited import Passage, Visited


def dry_run(call: Invocation, wanted: str, repository: Path, reports: Path) -> int:
    """Walk a workflow with the answers of a file, and tell every step and why it was taken."""
    from pointsman.graph.expectations import ill_told
    from pointsman.graph.rehearsal import rehearse
    from pointsman.graph.visited import visited
    from pointsman.storage.rehearsal_text import read_told

    workflow = names.find_definition(wanted, repository).workflow
    told, problems = read_told(read_bytes(reports), str(reports), workflow)
    if told is None:
        raise invalid_answers(problems)
    played = rehearse(workflow, told.inputs, told.answers)
    visits, ill = visited(workflow, played.recorded), ill_told(workflow, played)
    if call.terminal.json:
        call.terminal.document(_document(workflow, played, visits, ill))
    else:
        for line in _lines(workflow, visits):
            call.terminal.show(line)
        call.terminal.show()
        call.terminal.show(_rest(played))
        for text in ill:
            call.terminal.say(text, style="red")
    return ExitCode.USAGE if ill else ExitCode.OK


def read_bytes(file: Path) -> bytes:
    """Return a file of answers or cases; raises ``answers_invalid``."""
    try:
        return file.read_bytes()
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise PointsmanError("answers_invalid", f"{file} cannot be read: {why}") from error


def invalid_answers(problems: tuple[PlacedProblem, ...]) -> PointsmanError:
    """Return the error that tells everything that is wrong with answers or cases."""
    details = {"problems": [each.model_dump(mode="json") for each in problems]}
    return PointsmanError("answers_invalid", render(problems).rstrip(), details)


def _document(
    workflow: "Workflow", played: "Rehearsal", visits: Sequence["Visited"], ill: Sequence[str]
) -> dict[str, Any]:
    last, missing = visits[-1], played.unanswered
    state = "running" if ill and missing is not None else played.run.state.value
    return {
        "workflow": workflow.id,
        "visits": [each.model_dump(mode="json") for each in visits],
        "routes": [each.line for each in visits if each.line is not None],
        "end": {"state": state, "node": last.node, "unresolved": last.unresolved},
        "unanswered": _unanswered(missing) if missing is not None else None,
        "problems": list(ill),
    }


def _unanswered(missing: "Unanswered") -> dict[str, Any]:
    named = {"node": missing.node, "visit": missing.visit}
    return named if missing.branch is None else {**named, "branch": missing.branch}


def _lines(workflow: "Workflow", visits: Sequence["Visited"]) -> Iterator[str]:
    yield f"{workflow.name} ({workflow.id}, revision {workflow.revision})"
    for number, each in enumerate(visits, 1):
        yield ""
        yield f"{number:>3}  {each.node} · visit {each.visit} ({each.kind})"
        for words in each.came_to:
            yield f"       {words}"
        if each.passage is not None:
            yield from (f"       {line}" for line in _passage(each.passage))


def _passage(passage: "Passage") -> Iterator[str]:
    for rule in passage.considered:
        yield from _considered(rule)
    why = [passage.label.replace("_", " ")] if passage.label is not None else []
    if passage.repeat is not None:
        why.append(f"repeat {passage.repeat} of {passage.repeat_max}")
    yield f"→ {passage.to}" + (f"  ({', '.join(why)})" if why else "")


def _considered(rule: "ConsideredRule") -> Iterator[str]:
    yield f"rule “{rule.name}” {'holds' if rule.holds else 'does not hold'}:"
    for term in rule.terms:
        yield f"  {'✓' if term.holds else '✗'} {_term(term)}"


def _term(term: "ConsideredTerm") -> str:
    from pointsman.graph.explain import shown

    value = "absent" if term.value is None else shown(term.value)
    if term.operator in ("present", "absent"):
        return f"{term.field} {term.operator}: it is {value}"
    operand = term.operand
    wanted = f"[{', '.join(map(shown, operand))}]" if isinstance(operand, tuple) else shown(operand)
    return f"{term.field} {term.operator} {wanted}: it is {value}"


def _rest(played: "Rehearsal") -> str:
    run, missing = played.run, played.unanswered
    node = run.visit.node if run.visit is not None else "?"
    if run.ended:
        return f"The run has ended as {run.state} at {node}."
    if run.visit is not None and run.visit.unresolved is not None:
        why = run.visit.unresolved
        return f"The run waits unresolved at {node} ({why.reason}): a person must act."
    if missing is None:
        # An interrupted reviewer, or a gate where the answer is not offered (any more).
        return f"The run waits at {node}: a person must act."
    which = f", branch {missing.branch}" if missing.branch is not None else ""
    return f"The run waits at {node}: no answer was given for its visit {missing.visit}{which}."
