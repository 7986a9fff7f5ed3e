"""What a person decides at a gate: once, explicitly, against the revision they saw.

Free text decides nothing: a note and comments only go with a decision (spec, *Human gates*).
"""

from collections.abc import Iterator
from typing import Final

from pointsman.graph import limits
from pointsman.graph.allowed import deciders, in_words
from pointsman.graph.canonical import INTEGER_MAX, canonical_bytes, flaws
from pointsman.graph.commands import DecideGate
from pointsman.graph.contract import FieldError
from pointsman.graph.events import GateDecided, NodeCompleted
from pointsman.graph.freshness import moved, relied_on
from pointsman.graph.rejections import Rejected, RejectionCode
from pointsman.graph.replies import Accepted, Reply, Verdict
from pointsman.graph.results import GateComment, GateDecision, GateResult
from pointsman.graph.run import OpenGate, Run

_APPROVE: Final = GateDecision.APPROVE


def decide_gate(run: Run, command: DecideGate) -> Verdict:
    """Decide a gate; the decision and its comments are pinned to the commit it was opened on."""
    visit = run.visit
    gate = visit.gate if visit is not None else None
    if visit is None or gate is None or gate.gate_id != command.gate_id:
        return _passed_gate(run, command)
    if gate.decision is not None:
        return Rejected(
            code=RejectionCode.GATE_DECIDED, message=f"the gate was decided: {gate.decision}"
        )
    refusal = _refusal(run, gate, command) or _bad_comments(command) or _not_fresh(gate, command)
    if refusal is not None:
        return refusal
    decided = GateDecided(
        gate_id=gate.gate_id,
        node=visit.node,
        decision=command.decision,
        note=command.note,
        decided_by=command.decided_by,
        roles=command.roles,
        comments=command.comments,
        commit=gate.head_commit,
        review_set_id=gate.review.review_set_id if gate.review is not None else None,
    )
    result = GateResult(
        gate_id=gate.gate_id,
        decision=command.decision,
        note=command.note,
        comments=command.comments,
        decided_by=command.decided_by,
        commit=gate.head_commit,
    )
    completed = NodeCompleted(node=visit.node, visit_id=visit.visit_id, result=result)
    return Accepted(events=(decided, completed), reply=Reply(run_id=run.run_id))


def _passed_gate(run: Run, command: DecideGate) -> Rejected:
    node = command.gate_id.removeprefix(f"{run.run_id}.").rpartition(".")[0]
    number = command.gate_id.rpartition(".")[2]
    opened = run.visit_counts.get(node, 0)
    if number.isdigit() and 0 < int(number) <= opened:
        return Rejected(
            code=RejectionCode.GATE_DECIDED, message="this gate was decided; the run went on"
        )
    return Rejected(code=RejectionCode.GATE_UNKNOWN, message="this run has no such gate")


def _refusal(run: Run, gate: OpenGate, command: DecideGate) -> Rejected | None:
    if run.cancellation is not None:
        return Rejected(code=RejectionCode.CANCELLED, message="the run was canceled")
    if (refusal := _not_permitted(run, command)) is not None:
        return refusal
    review = relied_on(run)
    if review is not None and review.stale is not None and command.decision is _APPROVE:
        return Rejected(
            code=RejectionCode.REVIEW_STALE,
            message=f"{moved(review)}; the approval was withdrawn for good, review again",
            details={"reviewed": review.frozen_commit, "head": review.stale},
        )
    seen = command.review_set_id
    if seen is not None and (gate.review is None or gate.review.review_set_id != seen):
        return Rejected(
            code=RejectionCode.STALE_REVISION,
            message="the gate relies on another review than the one you saw; look again",
            details={"revision": gate.revision},
        )
    if gate.revision != command.revision:
        return Rejected(
            code=RejectionCode.STALE_REVISION,
            message="the gate has another revision than the one you saw; look again",
            details={"revision": gate.revision},
        )
    if command.decision not in gate.offered:
        return Rejected(
            code=RejectionCode.DECISION_NOT_OFFERED,
            message=f"this gate offers {', '.join(gate.offered)} only",
            details={"offered": list(gate.offered)},
        )
    return None


def _not_fresh(gate: OpenGate, command: DecideGate) -> Rejected | None:
    """Refuse an approval of what may not be what was reviewed; nothing is presumed current."""
    if gate.review is None or command.decision is not _APPROVE:
        return None
    reviewed, reading = gate.review.frozen_commit, command.head
    if reading is None or reading.head_commit is None:
        why = reading.unavailable if reading is not None else None
        return Rejected(
            code=RejectionCode.HEAD_UNKNOWN,
            message=f"whether the change is still at {reviewed} cannot be known"
            f" ({why or 'nobody looked'}); nothing was decided, try again",
            details={"reviewed": reviewed},
        )
    if reading.has_left(reviewed):
        return Rejected(
            code=RejectionCode.REVIEW_STALE,
            message=f"the change has moved since {reviewed} was reviewed; look again",
            details={"reviewed": reviewed, "head": reading.head_commit},
        )
    return None


def _not_permitted(run: Run, command: DecideGate) -> Rejected | None:
    """Refuse whoever is neither named nor in a named role; everyone may if the gate is silent."""
    may = deciders(run)
    if may is None or command.decided_by in may.people:
        return None
    if not set(may.roles).isdisjoint(command.roles):
        return None
    return Rejected(
        code=RejectionCode.NOT_PERMITTED,
        message=f"{command.decided_by} may not decide here; {in_words(may)} may",
        details={"roles": list(may.roles), "people": list(may.people)},
    )


def _bad_comments(command: DecideGate) -> Rejected | None:
    errors = tuple(_comment_errors(command))
    if not errors:
        return None
    return Rejected(
        code=RejectionCode.COMMENTS_INVALID,
        message="; ".join(f"{each.path} {each.problem}" for each in errors[:10]),
        details={"fields": [each.model_dump(mode="json") for each in errors]},
    )


def _comment_errors(command: DecideGate) -> Iterator[FieldError]:
    """Name every mistake in the comments; their bound keeps them small enough to be bound."""
    comments, at = command.comments, "comments"
    if comments and command.decision is not GateDecision.REQUEST_CHANGES:
        yield FieldError(
            path=at,
            problem="belong to a request for changes",
            expected="none with an approval; say it in the note",
        )
    if len(comments) > limits.GATE_COMMENTS_MAX:
        yield FieldError(
            path=at,
            problem=f"are {len(comments)}",
            expected=f"at most {limits.GATE_COMMENTS_MAX} comments",
        )
        return
    errors = [
        error
        for index, comment in enumerate(comments)
        for error in _one_comment(f"{at}[{index}]", comment)
    ]
    yield from errors
    if errors:
        return
    size = len(canonical_bytes([each.model_dump(mode="json") for each in comments]))
    if size > limits.COMMENTS_BYTES_MAX:
        expected = f"at most {limits.COMMENTS_BYTES_MAX} bytes together"
        yield FieldError(path=at, problem=f"have {size} bytes", expected=expected)


def _one_comment(at: str, comment: GateComment) -> Iterator[FieldError]:
    for name, text, chars_max in (
        ("path", comment.path, limits.COMMENT_PATH_CHARS_MAX),
        ("text", comment.text, limits.COMMENT_TEXT_CHARS_MAX),
    ):
        expected = f"1 to {chars_max} characters"
        if not text.strip():
            yield FieldError(path=f"{at}.{name}", problem="is empty", expected=expected)
        elif len(text) > chars_max:
            problem = f"has {len(text)} characters"
            yield FieldError(path=f"{at}.{name}", problem=problem, expected=expected)
        for flaw in flaws(text):
            yield FieldError(path=f"{at}.{name}", problem=flaw.problem, expected=expected)
    if comment.path.startswith("/") or ".." in comment.path.split("/"):
        yield FieldError(
            path=f"{at}.path",
            problem="leads out of the repository",
            expected="a path relative to the repository's folder",
        )
    if comment.line is not None and not 1 <= comment.line <= INTEGER_MAX:
        expected = "a line number, counted from 1, or none"
        yield FieldError(path=f"{at}.line", problem=f"is {comment.line}", expected=expected)
